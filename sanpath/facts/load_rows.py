"""The fact table of loads: each load beside what its I/O path and its other steps say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.loads import LoadFacts, flat_beyond, flat_over_load
from sanpath.facts.luns import device_of
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.facts.validity import validity_facts
from sanpath.topology.identity import Topology

_USED = 0.2
"""Share of the test's bytes from which on a link is in use and not just probed."""
_HELD_BACK = 0.5
"""A block device that lets less than this share of the load's I/Os through holds the load back."""


def load_rows(topology: Topology, loads: Sequence[LoadFacts], tables: Mapping[str, FactTable]) -> Iterator[FactRow]:
    """One row a load, step and direction with I/O. `tables`: those of links and LUNs."""
    for load in loads:
        here = {"step": load.step, "direction": load.direction}
        links = [row for row in tables["link"].select(**here) if row["on_loaded_path"]]
        host = [row for row in tables["link"].select(**here, side="host") if row["share"] is not None]
        total = sum(other.in_flight_measured for other in loads if other.step == load.step)
        used = [row for row in host if number(row, "share") >= _USED]
        calm = min((o for o in loads if o.comparable(load)), key=lambda o: o.in_flight_measured)
        yield {
            "entity": load.entity,
            **here,
            "windows": load.windows,
            "ops_per_second": load.ops_per_second,
            "bytes_per_second": load.bytes_per_second,
            "latency_seconds": load.latency_seconds,
            "in_flight_configured": load.in_flight_configured,
            "in_flight_measured": load.in_flight_measured,
            "filled_ratio": total / load.in_flight_configured if load.in_flight_configured else None,
            "latency_ratio": load.latency_seconds / calm.latency_seconds,
            "held_back": _held_back(topology, load, tables["lun"]),
            "busiest_utilisation": _busiest(links),
            "usable_links": float(len(host)) if host else None,
            "busiest_link_share": max((number(row, "share") for row in host), default=None),
            "used_links": float(len(used)) if host else None,
            "links_together_ratio": sum(number(row, "utilisation") / number(row, "full_ratio") for row in used)
            if host and all(row["utilisation"] is not None for row in used)
            else None,
            "follows_load": not (flat_over_load(loads, load) or flat_beyond(loads, load)),
            "cpu_ratio": load.cpu_ratio,
            "operation_bytes": load.operation_bytes,
            **validity_facts(topology, load),
        }


def _held_back(topology: Topology, load: LoadFacts, luns: FactTable) -> bool:
    device = device_of(topology, load, luns)
    return device is not None and number(device, "in_flight_measured") < _HELD_BACK * load.in_flight_measured


def _busiest(links: Sequence[FactRow]) -> float | None:
    if not links or any(row["utilisation"] is None for row in links):
        return None
    return max(number(row, "utilisation") for row in links)

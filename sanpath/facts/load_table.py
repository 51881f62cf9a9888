"""The fact table of loads: each load beside what its I/O path and its other steps say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from sanpath.facts.host.planes import path_of, planes_of
from sanpath.facts.host.under_test import names, platform
from sanpath.facts.load.loads import LoadFacts, flat_beyond, flat_over_load
from sanpath.facts.load.validity import validity_facts
from sanpath.facts.table import FactRow, FactTable, FactValue, number
from sanpath.topology.identity import Topology

_USED = 0.2
"""Share of the test's bytes from which on a link is in use and not just probed."""
_HELD_BACK = 0.5
"""A block device that lets less than this share of the load's I/Os through holds the load back."""
_AS_FULL = 0.1
"""A full queue lets as many through of any load, but for this."""


def load_rows(topology: Topology, loads: Sequence[LoadFacts], tables: Mapping[str, FactTable]) -> Iterator[FactRow]:
    """One row a load, step and direction with I/O. `tables`: those of links and planes."""
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
            "held_back": _held_back(topology, load, loads, tables["plane"]),
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
            **_lun(topology, load, tables["plane"]),
            **validity_facts(topology, load),
        }


def _lun(topology: Topology, load: LoadFacts, planes: FactTable) -> Mapping[str, FactValue]:
    """What the host that has the paths calls the LUN of the load. Nothing: it is not known, or there are several."""
    seen = [str(row["entity"]) for row in planes_of(topology, load, planes)]
    luns = [entity for entity in seen or path_of(topology, load) if entity.startswith("lun:")]
    if not seen and len(luns) > 1:
        luns = []
    return {"platform": platform(topology, luns[-1]), **names(topology, luns[-1])} if luns else {}


def _held_back(topology: Topology, load: LoadFacts, loads: Sequence[LoadFacts], planes: FactTable) -> bool:
    """Whether a queue lets less than half of the I/Os through, and is full."""
    return any(
        _lets_few(row, load) and not any(_lets_others(topology, row, other, planes) for other in loads)
        for row in planes_of(topology, load, planes)
    )


def _lets_few(row: FactRow, load: LoadFacts) -> bool:
    return number(row, "in_flight_measured") < _HELD_BACK * load.in_flight_measured


def _lets_others(topology: Topology, row: FactRow, other: LoadFacts, planes: FactTable) -> bool:
    """Whether the same queue let clearly fewer or more through of another load of which it let few: then it is not
    full, and the load itself holds I/Os back before they reach it."""
    return any(
        same["entity"] == row["entity"]
        and same["plane"] == row["plane"]
        and _lets_few(same, other)
        and not isclose(number(same, "in_flight_measured"), number(row, "in_flight_measured"), rel_tol=_AS_FULL)
        for same in planes_of(topology, other, planes)
    )


def _busiest(links: Sequence[FactRow]) -> float | None:
    if not links or any(row["utilisation"] is None for row in links):
        return None
    return max(number(row, "utilisation") for row in links)

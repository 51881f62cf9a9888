"""Facts of an array's front end: counters of its target ports, how many the test uses, and how many are full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sanpath.facts.fabric.link_measures import FULL_RATIO, filled_ratio
from sanpath.facts.host.port_utilisation import port_use
from sanpath.facts.host.tested_machines import as_text, busiest_utilisation
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import Step
from sanpath.topology.paths import IoPath, cabled_paths, visible_ports
from sanpath.topology.topology import Topology

_GAUGES = (
    "crc_errors_per_second",
    "link_failures_per_second",
    "sync_losses_per_second",
    "signal_losses_per_second",
    "invalid_words_per_second",
    "pause_frames_per_second_rx",
    "pause_frames_per_second_tx",
)
_SPARE_RATIO = 0.5
"""Ratio to a full link's bytes below which a link can carry at least twice as much."""


def array_port_rows(topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]) -> Iterator[FactRow]:
    """Yield one row for each target port and step, by the array's own counters, both directions together."""
    blocks = {step.name: step.block_bytes for step in steps}
    for sample in samples:
        port = topology.known_as.get((sample.source, "array_port", sample.entity))
        if port is None:
            continue
        yield {
            "entity": port,
            "step": sample.step,
            "direction": "both",
            "windows": sample.windows,
            "technology": as_text(topology.entities[port].attributes.get("technology")),
            "errors_per_second": gauge_or_rates(sample, "errors_per_second", "errors_rx_total", "errors_tx_total"),
            "discards_per_second_rx": gauge_or_rates(sample, "discards_per_second_rx", "discards_rx_total"),
            "discards_per_second_tx": gauge_or_rates(sample, "discards_per_second_tx", "discards_tx_total"),
            **{name: sample.means.get(name) for name in _GAUGES},
            **port_use(topology, port, [sample], blocks.get(sample.step), at_host=False),
        }


def front_end_rows(
    topology: Topology, steps: Sequence[Step], loads: Sequence[LoadFacts], links: FactTable
) -> Iterator[FactRow]:
    """Yield one row for each array that the test can reach, step and direction with I/O.

    The facts are those of its target ports, as counted by the switches."""
    paths = cabled_paths(topology, *sorted({root for f in loads for root in f.roots}))
    order = {step.name: number for number, step in enumerate(steps)}
    tested = sorted({(f.step, str(f.direction)) for f in loads}, key=lambda key: (order.get(key[0], len(order)), key))
    by_side: dict[tuple[str, str, str], list[FactRow]] = {}
    for row in links:
        by_side.setdefault((str(row["step"]), str(row["direction"]), str(row["side"])), []).append(row)
    for array in sorted({path.array for path in paths if path.array}):
        ports = _last_cables(paths, array)
        zoned = _zoned(topology, paths, array)
        for step, direction in tested:
            array_rows = by_side.get((step, direction, "array"), [])
            rows = [row for row in array_rows if row["entity"] in ports and row["negotiated_bits_per_second"]]
            if rows:
                zoning = _zoning(rows, zoned)
                host_links = [row for row in by_side.get((step, direction, "host"), []) if row["on_loaded_path"]]
                yield {
                    "entity": array,
                    "step": step,
                    "direction": direction,
                    **_front_end(rows),
                    "reachable_ports": float(len(rows)) if zoning["zoned_ports"] is None else zoning["zoned_ports"],
                    **zoning,
                    "hosts_utilisation": busiest_utilisation(host_links),
                }


def with_ports_in_paths(rows: Iterable[FactRow], multipath: Iterable[FactRow]) -> Iterator[FactRow]:
    """Yield rows of front ends with whether a LUN of the test has a working path to each reachable port. With several
    arrays that is not known, because the array behind a LUN's target ports is not considered."""
    known = list(rows)
    most: dict[str, float] = {}
    for row in multipath:
        if row["target_ports"] is not None:
            most[str(row["step"])] = max(most.get(str(row["step"]), 0.0), number(row, "target_ports"))
    is_single = len({row["entity"] for row in known}) == 1
    for row in known:
        ports = most.get(str(row["step"])) if is_single else None
        in_paths = None if ports is None else ports >= number(row, "reachable_ports")
        yield {**row, "all_ports_in_paths": in_paths}


def _last_cables(paths: Sequence[IoPath], array: str) -> set[str]:
    return {cable.id for path in paths if path.array == array for cable in path.cables if cable.side == "array"}


def _zoned(topology: Topology, paths: Sequence[IoPath], array: str) -> dict[str, bool] | None:
    """Return whether zones let the test's initiators see the port at a cable. None: not all their zones are read."""
    to_array = [path for path in paths if path.array == array and path.cables]
    visible = visible_ports(topology, to_array)
    if not visible or not all(visible.values()):
        return None
    zoned: dict[str, bool] = {}
    for path in to_array:
        cable = path.cables[-1].id
        zoned[cable] = zoned.get(cable, False) or path.array_port in visible[path.hba]
    return zoned


def _zoning(rows: Sequence[FactRow], zoned: Mapping[str, bool] | None) -> FactRow:
    fabric = [row for row in rows if row["technology"] == "fibre_channel"]
    if fabric and zoned is None:
        return {"zoned_ports": None, "full_zoned_ports": None, "spare_unzoned_ports": None}
    # Ethernet has no zones: nothing hides its ports.
    hidden = {str(row["entity"]) for row in fabric if not (zoned or {}).get(str(row["entity"]))}
    inside = [filled_ratio(row) for row in rows if row["entity"] not in hidden]
    outside = [filled_ratio(row) for row in rows if row["entity"] in hidden]
    return {
        "zoned_ports": float(len(inside)),
        "full_zoned_ports": float(sum(r >= FULL_RATIO for r in inside if r is not None))
        if None not in inside
        else None,
        "spare_unzoned_ports": float(sum(r < _SPARE_RATIO for r in outside if r is not None))
        if None not in outside
        else None,
    }


def _front_end(rows: Sequence[FactRow]) -> FactRow:
    used = [row for row in rows if row["on_loaded_path"]]
    all_known = all(row["on_loaded_path"] is not None for row in rows)
    filled = [filled_ratio(row) for row in rows]
    byte_rates = [number(row, "bytes_per_second") for row in rows]
    all_counted = all(row["bytes_per_second"] is not None for row in rows) and sum(byte_rates) > 0
    return {
        "windows": min(number(row, "windows") for row in rows),
        "ports": float(len(rows)),
        "used_ports": float(len(used)) if all_known else None,
        "full_ports": float(sum(ratio >= FULL_RATIO for ratio in filled if ratio is not None))
        if None not in filled
        else None,
        "busiest_port_share": max(byte_rates) / sum(byte_rates) if all_counted else None,
        "bytes_per_second": sum(byte_rates) if all_counted else None,
    }

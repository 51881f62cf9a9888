"""Facts of a load with the volume behind it: the same traffic seen from both ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable
from sanpath.topology.identity import Topology
from sanpath.topology.paths import io_paths, targets_of

_SAME = 0.05
"""The array as a whole stands for the volume when its bytes agree with the load's within this."""


def path_pair_rows(
    topology: Topology, loads: Sequence[LoadFacts], tables: Mapping[str, FactTable]
) -> Iterator[FactRow]:
    """One row a step and direction: latency at the load beside the array's own."""
    for load in loads:
        row = array_side(topology, load, tables)
        if row is None or row["array_seconds"] is None:
            continue
        inside = float(row["array_seconds"]) + float(row["qos_limit_seconds"] or 0.0)
        yield {
            "entity": f"{load.entity} > {row['entity']}",
            "step": load.step,
            "direction": load.direction,
            "windows": min(load.windows, int(row["windows"] or 0)),
            "load_seconds": load.latency_seconds,
            "array_seconds": inside,
            "gap_seconds": load.latency_seconds - inside,
            "foreign_ratio": row["foreign_ratio"],
            "bytes_ratio": load.bytes_per_second / float(row["bytes_per_second"])
            if row["bytes_per_second"]
            else None,
        }


def array_side(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> FactRow | None:
    """What the array says of this load's traffic: the array's own fine-grained samples when nearly all of its bytes
    are the test's, else those of the volume. None: neither is known."""
    ports, volumes = targets_of(topology, load.entity)
    arrays = {a for v in volumes for a in topology.related(v, "member_of", "array")}
    arrays |= {a for p in ports for a in topology.related(p, "member_of", "array")}
    arrays |= {path.array for path in io_paths(topology, load.entity)}
    same = {"step": load.step, "direction": load.direction}
    for row in tables["array"].select(**same):
        size = row["bytes_per_second"]
        if row["entity"] in arrays and size and abs(float(size) / load.bytes_per_second - 1) <= _SAME:
            return row
    rows = [row for row in tables["volume"].select(**same) if row["entity"] in volumes]
    return max(rows, key=lambda row: float(row["bytes_per_second"] or 0), default=None)

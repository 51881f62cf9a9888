"""Facts of a load with the volume behind it: the same traffic seen from both ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.topology.identity import Topology
from sanpath.topology.paths import io_paths, targets_of

SHARED = 0.05
"""Beyond this share of others an array's average says nothing of the test's own I/Os."""
_SAME = 0.05
"""The array as a whole stands for the volume when its bytes agree with the load's within this."""
_SAME_SIZE = 0.05
"""The array's I/Os are those of the load, and not parts of them, where their mean sizes agree within this."""
_FEW = 0.02
"""Share of others' I/Os from which on they may move the array's mean, however few bytes they are."""


def path_pair_rows(
    topology: Topology, loads: Sequence[LoadFacts], tables: Mapping[str, FactTable]
) -> Iterator[FactRow]:
    """One row a step and direction: latency at the load beside the array's own."""
    for load in loads:
        row = array_side(topology, load, tables)
        if row is None or row["array_seconds"] is None:
            continue
        inside = number(row, "array_seconds") + number(row, "qos_limit_seconds")
        same = same_operations(load, row)
        yield {
            "entity": f"{load.entity} > {row['entity']}",
            "step": load.step,
            "direction": load.direction,
            "windows": int(row["windows"] or 0) if load.summary else min(load.windows, int(row["windows"] or 0)),
            "load_seconds": load.latency_seconds,
            "array_seconds": inside if same else None,
            "gap_seconds": load.latency_seconds - inside if same else None,
            "rest_seconds": _most_of_a_rest(load, row, inside) if same else None,
            "foreign_ratio": row["foreign_ratio"],
            "operation_ratio": load.operation_bytes / operation_bytes(row)
            if load.operation_bytes and row["bytes_per_second"]
            else None,
            "bytes_ratio": load.bytes_per_second / float(row["bytes_per_second"])
            if row["bytes_per_second"]
            else None,
        }


def _most_of_a_rest(load: LoadFacts, row: FactRow, inside: float) -> float:
    """What is left of the load's latency at most, by the bounds of both, beside array and transfer."""
    whole = load.latency_interval[1] if load.latency_interval is not None else load.latency_seconds
    return whole - (inside - number(row, "spread_seconds") + number(row, "san_seconds"))


def array_side(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> FactRow | None:
    """What the array says of this load's traffic: the array's own fine-grained samples when nearly all of its bytes
    are the test's, unless the volume alone tells its operations; else those of the volume. None: neither is known."""
    ports, volumes = targets_of(topology, *load.roots)
    arrays = {a for v in volumes for a in topology.related(v, "member_of", "array")}
    arrays |= {a for p in ports for a in topology.related(p, "member_of", "array")}
    arrays |= {path.array for path in io_paths(topology, *load.roots)}
    same = {"step": load.step, "direction": load.direction}
    rows = [row for row in tables["volume"].select(**same) if row["entity"] in volumes]
    own = max(rows, key=lambda row: float(row["bytes_per_second"] or 0), default=None)
    if len(rows) > 1 and number(own or {}, "bytes_per_second") < (1 - _SAME) * load.bytes_per_second:
        own = _together(load, rows)
    for row in tables["array"].select(**same):
        size = number(row, "bytes_per_second")
        if row["entity"] not in arrays or not isclose(size, load.bytes_per_second, rel_tol=_SAME):
            continue
        # Small I/Os of others are few bytes and many operations, and a few slow ones move the mean.
        alone = isclose(number(row, "ops_per_second"), load.ops_per_second, rel_tol=_FEW)
        if own is None or (same_operations(load, row) and (alone or not _tells(load, own))):
            return row
        if not same_operations(load, own):
            return row
    return own


def _tells(load: LoadFacts, volume: FactRow) -> bool:
    """Whether volumes tell how long the test's own operations took, all of them."""
    counted = isclose(number(volume, "ops_per_second"), load.ops_per_second, rel_tol=_SAME)
    return counted and volume["array_seconds"] is not None


_TIMES = (
    "service_seconds",
    "queue_seconds",
    "qos_limit_seconds",
    "array_seconds",
    "spread_seconds",
    "response_seconds",
    "san_seconds",
    "growth",
    "growth_within",
)


def _together(load: LoadFacts, rows: Sequence[FactRow]) -> FactRow:
    """The volumes of a load as one: rates added, times a mean over the I/Os; None where one of them does not tell.
    It is called what the volume with the most I/Os inside is called."""
    operations = sum(number(row, "ops_per_second") for row in rows)
    counted = sum(number(row, "bytes_per_second") for row in rows)
    foreign = max(0.0, 1 - load.bytes_per_second / counted) if counted and load.bytes_per_second else None
    means = {
        name: None
        if any(row[name] is None for row in rows)
        else sum(number(row, "ops_per_second") * number(row, name) for row in rows) / operations
        for name in _TIMES
    }
    queue, service = means["queue_seconds"], means["service_seconds"]
    largest = max(rows, key=lambda row: number(row, "ops_per_second") * number(row, "array_seconds"))
    return {
        **largest,
        **means,
        "windows": min(int(number(row, "windows")) for row in rows),
        "ops_per_second": operations,
        "bytes_per_second": counted or None,
        "queue_ratio": queue / service if queue is not None and service else None,
        "foreign_ratio": 0.0 if foreign is not None and foreign < SHARED else foreign,
    }


def same_operations(load: LoadFacts, row: FactRow) -> bool:
    """Whether load and array count the same operations. Where I/Os are split or merged on the way their sizes
    differ, and a time per operation of one side may not be subtracted from that of the other."""
    if load.operation_bytes is None or not row["bytes_per_second"]:
        return True
    return isclose(load.operation_bytes, operation_bytes(row), rel_tol=_SAME_SIZE)


def operation_bytes(row: FactRow) -> float:
    """Mean size of an I/O of an array's row."""
    return number(row, "bytes_per_second") / number(row, "ops_per_second")


def array_time(load: LoadFacts, row: FactRow | None) -> FactRow | None:
    """The row, if its times may be subtracted from the load's: they are known, and of the test's own operations."""
    return row if row is not None and row["array_seconds"] is not None and _own(load, row) else None


def response_time(load: LoadFacts, row: FactRow | None) -> FactRow | None:
    """The row, if the array tells a time of the test's own operations that holds the transfer and its own part, and
    not that part alone: it bounds the array's part from above and stands for neither."""
    if row is None or row["array_seconds"] is not None or row["response_seconds"] is None:
        return None
    return row if _own(load, row) else None


def _own(load: LoadFacts, row: FactRow) -> bool:
    return number(row, "foreign_ratio") <= SHARED and same_operations(load, row)

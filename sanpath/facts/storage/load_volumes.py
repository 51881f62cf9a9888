"""Facts of a load and its volume: the same traffic, seen from both ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.topology.paths import io_paths, machine_luns, parts_without_volume, targets_of
from sanpath.topology.topology import Topology

SHARED = 0.05
"""Share of foreign bytes from which an array's average says nothing about the test's own I/Os."""
_SAME_LATENCY = 0.2
"""Relative difference up to which parts of a load have the same latency as the whole: sanpath's own choice."""
_SAME_SIZE_TOLERANCE = 0.05
"""The array's I/Os are those of the load, neither split nor merged, if mean sizes agree within this ratio."""
_LATE_RATIO = 0.2
"""Largest share of a load that its volumes may seem to lack because one of their windows is late."""
_MOST_RATIO = 0.75
"""Share of a load's bytes that an array's rows must have for their times to count as the load's: sanpath's own
choice, because a window may be late."""
_FEW_OPERATIONS_RATIO = 0.02
"""Share of foreign I/Os from which they may change the array's mean, however few their bytes. A share below the
sampling error of the load's throughput is no evidence of foreign I/Os."""


def path_pair_rows(
    topology: Topology, loads: Sequence[LoadFacts], tables: Mapping[str, FactTable]
) -> Iterator[FactRow]:
    """Yield one row for each step and direction: the latency at the load together with the array's own."""
    for load in loads:
        row = array_side(topology, load, tables)
        if row is None or row["array_seconds"] is None:
            continue
        array_seconds = number(row, "array_seconds") + number(row, "qos_limit_seconds")
        is_same = same_operations(load, row)
        yield {
            "entity": f"{load.entity} > {row['entity']}",
            "step": load.step,
            "direction": load.direction,
            "windows": int(row["windows"] or 0) if load.summary else min(load.windows, int(row["windows"] or 0)),
            "load_seconds": load.latency_seconds,
            "array_seconds": array_seconds if is_same else None,
            "gap_seconds": load.latency_seconds - array_seconds if is_same else None,
            "rest_seconds": _max_rest_seconds(load, row, array_seconds) if is_same else None,
            "foreign_ratio": row["foreign_ratio"],
            "operation_ratio": load.operation_bytes / operation_bytes(row)
            if load.operation_bytes and row["bytes_per_second"]
            else None,
            "bytes_ratio": load.bytes_per_second / float(row["bytes_per_second"])
            if row["bytes_per_second"]
            else None,
            "bytes_error_ratio": load.sampling_error(int(row["windows"] or 0)),
        }


def _max_rest_seconds(load: LoadFacts, row: FactRow, array_seconds: float) -> float:
    """Return the upper bound of the load's latency outside of array and transfer, in seconds, from the bounds of both
    latencies."""
    return load.latency_bounds[1] - (array_seconds - number(row, "spread_seconds") + number(row, "san_seconds"))


def array_side(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> FactRow | None:
    """Return the row of the array, or else of the volume, that describes this load's traffic. None: neither is known.
    The array's row, whose samples are more frequent, is used if nearly all of its bytes belong to the test. If only
    the volume reports the test's own operations, the volume's row is used."""
    row = _own_array_side(topology, load, tables)
    if row is not None and _has_other_volumes(topology, load, row):
        row = None
    if load.whole is None or (row is not None and _has_test_operations(load, row)):
        return row
    # The mean over the I/Os of all parts is also each part's, if the parts have the same latency.
    takes_as_long = isclose(load.latency_seconds, load.whole.latency_seconds, rel_tol=_SAME_LATENCY)
    of_whole = array_side(topology, load.whole, tables) if takes_as_long else None
    if of_whole is None or not same_operations(load, of_whole) or not _has_test_operations(load.whole, of_whole):
        return row
    return {
        **of_whole,
        "ops_per_second": load.ops_per_second,
        "bytes_per_second": load.bytes_per_second,
        "foreign_ratio": _foreign_ratio(load.whole, of_whole),
    }


def _has_other_volumes(topology: Topology, load: LoadFacts, row: FactRow) -> bool:
    """Return whether a row has clearly fewer bytes than the load because of volumes that no source reports: its times
    are then not those of all I/Os."""
    if not row["bytes_per_second"] or number(row, "bytes_per_second") >= _MOST_RATIO * load.bytes_per_second:
        return False
    return any(parts_without_volume(topology, root) for root in load.roots)


def judged_sides(
    topology: Topology, loads: Sequence[LoadFacts], tables: Mapping[str, FactTable]
) -> dict[tuple[str, str], set[str]]:
    """Return (source, step) → its own ids of the arrays and volumes that `array_side` uses for the loads."""
    rows = [(load.step, row) for load in loads if (row := array_side(topology, load, tables)) is not None]
    own_ids: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    of_rows = {row["entity"] for _, row in rows}
    for (source, _, own_id), entity in topology.known_as.items():
        if entity in of_rows:
            own_ids[entity].append((source, own_id))
    sides: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for step, row in rows:
        for source, own_id in own_ids[str(row["entity"])]:
            sides[source, step].add(own_id)
    return sides


def _foreign_ratio(load: LoadFacts, row: FactRow) -> float | None:
    """Return the share of a row's bytes that is not the load's. None: not known."""
    if not row["bytes_per_second"] or not load.bytes_per_second:
        return None
    foreign = max(0.0, 1 - load.bytes_per_second / number(row, "bytes_per_second"))
    return 0.0 if foreign < _tolerance(load, row) else foreign


def _own_array_side(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> FactRow | None:
    step_and_direction = {"step": load.step, "direction": load.direction}
    volumes = volumes_of(topology, load, tables)
    arrays = _arrays_of(topology, load, volumes)
    rows = [row for row in tables["volume"].select(**step_and_direction) if row["entity"] in volumes]
    volume_row = max(rows, key=lambda row: float(row["bytes_per_second"] or 0), default=None)
    if (
        len(rows) > 1
        and number(volume_row or {}, "bytes_per_second") < (1 - _tolerance(load, rows[0])) * load.bytes_per_second
    ):
        volume_row = _combined(load, rows)
    for row in tables["array"].select(**step_and_direction):
        byte_rate = number(row, "bytes_per_second")
        if row["entity"] not in arrays or not isclose(
            byte_rate, load.bytes_per_second, rel_tol=_tolerance(load, row)
        ):
            continue
        # Small foreign I/Os are few bytes but many operations, and a few slow ones change the mean.
        few = max(_FEW_OPERATIONS_RATIO, load.sampling_error(int(number(row, "windows"))))
        exclusive = isclose(number(row, "ops_per_second"), load.ops_per_second, rel_tol=few)
        if volume_row is None or (
            same_operations(load, row) and (exclusive or not _has_test_operations(load, volume_row))
        ):
            return row
        if not same_operations(load, volume_row):
            return row
    return volume_row


def array_with_others(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> FactRow | None:
    """Return the row of a load's only array, whatever the load's share of its I/Os. None: there is none, or several,
    or it does not count them."""
    arrays = _arrays_of(topology, load, volumes_of(topology, load, tables))
    rows = tables["array"].select(step=load.step, direction=load.direction)
    counted = [row for row in rows if row["entity"] in arrays and row["bytes_per_second"]]
    return counted[0] if len(arrays) == len(counted) == 1 else None


def _arrays_of(topology: Topology, load: LoadFacts, volumes: Iterable[str]) -> set[str]:
    """Return the arrays that a load uses, by its volumes, target ports and paths."""
    ports, _ = targets_of(topology, *load.roots)
    arrays = {array for part in (*volumes, *ports) for array in topology.related(part, "member_of", "array")}
    return arrays | {path.array for path in io_paths(topology, *load.roots)}


def volumes_of(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> set[str]:
    """Return the volumes that a load addresses. Empty: not known.

    If no source reports them, they are the volumes behind its machines' LUNs, if together these carry its bytes. If
    no such LUN is known either, they are the volumes with exactly its traffic.
    """
    if volumes := targets_of(topology, *load.roots)[1]:
        return volumes
    volumes = topology.behind(machine_luns(topology, *load.roots), "volume")
    if not volumes:
        return _volumes_with_traffic_of(topology, load, tables)
    rows = [row for row in _busy_volumes(load, tables) if row["entity"] in volumes]
    byte_rate = sum(number(row, "bytes_per_second") for row in rows)
    if not rows or not load.bytes_per_second:
        return set()
    tolerance = _tolerance(load, rows[0])
    # One of their windows may lie partly before the step: an exporter's value is older than its time stamp.
    missing = max(tolerance, min(_LATE_RATIO, 1 / max(1, int(number(rows[0], "windows")))))
    return volumes if -missing <= byte_rate / load.bytes_per_second - 1 <= tolerance else set()


def _volumes_with_traffic_of(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> set[str]:
    """Return the busy volumes of the only array that moves the load's bytes and operations; if no array does, the
    only volume that does. Empty: none does, or several do."""
    arrays: dict[str, list[FactRow]] = defaultdict(list)
    for row in _busy_volumes(load, tables):
        for array in topology.related(str(row["entity"]), "member_of", "array"):
            arrays[array].append(row)
    # The array's own counts include volumes that are not read.
    totals = {str(row["entity"]): [row] for row in tables["array"].select(step=load.step, direction=load.direction)}
    same = [rows for array, rows in arrays.items() if _same_traffic(load, totals.get(array, rows))]
    if not same:
        same = [[row] for rows in arrays.values() for row in rows if _same_traffic(load, [row])]
    return {str(row["entity"]) for row in same[0]} if len(same) == 1 else set()


def _busy_volumes(load: LoadFacts, tables: Mapping[str, FactTable]) -> list[FactRow]:
    rows = tables["volume"].select(step=load.step, direction=load.direction)
    return [row for row in rows if row["bytes_per_second"]]


def _same_traffic(load: LoadFacts, rows: Sequence[FactRow]) -> bool:
    """Return whether rows have together as many bytes and operations as the load."""
    return all(
        isclose(sum(number(row, name) for row in rows), expected, rel_tol=_tolerance(load, rows[0]))
        for name, expected in (("bytes_per_second", load.bytes_per_second), ("ops_per_second", load.ops_per_second))
    )


def busy_luns(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> list[str]:
    """Return the LUNs of a load's machines whose volumes carry it, without those that have less than half the I/Os of
    the busiest one: both operations, and I/Os inside the array. Empty: not known."""
    volumes = volumes_of(topology, load, tables)
    rows = {row["entity"]: row for row in _busy_volumes(load, tables) if row["entity"] in volumes}
    found: set[str] = set()
    for root in load.roots:
        behind = {lun: topology.behind([lun], "volume") & rows.keys() for lun in machine_luns(topology, root)}
        own = [rows[volume] for volume in sorted({volume for each in behind.values() for volume in each})]
        for measure in (_operations, _inside):
            most = max(map(measure, own), default=0.0)
            busy = {row["entity"] for row in own if measure(row) > most / 2}
            found |= {lun for lun, each in behind.items() if each & busy}
    return sorted(found)


def _operations(row: FactRow) -> float:
    return number(row, "ops_per_second")


def _inside(row: FactRow) -> float:
    """Return the mean number of I/Os inside the array, by Little's law; 0.0: their time is not known."""
    return number(row, "ops_per_second") * number(row, "array_seconds")


def _tolerance(load: LoadFacts, row: FactRow) -> float:
    """Return the relative difference up to which load and row may count the same I/Os."""
    return load.same_traffic_tolerance(int(number(row, "windows")))


def _has_test_operations(load: LoadFacts, volume: FactRow) -> bool:
    """Return whether a volume's row reports the time of all of the test's own operations."""
    is_complete = isclose(number(volume, "ops_per_second"), load.ops_per_second, rel_tol=_tolerance(load, volume))
    return is_complete and volume["array_seconds"] is not None


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


def _combined(load: LoadFacts, rows: Sequence[FactRow]) -> FactRow:
    """Combine the volumes of a load into one row: rates are added, times are means over the I/Os.

    A time is None if a volume does not report it. The row has the name of the volume with the most I/Os in flight."""
    operations = sum(number(row, "ops_per_second") for row in rows)
    byte_rate = sum(number(row, "bytes_per_second") for row in rows)
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
        "bytes_per_second": byte_rate or None,
        "queue_ratio": queue / service if queue is not None and service else None,
        "foreign_ratio": _foreign_ratio(load, {**rows[0], "bytes_per_second": byte_rate}),
    }


def same_operations(load: LoadFacts, row: FactRow) -> bool:
    """Return whether load and array count the same operations.

    Where I/Os are split or merged on the path, their sizes differ. Then a time per operation of one side must not be
    subtracted from that of the other."""
    if load.operation_bytes is None or not row["bytes_per_second"]:
        return True
    return isclose(load.operation_bytes, operation_bytes(row), rel_tol=_SAME_SIZE_TOLERANCE)


def parts_at_array(load: LoadFacts, row: FactRow) -> float | None:
    """Return the number of I/Os at the array for each I/O of the load; 1.0: it is whole, or merged with others. None:
    not known, because the array serves other I/Os as well, or the sizes have no whole ratio."""
    if same_operations(load, row):
        return 1.0
    if load.operation_bytes is None or number(row, "foreign_ratio") > SHARED:
        return None
    parts = load.operation_bytes / operation_bytes(row)
    return max(1.0, round(parts)) if parts < 1 or isclose(parts, round(parts), rel_tol=_SAME_SIZE_TOLERANCE) else None


def longest_ratio(part_seconds: float, parts: float, most_seconds: float) -> float:
    """Return the longest time of an I/O that is split into this many parts, over a part's: they start together, and
    at worst the array serves them one after another. `most_seconds`: no I/O takes longer."""
    return max(1.0, min(parts, most_seconds / part_seconds)) if part_seconds else 1.0


def operation_bytes(row: FactRow) -> float:
    """Return the mean size of an I/O in a row of an array."""
    return number(row, "bytes_per_second") / number(row, "ops_per_second")


def array_time(load: LoadFacts, row: FactRow | None) -> FactRow | None:
    """Return the row if its times may be subtracted from the load's: they are known, and are those of the test's own
    operations."""
    return row if row is not None and row["array_seconds"] is not None and _is_of_test(load, row) else None


def response_time(load: LoadFacts, row: FactRow | None) -> FactRow | None:
    """Return the row if the array reports response times of the test's own operations, but not its own part of them.
    A response time includes the transfer, so it is an upper bound of the array's part."""
    if row is None or row["array_seconds"] is not None or row["response_seconds"] is None:
        return None
    return row if _is_of_test(load, row) else None


def _is_of_test(load: LoadFacts, row: FactRow) -> bool:
    return number(row, "foreign_ratio") <= SHARED and same_operations(load, row)

"""Links that move exactly the bytes of the load, where it is not known which ones it crosses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from sanpath.facts.table import FactRow, FactValue, number
from sanpath.verdict.places.table import PlaceTable

_EXACTLY = (0.97, 1.12)
"""Counted bytes over those of the load between which a port moves these alone: frames, commands and status add 1 to
10 % (FC-FS: 36 bytes of 2,148; blocks of 4 KiB have the most)."""
_MOST_LINKS = 12
"""Of more links of unknown use, some always add up to the bytes of the load."""
UNKNOWN_PORT = ""
"""A port of a switch behind which no device is known."""


def links_of_load_alone(table: PlaceTable) -> dict[FactValue, set[str]]:
    """Side (host, array, None: not known) → links of it that move exactly the load's bytes, of those that it may
    cross. UNKNOWN_PORT stands for a port without a known device: the other side brings as many bytes more than this
    side takes away. Sides without such a link are left out, as are those where several other links together move as
    much.

    A switch keeps no bytes: what comes in and is not seen to leave leaves all the same.
    """
    rows = table.rows("link", direction=table.load.direction)
    by_side = dict[FactValue, list[FactRow]](host=[], array=[])
    for row in rows:
        by_side.setdefault(row["side"], []).append(row)
    missing = _missing(rows, by_side)
    found: dict[FactValue, set[str]] = {}
    for side, of_side in by_side.items():
        unknown = [row for row in of_side if row["on_loaded_path"] is None]
        alone = {str(row["entity"]) for row in unknown if _is_of_load(table, number(row, "bytes_per_second"))}
        if missing is not None and side in missing and _is_of_load(table, missing[side]):
            alone.add(UNKNOWN_PORT)
        others = [number(row, "bytes_per_second") for row in unknown if row["entity"] not in alone]
        if alone and not _several_are_of_load(table, others):
            found[side] = alone
    return found


def _missing(
    rows: Sequence[FactRow], by_side: Mapping[FactValue, Sequence[FactRow]]
) -> dict[FactValue, float] | None:
    """Side → bytes a second that the other side of the switch moves beyond this one. None: there are several
    switches, or a link is not counted."""
    ends = [*by_side["host"], *by_side["array"]]
    if len(ends) < len(rows) or len({row["switch"] for row in rows}) != 1:
        return None
    if any(row["bytes_per_second"] is None for row in rows):
        return None
    moved = {side: sum(number(row, "bytes_per_second") for row in of_side) for side, of_side in by_side.items()}
    return {"host": moved["array"] - moved["host"], "array": moved["host"] - moved["array"]}


def _several_are_of_load(table: PlaceTable, rates: Collection[float]) -> bool:
    """Whether two or more of these links together move as much as the load, as where it is spread over paths."""
    busy = [rate for rate in rates if rate > 0]
    return len(busy) > _MOST_LINKS or any(
        _is_of_load(table, sum(each)) for count in range(2, len(busy) + 1) for each in combinations(busy, count)
    )


def _is_of_load(table: PlaceTable, bytes_per_second: float) -> bool:
    least, most = _EXACTLY
    return least * table.load.bytes_per_second <= bytes_per_second <= most * table.load.bytes_per_second

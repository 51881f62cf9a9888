"""Links that move exactly the load's bytes, if it is not known which links the load crosses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from sanpath.facts.table import FactRow, FactValue, number
from sanpath.verdict.places.table import PlaceTable

_LOAD_BYTES_RATIOS = (0.97, 1.12)
"""Counted bytes over the load's, between which a port carries only the load: frames, commands and status add 1 to 10
% (FC-FS: 36 bytes of 2,148; blocks of 4 KiB have the most)."""
_MAX_LINKS = 12
"""With more links of unknown use, some always add up to the load's bytes."""
UNKNOWN_PORT = ""
"""A switch port behind which no device is known."""


def links_of_load_alone(table: PlaceTable) -> dict[FactValue, set[str]]:
    """Side (host, array, None: not known) → links there that move exactly the load's bytes, of those that it may
    cross: a single one, any of several, or the only ones that do so together.

    UNKNOWN_PORT is a port without a known device: the other side brings that many more bytes than this side takes
    away. Other sides are left out. A switch keeps no bytes: bytes that come in, and are not seen to leave, do leave.
    """
    rows = table.rows("link", direction=table.load.direction)
    by_side: dict[FactValue, list[FactRow]] = {"host": [], "array": []}
    for row in rows:
        by_side.setdefault(row["side"], []).append(row)
    missing = _missing_bytes(rows, by_side)
    found: dict[FactValue, set[str]] = {}
    for side, of_side in by_side.items():
        unknown = [row for row in of_side if row["on_loaded_path"] is None]
        rates = {str(row["entity"]): number(row, "bytes_per_second") for row in unknown}
        choices = _choices(table, rates)
        if missing is not None and side in missing and _is_of_load(table, missing[side]):
            choices.append((UNKNOWN_PORT,))
        if len(choices) == 1 or {len(links) for links in choices} == {1}:
            found[side] = {link for links in choices for link in links}
    return found


def _missing_bytes(
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


def _choices(table: PlaceTable, rates: Mapping[str, float]) -> list[tuple[str, ...]]:
    """All choices of these links that together move exactly the load's bytes: a single one, or several, as if the
    load is spread over paths. No choice contains another. Empty: there is none, or too many links are busy."""
    busy = [link for link, rate in rates.items() if rate > 0]
    choices: list[tuple[str, ...]] = []
    for count in range(1, len(busy) + 1 if len(busy) <= _MAX_LINKS else 1):
        choices += [
            links
            for links in combinations(busy, count)
            if _is_of_load(table, sum(rates[link] for link in links))
            and not any(set(fewer).issubset(links) for fewer in choices)
        ]
    return choices


def _is_of_load(table: PlaceTable, bytes_per_second: float) -> bool:
    least, most = _LOAD_BYTES_RATIOS
    return least * table.load.bytes_per_second <= bytes_per_second <= most * table.load.bytes_per_second

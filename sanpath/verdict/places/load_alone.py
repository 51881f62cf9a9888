"""Links that move just the bytes of the load, where it is not known which ones it crosses."""

from __future__ import annotations

from collections import defaultdict

from sanpath.facts.table import number
from sanpath.verdict.places.table import PlaceTable

_JUST_THE_LOAD = (0.97, 1.12)
"""Counted bytes over those of the load between which a port moves these alone: frames, commands and status add 1 to
10 % (FC-FS: 36 bytes of 2,148; blocks of 4 KiB have the most)."""
UNKNOWN_PORT = ""
"""A port of a switch behind which no device is known."""


def links_of_load_alone(table: PlaceTable) -> dict[str, set[str]]:
    """Side (host, array) → links of it that move just the load's bytes, of those that it may cross; UNKNOWN_PORT, if
    as many bytes leave their switch and no link there takes them. Sides without such a link are left out.

    A switch keeps no bytes: what comes in on one side and is not seen to leave on the other leaves all the same.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    moved: defaultdict[str, dict[str, float]] = defaultdict(lambda: {"host": 0.0, "array": 0.0})
    between_switches = set()
    for row in table.rows("link", direction=table.load.direction):
        switch, side, rate = str(row["switch"]), str(row["side"]), number(row, "bytes_per_second")
        if side not in ("host", "array"):
            between_switches.add(switch)
            continue
        moved[switch][side] += rate
        if row["on_loaded_path"] is None and _is_of_load(table, rate):
            found[side].add(str(row["entity"]))
    for switch, by_side in moved.items():
        for side, other in (("host", "array"), ("array", "host")):
            if switch not in between_switches and _is_of_load(table, by_side[other] - by_side[side]):
                found[side].add(UNKNOWN_PORT)
    return dict(found)


def _is_of_load(table: PlaceTable, bytes_per_second: float) -> bool:
    least, most = _JUST_THE_LOAD
    return least * table.load.bytes_per_second <= bytes_per_second <= most * table.load.bytes_per_second

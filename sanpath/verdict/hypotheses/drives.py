"""A drive that is local to its host is saturated: below its clock there is nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.facts.host.planes import devices_of_load
from sanpath.facts.table import number
from sanpath.units import duration
from sanpath.verdict.hypotheses.claim import Claim, Evidence, limited_by
from sanpath.verdict.places.table import PlaceTable

_SLOW = 2.0
"""Time of one part of a device over that of its peers from which that part is the drive that limits."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """A claim for the drives of the load, if all are local; for a part of them that is far slower than its peers."""
    drives, below = local_drives(table), table.indices("below")
    if not drives or not below:
        return
    slowest, times = _slowest_part(table, drives)
    entity, others = (slowest, ()) if times >= _SLOW else (drives[0], tuple(drives[1:]))
    seconds = sum(table.segments[index].middle for index in below)
    words = f"an I/O takes {duration(seconds)} in the drive, which is local to its host"
    if times >= _SLOW:
        words += f"; {slowest} takes {times:.1f} times as long as its peers"
    overturn_if = ("throughput that grows by more than 5 % with more outstanding I/Os",)
    conclude = limited_by(table, "host", (words,), overturn_if, waits_inside=True, coincident=others)
    yield Claim("drive", entity, below, (Evidence(words, 0.0),), conclude)


def local_drives(table: PlaceTable) -> list[str]:
    """The devices of the load. Empty: one of them is not known to be local, or a volume or an array is behind it."""
    topology = table.facts.topology
    devices = sorted(devices_of_load(topology, table.load))
    are_local = all(topology.entities[device].attributes.get("local") is True for device in devices)
    return devices if are_local and table.array is None and not topology.behind(devices, "volume") else []


def _slowest_part(table: PlaceTable, drives: list[str]) -> tuple[str, float]:
    """The part of the drives that is slowest for its load, and its time over that of its peers. ("", 0): unknown."""
    rows = table.rows("peer", direction=table.load.direction)
    parts = {part for drive in drives for part in table.facts.topology.members(drive, "lun")}
    times = {str(row["entity"]): number(row, "slower_than_peers_ratio") for row in rows if row["entity"] in parts}
    return max(times.items(), key=lambda each: each[1], default=("", 0.0))

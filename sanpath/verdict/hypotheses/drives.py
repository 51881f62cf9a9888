"""A drive local to its host is saturated: nothing else is below its clock."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sanpath.facts.devices.local_drives import local_drives
from sanpath.facts.devices.planes import devices_of_load, parallel_devices, planes_of
from sanpath.facts.table import number
from sanpath.units import duration
from sanpath.verdict.hypotheses.claim import Claim, Evidence, conclusion_of
from sanpath.verdict.places.device_rates import share_a_limit
from sanpath.verdict.places.table import PlaceTable

_DID_MORE_WEIGHT = -4.0
"""Log-odds of drives that did more in another step: sanpath's own choice, 1 to 55. Flash slows down once its cache or
its erased blocks are used up."""
SLOW_RATIO = 2.0
"""A device's time over that of its peers, at its load, from which it is the one that limits."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """A claim for the load's drives, if all are local; if some are far slower than their peers, for those."""
    drives, below = drives_of_load(table), table.indices("below")
    if not drives or not below:
        return
    slowest, times = _slowest_part(table, drives)
    entity, others = (slowest, ()) if times >= SLOW_RATIO else (drives[0], tuple(drives[1:]))
    evidence = []
    if times < SLOW_RATIO and share_a_limit(table.facts, table.load, drives):
        evidence.append(Evidence("drives did more of the same I/Os in another step", _DID_MORE_WEIGHT))
    seconds = duration(sum(table.segments[index].middle for index in below))
    words = f"an I/O takes {seconds} in the drive, which is local to its host"
    if times >= SLOW_RATIO:
        words += f"; {slowest} takes {times:.1f} times as long as its peers"
    elif others:
        words = f"an I/O takes {seconds} in one of {len(drives)} drives, which are local to their host"
    overturn_if = ("throughput that grows by more than 5 % with more outstanding I/Os",)
    conclude = conclusion_of(table, "host", (words,), overturn_if, waits_inside=True, coincident=others)
    yield Claim("drive", entity, below, (Evidence(words, 0.0), *evidence), conclude)


def drives_of_load(table: PlaceTable) -> list[str]:
    """The drives that the load uses, through any stack: md, logical volumes, virtual disks. Empty: at least one is
    not known to be local, or a volume or array is behind it."""
    topology = table.facts.topology
    devices = devices_of_load(topology, table.load) or _devices_by_bytes(table)
    if table.array is not None or topology.behind(devices, "volume"):
        return []
    drives = local_drives(topology, devices)
    # A spare drive, or one that a volume has not reached yet, does not limit.
    rows = table.rows("plane")
    used = {str(row["entity"]) for row in rows if number(row, "ops_per_second")}
    return [drive for drive in drives if drive in used] or drives


def _devices_by_bytes(table: PlaceTable) -> set[str]:
    """The devices that carry the load's bytes, for a load that names no device, such as one on files."""
    topology, load, planes = table.facts.topology, table.load, table.facts.tables["plane"]
    devices: set[str] = set()
    for row in planes_of(topology, load, planes):
        parallel = parallel_devices(topology, load, planes, str(row["plane"]))
        alone = [each for each in parallel if each["entity"] == row["entity"]]
        is_one = any(each["ops_per_second"] == row["ops_per_second"] for each in alone)
        devices |= {str(each["entity"]) for each in (alone if is_one else parallel)}
    return devices


def _slowest_part(table: PlaceTable, drives: Sequence[str]) -> tuple[str, float]:
    """The slowest drive at its load, and its time over that of its peers. ("", 0): unknown."""
    return max(times_of_peers(table, drives).items(), key=lambda each: each[1], default=("", 0.0))


def times_of_peers(table: PlaceTable, devices: Collection[str]) -> dict[str, float]:
    """The time of each device over that of its peers, at its load. Devices without peers are left out."""
    rows = table.rows("peer", direction=table.load.direction)
    return {str(row["entity"]): number(row, "slower_than_peers_ratio") for row in rows if row["entity"] in devices}

"""Queues of guest and host between the planes that were observed: what waits there, and how many they let through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sanpath.facts.compute import Facts
from sanpath.facts.host import planes
from sanpath.facts.host.planes import parallel_devices
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.topology.paths import machine_of

_FILLED = 0.95
"""Share of its slots from which a queue is full."""
_CLOCKS_WITH_QUEUE = ("guest_block", "windows_disk")
"""Planes whose latency contains the wait for a slot of the device (Linux await, PerfMon)."""
_ALONE = 0.95
"""A device with this share of a plane's I/Os is that plane."""
_NEXT_TO_ALL = 0.99
"""Share of its I/Os that a device has taken from which on none is said to wait: means differ by their rounding."""
_WAITS = 0.5
"""I/Os in the mean from which on some wait: fewer may be the rounding of a clock."""
_HOST = ("kernel", "device")
"""Planes of the hypervisor; what waits above them waits in its kernel."""


@dataclass(frozen=True, slots=True)
class HostQueue:
    """What I/Os pass between two planes. `entity`: the block device or virtual disk at the lower one, `layer`: where
    they wait; `above`: the upper plane. `offered`, `admitted`: mean number in flight at the upper and from the lower
    plane on. `seconds`: what an I/O waits there, either way off by `off_seconds` where a clock is coarse;
    `below_seconds`: from the lower plane down, off by `resolution_seconds`. `depth`: None where it is not told."""

    entity: str
    plane: str
    above: str
    layer: Layer
    seconds: float
    off_seconds: float
    below_seconds: float
    resolution_seconds: float
    offered: float
    admitted: float
    depth: float | None

    @property
    def holds_back(self) -> bool:
        """Whether I/Os wait in it."""
        return self.offered - self.admitted >= _WAITS


def host_queues(facts: Facts, load: LoadFacts) -> list[HostQueue]:
    """The queues that the load's I/O passes in guest and host, from the load down. [] where no source tells."""
    found = []
    above, seconds, off, offered = "load", load.latency_seconds, 0.0, load.in_flight_measured
    for row in planes.planes_of(facts.topology, load, facts.tables["plane"]):
        plane, below, resolution = (
            str(row["plane"]),
            number(row, "latency_seconds"),
            number(row, "resolution_seconds"),
        )
        found.append(
            HostQueue(
                str(row["entity"]),
                plane,
                above,
                _layer(facts, load, plane),
                max(0.0, seconds - below),
                max(off, resolution),
                below,
                resolution,
                offered,
                number(row, "in_flight_measured"),
                _depth(row),
            )
        )
        above, seconds, off, offered = plane, below, resolution, number(row, "in_flight_measured")
    if found and (inside := _inside_clock(facts, load, found[-1])) is not None:
        found.append(inside)
    return found


def _inside_clock(facts: Facts, load: LoadFacts, last: HostQueue) -> HostQueue | None:
    """The queue of the block device itself, where the operating system's clock contains it: by its slots, by the
    clocks of its paths, or by both, which then tell how far either is off. None: nothing waits in it that is told."""
    if last.plane not in _CLOCKS_WITH_QUEUE:
        return None
    slots, by_slots = _by_slots(facts, load, last)
    by_paths = _by_paths(facts, load, last)
    told = [admitted for admitted in (by_slots, by_paths) if admitted is not None]
    if not told:
        return None
    admitted = sum(told) / len(told)
    if admitted > _NEXT_TO_ALL * last.admitted:
        return None
    below = last.below_seconds * admitted / last.admitted
    off = last.resolution_seconds + last.below_seconds * (max(told) - min(told)) / 2 / last.admitted
    return HostQueue(
        last.entity,
        "device",
        last.plane,
        last.layer,
        last.below_seconds - below,
        off,
        below,
        off,
        last.admitted,
        admitted,
        slots,
    )


def _by_slots(facts: Facts, load: LoadFacts, last: HostQueue) -> tuple[float | None, float | None]:
    """Slots of the device, or of those beside each other, and the I/Os it lets through: of more in flight than it has
    slots the others wait. None: nobody tells its slots, or no device has more in flight."""
    tables = facts.tables
    here = {"step": load.step, "direction": load.direction, "plane": last.plane, "entity": last.entity}
    rows = parallel_devices(facts.topology, load, tables["plane"], last.plane)
    rows = rows or tables["plane"].select(**here)[:1]
    own = [row for row in rows if row["entity"] == last.entity]
    if own and number(own[0], "in_flight_measured") >= _ALONE * last.admitted:
        rows = own
    offered = admitted = slots = 0.0
    for row in rows:
        device = next(iter(tables["device"].select(step=load.step, entity=row["entity"])), None)
        if device is None or not device["queue_depth"] or not device["in_flight"]:
            return None, None
        share = min(1.0, number(device, "queue_depth") / number(device, "in_flight"))
        offered += number(row, "in_flight_measured")
        admitted += number(row, "in_flight_measured") * share
        slots += number(device, "queue_depth")
    if not rows:
        return None, None
    return slots, last.admitted * admitted / offered if admitted < offered else None


def _by_paths(facts: Facts, load: LoadFacts, last: HostQueue) -> float | None:
    """The I/Os that the paths of a multipath map have taken, by their own clocks. None: the device is no map, its
    paths have no clock, or next to nothing waits above them."""
    below = {
        link.from_entity
        for link in facts.topology.links
        if link.relation == "member_of" and link.to_entity == last.entity and link.from_entity.startswith("lun:")
    }
    here = facts.tables["plane"].select(step=load.step, direction=load.direction, plane=last.plane)
    rows = [row for row in here if row["entity"] in below]
    # A request that a path refuses is counted once more when it is offered again.
    if sum(number(row, "ops_per_second") for row in rows) < _ALONE * load.ops_per_second:
        return None
    admitted = sum(number(row, "in_flight_measured") for row in rows)
    return admitted if rows and admitted < _ALONE * last.admitted else None


def below_queues(facts: Facts, load: LoadFacts) -> float:
    """Latency below the queues of the host; that of the load where no plane of the host is observed."""
    queues = host_queues(facts, load)
    return queues[-1].below_seconds if queues else load.latency_seconds


def throttle(facts: Facts, load: LoadFacts) -> HostQueue | None:
    """The queue in which most I/Os wait, where guest and host hold back more than half of them. None: none does."""
    queues = host_queues(facts, load)
    if not queues or queues[-1].admitted >= load.in_flight_measured / 2:
        return None
    return max(queues, key=lambda queue: queue.offered - queue.admitted)


def load_layer(facts: Facts, load: LoadFacts) -> Layer:
    """The layer that a load's own block device belongs to."""
    machine = machine_of(facts.topology, load.roots[0]) if len(load.roots) == 1 else None
    return "guest" if machine is not None and facts.topology.entities[machine].kind == "vm" else "host"


def _layer(facts: Facts, load: LoadFacts, plane: str) -> Layer:
    if plane in _HOST:
        return "host"
    return "guest" if plane == "vscsi" else load_layer(facts, load)


def _depth(row: FactRow) -> float | None:
    """How many I/Os the host lets through at once, where it says so and its latency bears it out."""
    depth = cast("float | None", row["queue_depth"])
    if not depth:
        return None
    off = number(row, "ops_per_second") * number(row, "resolution_seconds")
    return depth if number(row, "in_flight_measured") <= depth / _FILLED + off else None


def wait_at(facts: Facts, load: LoadFacts, limiter: str) -> str:
    """Where most of the wait is held: above a queue of guest or host, when that holds most of the I/Os back."""
    held = throttle(facts, load)
    return held.entity if held is not None else limiter

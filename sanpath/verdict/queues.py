"""Queues of the host between the planes that were observed: what waits there, and which queue limits by itself.

A full queue limits when nothing below it has slowed down: throughput is then its slots over the latency without a
queue (R0). With the loaded latency the same division always gives the throughput, and every full queue would limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sanpath.facts import planes
from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import array_side
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.topology.paths import machine_of

_NEAR_R0 = 1.3
"""Latency below the queue up to this many times R0 has not begun to grow."""
_HALF = 0.55
"""Half as many in flight, as measured: of 16 that are offered 16.1 are seen beside a queue of 32."""
_FILLED = 0.95
"""Share of its slots from which a queue is full."""
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


@dataclass(frozen=True, slots=True)
class FullQueue:
    """The queue of a block device. `slots`: the I/Os it lets through; `r0_seconds`: latency below it, from a step
    with `r0_in_flight` that did not fill it."""

    entity: str
    layer: Layer
    slots: float
    below_seconds: float
    r0_seconds: float
    r0_in_flight: float


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
    return found


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


def limiting_queue(facts: Facts, load: LoadFacts) -> FullQueue | None:
    """The queue that limits this load by itself. None: none is full, what is below it has slowed down, or no step
    tells its size or the latency without a queue."""
    for queue in reversed(host_queues(facts, load)):
        seen = [(other, same) for other in facts.loads if (same := _same(facts, other, load, queue)) is not None]
        if not any(same.admitted <= _HALF * same.offered for _, same in seen):
            continue
        slots = max(same.depth or same.admitted for _, same in seen)
        calm_load, calm = min(seen, key=lambda pair: pair[0].in_flight_measured)
        # One that was offered more than its slots and let half of them through is no queue: the load holds I/Os back.
        free_once = calm.admitted <= _HALF * slots and calm.offered <= slots
        if not free_once or queue.admitted < _FILLED * slots or not _near(facts, load, queue, calm):
            return None
        r0 = calm.below_seconds
        return FullQueue(queue.entity, queue.layer, slots, queue.below_seconds, r0, calm_load.in_flight_measured)
    return None


def _same(facts: Facts, other: LoadFacts, load: LoadFacts, queue: HostQueue) -> HostQueue | None:
    """The same queue under another load of the same I/Os."""
    if not other.comparable(load):
        return None
    queues: Sequence[HostQueue] = host_queues(facts, other)
    return next((same for same in queues if (same.entity, same.plane) == (queue.entity, queue.plane)), None)


def _near(facts: Facts, load: LoadFacts, queue: HostQueue, calm: HostQueue) -> bool:
    """Whether latency below the queue has not begun to grow. Where the clocks there are too coarse to tell, the time
    of the array tells."""
    most = queue.below_seconds + queue.resolution_seconds
    if most <= _NEAR_R0 * (calm.below_seconds - calm.resolution_seconds):
        return True
    least = queue.below_seconds - queue.resolution_seconds
    if least > _NEAR_R0 * (calm.below_seconds + calm.resolution_seconds):
        return False
    array = array_side(facts.topology, load, facts.tables)
    return array is not None and array["growth"] is not None and number(array, "growth") <= _NEAR_R0


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

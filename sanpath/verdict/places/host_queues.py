"""Queues of guest and host between the observed planes: how long I/Os wait there, and how many they let through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sanpath.facts.facts import Facts
from sanpath.facts.host import planes
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.topology.paths import machines_of

DEPTH_ERROR = 0.05
"""Relative standard error of slots in use. They are throughput times latency, and both err by their windows, more
with a coarse clock."""
_FILLED = 0.95
"""Share of its slots in use from which a queue is full."""
_UNEQUALLY_FULL = 1.5
"""Ratio from which one parallel device is clearly fuller than the others together: sanpath's own choice, beyond what
their shares of a load scatter."""
_WHOLE_PLANE = 0.95
"""A device with this share of a plane's I/Os stands for the plane."""
_ONE_WAITS = 0.5
"""Mean number of I/Os from which some wait: fewer may be the rounding of a clock."""
_LEAST_ADMITTED = 0.01
"""Least share of a direction's I/Os that are below the queue: they do take some time there."""
WITHOUT_QUEUE = ("md", "other dm")
"""Kinds of Linux devices that pass each I/O on to the devices below them. A multipath map holds requests."""
_HYPERVISOR_PLANES = ("host_block", "kernel", "device")
"""Planes of the hypervisor; I/Os that wait above them wait in its kernel."""


class PlaneReading(NamedTuple):
    """What is seen at a plane: seconds of an I/O from there down, their error either way, and mean I/Os in flight.

    `mix_error_ratio`: relative error of seconds that are a mean over others' I/Os as well, the same at all planes of
    a device.
    """

    plane: str
    seconds: float
    error_seconds: float
    in_flight: float
    mix_error_ratio: float = 0.0

    @property
    def whole_error_seconds(self) -> float:
        """The error of its seconds for whatever reason."""
        return self.error_seconds + self.mix_error_ratio * self.seconds


@dataclass(frozen=True, slots=True)
class HostQueue:
    """The queue between the clocks of two planes.

    `entity`: the block device or virtual disk at the lower plane, `devices`: how many carry the load together, of
    which it is the busiest; `as_full`: those of them whose slots are as full as its own. `layer`: where I/Os wait.
    `depth`: None where no source reports it. `others_admitted`: mean number of others' I/Os that the queue lets
    through. `in_slots`: mean number of I/Os in these slots, of both directions, where they are those of `entity`
    alone; None: they are those of all devices. `above_parts`: it ends at the clocks of the devices that `entity` is
    made of.
    """

    entity: str
    layer: Layer
    above: PlaneReading
    below: PlaneReading
    depth: float | None
    devices: int = 1
    others_admitted: float = 0.0
    in_slots: float | None = None
    above_parts: bool = False
    as_full: tuple[str, ...] = ()

    @property
    def wait_seconds(self) -> float:
        """Wait of an I/O in the queue, in seconds."""
        return max(0.0, self.above.seconds - self.below.seconds)

    @property
    def error_seconds(self) -> float:
        """Error of that wait either way, where a clock is coarse, or its time is a mean over others' I/Os as well."""
        if self.above.mix_error_ratio and self.below.mix_error_ratio:
            of_mix = max(self.above.mix_error_ratio, self.below.mix_error_ratio) * self.wait_seconds
            return max(self.above.error_seconds, self.below.error_seconds) + of_mix
        return max(self.above.whole_error_seconds, self.below.whole_error_seconds)

    @property
    def admitted(self) -> float:
        """Mean number of I/Os that the queue lets through."""
        return self.below.in_flight

    @property
    def held(self) -> float:
        """Mean number of I/Os in its slots: of this direction, or of both where they are those of one device, and
        of others."""
        return self.admitted + self.others_admitted if self.in_slots is None else self.in_slots

    @property
    def others_share(self) -> float:
        """Share of what it lets through that is not the test's."""
        return min(1.0, self.others_admitted / self.held) if self.held else 0.0

    @property
    def waiting(self) -> float:
        """Mean number of I/Os that wait in the queue."""
        return self.above.in_flight - self.below.in_flight

    @property
    def holds_back(self) -> bool:
        """Whether I/Os wait in the queue."""
        return self.waiting >= _ONE_WAITS


class _Slots(NamedTuple):
    """The slots of a device: its I/Os of both directions that have one, and how many there are; 0: not known."""

    entity: str
    in_use: float
    depth: float

    @property
    def filled_ratio(self) -> float:
        """Share of them in use."""
        return self.in_use / self.depth


def host_queues(facts: Facts, load: LoadFacts) -> Sequence[HostQueue]:
    """The queues that the load's I/O passes in guest and host, from the load down. Empty: no source reports any."""
    return facts.once(load, _host_queues)


def _host_queues(facts: Facts, load: LoadFacts) -> Sequence[HostQueue]:
    queues: list[HostQueue] = []
    above = PlaneReading("load", load.latency_seconds, 0.0, load.in_flight_measured)
    opposite = next((o for o in facts.loads_in(load.step) if o.entity == load.entity and o is not load), None)
    for plane_row in planes.planes_of(facts.topology, load, facts.tables["plane"]):
        row = planes.of_direction(plane_row, load, opposite)
        seconds, error = number(row, "latency_seconds"), number(row, "resolution_seconds")
        in_flight, mix_error_ratio = number(row, "in_flight_measured"), number(row, "mix_error_ratio")
        below = PlaneReading(str(row["plane"]), seconds, error, in_flight, mix_error_ratio)
        # What waits for a LUN's slots is inside the kernel's clock: above it, the virtual disk is held back, in whose
        # queue others have no I/Os.
        own = _above_kernel(facts, load, row, queues) if below.plane == "kernel" else None
        entity = own or str(row["entity"])
        layer, devices = _layer(facts, load, below.plane), int(number(row, "devices")) or 1
        queue = HostQueue(
            entity=entity,
            layer=layer,
            above=above,
            below=below,
            depth=_depth(row),
            devices=devices,
            others_admitted=0.0 if own else number(row, "others_in_flight"),
        )
        queues.append(_fullest(queue, list(_slots_at_clock(facts, load, below.plane))) if devices > 1 else queue)
        above = below
    if queues and (device_queue := _inside_clock(facts, load, queues[-1])) is not None:
        queues.append(device_queue)
    return queues


def _above_kernel(facts: Facts, load: LoadFacts, row: FactRow, queues: Sequence[HostQueue]) -> str | None:
    """What holds I/Os back above the kernel's clock of a LUN: the load's virtual disk, or else the device with the
    last clock above. `queues`: those above. None: neither is known."""
    topology, own = facts.topology, planes.devices_of_load(facts.topology, load)
    disks = [disk for disk in topology.related(str(row["entity"]), "backed_by", "vdisk") if disk in own]
    above = [queue.entity for queue in reversed(queues)]
    is_disk = (entity for entity in above if topology.entities[entity].kind == "vdisk")
    return next(iter([*is_disk, *disks, *above]), None)


def in_slots_of(facts: Facts, load: LoadFacts, queue: HostQueue) -> float:
    """I/Os of both directions, and of others, that have a slot of a queue: until they complete, in whatever queue
    below they wait."""
    # Of parallel devices the busiest names the queue, and it may differ between reads and writes.
    return queue.in_slots or sum(
        other.admitted + other.others_admitted
        for step_load in facts.loads_in(load.step)
        for other in host_queues(facts, step_load)
        if other.below.plane == queue.below.plane
        and (other.entity == queue.entity or step_load.entity == load.entity)
    )


def _fullest(queue: HostQueue, devices: Sequence[_Slots]) -> HostQueue:
    """The queue of parallel devices as that of the fullest, where this has clearly more of its own slots in use than
    the others together: no I/O takes the slot of another device. Else it is that of all which are as full."""
    if not devices or not all(device.depth for device in devices):
        return queue
    fullest = max(devices, key=lambda device: device.filled_ratio)
    others = [device for device in devices if device is not fullest]
    rest = sum(device.in_use for device in others) / (sum(device.depth for device in others) or 1.0)
    if _UNEQUALLY_FULL * rest < fullest.filled_ratio <= 1 / _FILLED:
        return replace(queue, entity=fullest.entity, depth=fullest.depth, in_slots=fullest.in_use)
    as_full = [each.entity for each in devices if _UNEQUALLY_FULL * each.filled_ratio >= fullest.filled_ratio]
    return replace(queue, as_full=tuple(name for name in as_full if name != queue.entity))


def _slots_at_clock(facts: Facts, load: LoadFacts, plane: str) -> Iterator[_Slots]:
    """The slots of each device of a load that are filled before the clock of a plane starts."""
    rows = facts.tables["plane"]
    for row in planes.parallel_devices(facts.topology, load, rows, plane):
        both = rows.select(step=load.step, plane=row["plane"], entity=row["entity"])
        in_use = {str(each["direction"]): number(each, "in_flight_measured") for each in both}
        yield _Slots(str(row["entity"]), sum(in_use.values()), number(row, "queue_depth"))


def _slots_inside_clock(facts: Facts, rows: Sequence[FactRow]) -> Iterator[_Slots]:
    """The slots of each device of a load that are filled while the clock of its block layer runs. `rows`: of each."""
    for row in rows:
        for device in facts.tables["device"].select(step=row["step"], entity=row["entity"])[:1]:
            depth = number(device, "queue_depth")
            yield _Slots(str(row["entity"]), min(depth, number(device, "in_flight")), depth)


def _inside_clock(facts: Facts, load: LoadFacts, last: HostQueue) -> HostQueue | None:
    """The queue of the block device itself, where the operating system's clock contains it.

    It is estimated from its slots, from the clocks of its paths, or from both; the difference of both is then the
    error. None: no I/O is seen to wait in it.
    """
    above = last.below
    if above.plane not in planes.BLOCK_LAYERS or not above.in_flight:
        return None
    by_parts, rows = _by_parts(facts, load, last), _devices(facts, load, last)
    if by_parts is None:
        # Several volumes may share a device.
        parts = (part for row in rows for part in _with_slots(facts, load, row))
        rows = list({str(part["entity"]): part for part in parts}.values())
    names = [str(row["entity"]) for row in sorted(rows, key=lambda row: -number(row, "in_flight_measured"))]
    slots, by_slots = _by_slots(facts, last, rows)
    estimates = [admitted for admitted in (by_slots, by_parts) if admitted is not None]
    if not estimates:
        return None
    admitted, spread = sum(estimates) / len(estimates), (max(estimates) - min(estimates)) / 2
    error = above.error_seconds + above.seconds * spread / above.in_flight
    seconds = above.seconds * admitted / above.in_flight
    below = PlaneReading("device", seconds, error, admitted, above.mix_error_ratio)
    others_admitted = last.others_admitted * admitted / above.in_flight
    queue = HostQueue(
        entity=last.entity if last.entity in names else names[0],
        layer=last.layer,
        above=above,
        below=below,
        depth=slots,
        devices=len(names) or last.devices,
        others_admitted=others_admitted,
        above_parts=by_parts is not None,
    )
    return _fullest(queue, list(_slots_inside_clock(facts, rows))) if queue.devices > 1 else queue


def _by_slots(facts: Facts, last: HostQueue, rows: Sequence[FactRow]) -> tuple[float | None, float | None]:
    """The slots of the device, or of parallel devices, and how many I/Os of this direction they admit. `rows`: of
    each device.

    I/Os in flight beyond the slots wait. Reads and writes stand in one queue and wait equally long, by Little's law
    for both together; a slot is taken for the time below the queue, so the slower direction has more of them. None:
    no source reports the slots, or no device has more I/Os in flight than slots.
    """
    tables = facts.tables
    offered = admitted = slots = 0.0
    for row in rows:
        device = next(iter(tables["device"].select(step=row["step"], entity=row["entity"])), None)
        if device is None or not device["queue_depth"] or not device["in_flight"]:
            return None, None
        both = tables["plane"].select(step=row["step"], plane=row["plane"], entity=row["entity"])
        operations = sum({str(each["direction"]): number(each, "ops_per_second") for each in both}.values())
        waiting = max(0.0, number(device, "in_flight") - number(device, "queue_depth"))
        # A coarse clock may show no time for short I/Os.
        seconds = number(row, "latency_seconds")
        share = 1 - waiting / operations / seconds if seconds else 1.0
        offered += number(row, "in_flight_measured")
        admitted += number(row, "in_flight_measured") * max(_LEAST_ADMITTED, share)
        slots += number(device, "queue_depth")
    return slots or None, last.admitted * admitted / offered if admitted < offered else None


def _by_parts(facts: Facts, load: LoadFacts, last: HostQueue) -> float | None:
    """The number of I/Os that the devices below those of the load have taken, by their own clocks: paths of multipath
    maps, parts of md and of logical volumes.

    None: a device is made of no others, these have no clock, or next to nothing waits above them.
    """
    uppers = [str(row["entity"]) for row in _devices(facts, load, last)]
    parts = {part for name in uppers for part in facts.topology.members(name, "lun")}
    plane_rows = facts.tables["plane"].select(step=load.step, direction=load.direction, plane=last.below.plane)
    rows = [row for row in plane_rows if row["entity"] in parts]
    # A request that a path refuses is counted again when it is offered again.
    complete = sum(number(row, "ops_per_second") for row in rows) >= _WHOLE_PLANE * load.ops_per_second
    admitted = sum(number(row, "in_flight_measured") for row in rows)
    is_own = complete and not last.others_admitted
    return admitted if rows and is_own and admitted < _WHOLE_PLANE * last.admitted else None


def _devices(facts: Facts, load: LoadFacts, last: HostQueue) -> list[FactRow]:
    """A row for each device that carries the load's I/O at the lowest clock of the host: one, or several together."""
    plane, rows = last.below.plane, facts.tables["plane"]
    alone = rows.select(step=load.step, direction=load.direction, plane=plane, entity=last.entity)
    return planes.parallel_devices(facts.topology, load, rows, plane) or alone[:1]


def devices_with_unread_slots(facts: Facts, load: LoadFacts) -> list[str]:
    """The devices below the last clock of the host whose wait for slots it contains, and of whose slots nobody reads
    the number, the fullest first."""
    queues = host_queues(facts, load)
    if not queues or queues[-1].below.plane not in planes.BLOCK_LAYERS or queues[-1].depth is not None:
        return []
    rows = [part for row in _devices(facts, load, queues[-1]) for part in _with_slots(facts, load, row)]
    unread = [row for row in rows if row["queue_depth"] is None]
    unread.sort(key=lambda row: -number(row, "in_flight_measured"))
    return list(dict.fromkeys(str(row["entity"]) for row in unread)) if rows else [queues[-1].entity]


def _with_slots(facts: Facts, load: LoadFacts, row: FactRow) -> list[FactRow]:
    """The device of a row, or the devices that it is made of, where it holds none of its I/Os and these have them
    all."""
    topology, entity = facts.topology, str(row["entity"])
    if topology.entities[entity].attributes.get("kind") not in WITHOUT_QUEUE:
        return [row]
    parts = set(topology.members(entity, "lun"))
    rows = facts.tables["plane"].select(step=load.step, direction=load.direction, plane=row["plane"])
    own = [part for part in rows if part["entity"] in parts]
    operations = sum(number(part, "ops_per_second") for part in own)
    if not operations >= _WHOLE_PLANE * number(row, "ops_per_second") > 0:
        return [row]
    return [each for part in own for each in _with_slots(facts, load, part)]


def below_queues(facts: Facts, load: LoadFacts) -> float:
    """Latency below the queues of the host. Where no plane of the host is observed, the latency of the load."""
    queues = host_queues(facts, load)
    return queues[-1].below.seconds if queues else load.latency_seconds


def throttle(facts: Facts, load: LoadFacts) -> HostQueue | None:
    """The queue that holds back most I/Os. None: guest and host together hold back less than half of them."""
    queues = host_queues(facts, load)
    if not queues or queues[-1].admitted >= load.in_flight_measured / 2:
        return None
    return max(queues, key=lambda queue: queue.waiting)


def _layer(facts: Facts, load: LoadFacts, plane: str) -> Layer:
    """The layer in which I/Os wait above a plane: the hypervisor, or where the load's own block device is."""
    if plane in _HYPERVISOR_PLANES:
        return "host"
    machines = [machine for root in load.roots for machine in machines_of(facts.topology, root)]
    is_guest = bool(machines) and all(facts.topology.entities[machine].kind == "vm" for machine in machines)
    return "guest" if plane == "vscsi" or is_guest else "host"


def _depth(row: FactRow) -> float | None:
    """How many I/Os the host lets through at once. None: it does not report that, or its latency contradicts it."""
    depth, in_use = number(row, "queue_depth"), number(row, "in_flight_measured") + number(row, "others_in_flight")
    error_ratio = number(row, "resolution_seconds") / (number(row, "latency_seconds") or 1.0)
    return depth if depth and in_use * (1 - error_ratio) <= depth / _FILLED else None


def wait_at(facts: Facts, load: LoadFacts, limiter: str) -> str:
    """The entity where most I/Os wait: a queue of guest or host if it holds back most of them, else the limiter."""
    queue = throttle(facts, load)
    return queue.entity if queue is not None else limiter

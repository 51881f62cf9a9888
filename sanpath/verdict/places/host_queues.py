"""Queues of guest and host between the observed planes: how long I/Os wait there, and how many they admit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sanpath.facts.devices import planes
from sanpath.facts.devices.block_devices import MULTIPATH_MAP
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer
from sanpath.topology.paths import machines_of

DEPTH_ERROR = 0.05
"""Relative standard error of the number of slots in use. It is throughput times latency, and the windows of both
differ. With a coarse clock the error is larger."""
_FULL_RATIO = 0.95
"""Share of its slots in use from which a queue is full."""
_CLEARLY_FULLER = 1.5
"""Ratio from which one of several parallel devices is clearly fuller than all others together: sanpath's own choice.
It is larger than the usual scatter of their shares of a load."""
_WHOLE_PLANE_SHARE = 0.95
"""Share of a plane's I/Os from which devices carry the whole plane."""
_MIN_WAITING = 0.5
"""Smallest mean number of waiting I/Os that counts: a smaller one may be the rounding of a clock."""
SOFTWARE_SECONDS = 30e-6
"""System call, block layer and interrupt of one I/O on a current host (fio on null_blk: 5 to 50 µs)."""
_MIN_ADMITTED_SHARE = 0.01
"""Smallest share of a direction's I/Os that counts as below the queue: every I/O spends some time there."""
WITHOUT_QUEUE = ("md", "other dm")
"""Kinds of Linux devices that pass each I/O on to the devices below them. A multipath map holds requests."""
_OVER_PATHS = (MULTIPATH_MAP, "nvme")
"""Kinds of Linux devices that may have paths with slots of their own. An NVMe namespace has no slots itself."""
_HYPERVISOR_PLANES = ("host_block", "kernel", "device")
"""Planes of the hypervisor. I/Os that wait above them wait in its kernel."""


class PlaneReading(NamedTuple):
    """The reading of a plane: seconds of an I/O from there down, their error either way, and mean I/Os in flight.

    `mix_error_ratio`: relative error of seconds if they are a mean that includes others' I/Os. It is the same at all
    planes of a device.
    """

    plane: str
    seconds: float
    error_seconds: float
    in_flight: float
    mix_error_ratio: float = 0.0

    @property
    def whole_error_seconds(self) -> float:
        """The total error of its seconds."""
        return self.error_seconds + self.mix_error_ratio * self.seconds


@dataclass(frozen=True, slots=True)
class HostQueue:
    """The queue between the clocks of two planes.

    `entity`: the block device or virtual disk at the lower plane. `devices`: number of devices that carry the load
    together; `entity` is the busiest. `as_full`: other devices whose slots are as full. `layer`: where I/Os wait.
    `depth`: number of slots, None: no source reports it. `others_admitted`: mean number of others' I/Os that the
    queue admits. `in_slots`: mean number of I/Os of both directions in the slots of `entity`, if the queue is that of
    `entity` alone and the load also uses other devices; None: it is that of all devices. `above_parts`: the queue
    ends at the clocks of the devices that `entity` consists of.
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
        """Error of that wait either way, if a clock is coarse, or its time is a mean that includes others' I/Os."""
        if self.above.mix_error_ratio and self.below.mix_error_ratio:
            of_mix = max(self.above.mix_error_ratio, self.below.mix_error_ratio) * self.wait_seconds
            return max(self.above.error_seconds, self.below.error_seconds) + of_mix
        return max(self.above.whole_error_seconds, self.below.whole_error_seconds)

    @property
    def admitted(self) -> float:
        """Mean number of I/Os that the queue admits."""
        return self.below.in_flight

    @property
    def held(self) -> float:
        """Mean number of I/Os in its slots, with those of others: of this direction, or of both directions if the
        slots are those of a single device."""
        return self.admitted + self.others_admitted if self.in_slots is None else self.in_slots

    @property
    def others_share(self) -> float:
        """Share of others' I/Os in those that it admits."""
        return min(1.0, self.others_admitted / self.held) if self.held else 0.0

    @property
    def waiting(self) -> float:
        """Mean number of I/Os that wait in the queue."""
        return self.above.in_flight - self.below.in_flight

    @property
    def holds_back(self) -> bool:
        """Whether I/Os wait in the queue, longer than the host's software works on them."""
        software = min(1.0, SOFTWARE_SECONDS / self.wait_seconds) if self.wait_seconds else 0.0
        return self.waiting * (1 - software) >= _MIN_WAITING


class _Slots(NamedTuple):
    """The slots of a device. `in_use`: I/Os of both directions that have one. `depth`: number of slots, 0:
    unknown."""

    entity: str
    in_use: float
    depth: float

    @property
    def filled_ratio(self) -> float:
        """Share of the slots in use."""
        return self.in_use / self.depth


def host_queues(facts: Facts, load: LoadFacts) -> Sequence[HostQueue]:
    """The queues that the load's I/O passes in guest and host, from the load down. Empty: no source reports any."""
    return facts.cached(_host_queues, load)


def _host_queues(facts: Facts, load: LoadFacts) -> Sequence[HostQueue]:
    queues: list[HostQueue] = []
    above = PlaneReading("load", load.latency_seconds, 0.0, load.in_flight_measured)
    opposite = next((o for o in facts.loads_in(load.step) if o.entity == load.entity and o is not load), None)
    for plane_row in planes.planes_of(facts.topology, load, facts.tables["plane"]):
        row = planes.with_latency_of_direction(plane_row, load, opposite)
        seconds, error = number(row, "latency_seconds"), number(row, "resolution_seconds")
        in_flight, mix_error_ratio = number(row, "in_flight_measured"), number(row, "mix_error_ratio")
        below = PlaneReading(str(row["plane"]), seconds, error, in_flight, mix_error_ratio)
        # The kernel's clock includes the wait for a LUN's slots. I/Os that wait above this clock wait in the queue of
        # the virtual disk, which has no I/Os of others.
        own = _entity_above_kernel(facts, load, row, queues) if below.plane == "kernel" else None
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
        slots = list(_slots_at_clock(facts, load, below.plane))
        queue = _of_fullest(queue, slots) if devices > 1 else queue
        queues.append(_of_one_device(facts, load, queue, below.plane, slots))
        above = below
    if queues and (device_queue := _device_queue(facts, load, queues[-1])) is not None:
        queues.append(device_queue)
    return queues


def _entity_above_kernel(facts: Facts, load: LoadFacts, row: FactRow, queues: Sequence[HostQueue]) -> str | None:
    """The entity whose queue holds I/Os back above the kernel's clock of a LUN: the load's virtual disk, or else the
    device with the last clock above. `queues`: those above. None: neither is known."""
    topology, own = facts.topology, planes.devices_of_load(facts.topology, load)
    disks = [disk for disk in topology.related(str(row["entity"]), "backed_by", "vdisk") if disk in own]
    above = [queue.entity for queue in reversed(queues)]
    is_disk = (entity for entity in above if topology.entities[entity].kind == "vdisk")
    return next(iter([*is_disk, *disks, *above]), None)


def in_slots_of(facts: Facts, load: LoadFacts, queue: HostQueue) -> float:
    """Number of I/Os that have a slot of a queue, of both directions and of others. An I/O holds its slot until it
    completes, whichever lower queue it waits in."""
    # The queue has the name of the busiest parallel device, which may differ between reads and writes.
    return queue.in_slots or sum(
        other.admitted + other.others_admitted
        for step_load in facts.loads_in(load.step)
        for other in host_queues(facts, step_load)
        if other.below.plane == queue.below.plane
        and (other.entity == queue.entity or step_load.entity == load.entity)
    )


def _of_fullest(queue: HostQueue, devices: Sequence[_Slots]) -> HostQueue:
    """The queue of the fullest parallel device, if a clearly larger share of its slots is in use than of the others
    together: an I/O cannot take the slot of another device. Otherwise the queue of all devices that are equally
    full."""
    if not devices or not all(device.depth for device in devices):
        return queue
    fullest = max(devices, key=lambda device: device.filled_ratio)
    others = [device for device in devices if device is not fullest]
    rest = sum(device.in_use for device in others) / (sum(device.depth for device in others) or 1.0)
    if _CLEARLY_FULLER * rest < fullest.filled_ratio <= 1 / _FULL_RATIO:
        return replace(queue, entity=fullest.entity, depth=fullest.depth, in_slots=fullest.in_use)
    as_full = [each.entity for each in devices if _CLEARLY_FULLER * each.filled_ratio >= fullest.filled_ratio]
    return replace(queue, as_full=tuple(name for name in as_full if name != queue.entity))


def _of_one_device(facts: Facts, load: LoadFacts, queue: HostQueue, plane: str, slots: Sequence[_Slots]) -> HostQueue:
    """The queue of the only device of this direction, with the I/Os in its own slots if those of the opposite
    direction also go to other devices. `slots`: of the device, or of its paths."""
    if queue.devices > 1 or queue.in_slots is not None or not slots or not all(each.depth for each in slots):
        return queue
    rows = facts.tables["plane"]
    both = [each for each in facts.loads_in(load.step) if each.entity == load.entity]
    used = {row["entity"] for each in both for row in planes.parallel_devices(facts.topology, each, rows, plane)}
    own = {row["entity"] for row in planes.parallel_devices(facts.topology, load, rows, plane)}
    return replace(queue, in_slots=sum(each.in_use for each in slots)) if used - own else queue


def _slots_at_clock(facts: Facts, load: LoadFacts, plane: str) -> Iterator[_Slots]:
    """The slots of each device of a load, if I/Os take them before the clock of a plane starts."""
    rows = facts.tables["plane"]
    for row in planes.parallel_devices(facts.topology, load, rows, plane):
        both = rows.select(step=load.step, plane=row["plane"], entity=row["entity"])
        in_use = {str(each["direction"]): number(each, "in_flight_measured") for each in both}
        yield _Slots(str(row["entity"]), sum(in_use.values()), number(row, "queue_depth"))


def _slots_inside_clock(facts: Facts, rows: Sequence[FactRow]) -> Iterator[_Slots]:
    """The slots of each device of a load, if I/Os take them while the clock of its block layer runs. `rows`: one for
    each device."""
    for row in rows:
        in_flight, depth = _in_flight_and_slots(facts, row)
        yield _Slots(str(row["entity"]), min(depth, in_flight), depth)


def _in_flight_and_slots(facts: Facts, row: FactRow) -> tuple[float, float]:
    """I/Os of both directions at a device, and its slots, 0: unknown. `row`: that of its clock in one direction."""
    for device in facts.tables["device"].select(step=row["step"], entity=row["entity"])[:1]:
        return number(device, "in_flight"), number(device, "queue_depth")
    both = facts.tables["plane"].select(step=row["step"], plane=row["plane"], entity=row["entity"])
    in_flight = {str(each["direction"]): number(each, "in_flight_measured") for each in both}
    return sum(in_flight.values()), number(row, "queue_depth")


def _device_queue(facts: Facts, load: LoadFacts, last: HostQueue) -> HostQueue | None:
    """The queue of the block device itself, if the operating system's clock includes it.

    It is estimated from the device's slots, from the clocks of its parts, or from both. Then the difference between
    the two is the error. None: no I/O is seen to wait in it.
    """
    above = last.below
    if above.plane not in planes.BLOCK_LAYERS or not above.in_flight:
        return None
    by_parts, uppers = _admitted_by_parts(facts, load, last), _devices(facts, load, last)
    # Several volumes may share a device, which counts once.
    parts = (part for row in uppers for part in _with_slots(facts, load, row))
    rows = list({str(part["entity"]): part for part in parts}.values())
    of_paths = _are_paths(facts, uppers, rows)
    if by_parts is not None and not of_paths:
        rows = uppers
    names = [str(row["entity"]) for row in sorted(rows, key=lambda row: -number(row, "in_flight_measured"))]
    slots, by_slots = _admitted_by_slots(facts, last, rows)
    if of_paths and by_slots is not None:
        # The clock of a path includes the wait for its slots.
        by_slots *= (by_parts or last.admitted) / last.admitted
        by_parts = None
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
    devices = list(_slots_inside_clock(facts, rows))
    queue = _of_fullest(queue, devices) if queue.devices > 1 else queue
    if of_paths and queue.in_slots is None:
        queue = replace(queue, entity=last.entity, devices=last.devices, as_full=())
    return _of_one_device(facts, load, queue, above.plane, devices)


def _are_paths(facts: Facts, uppers: Sequence[FactRow], rows: Sequence[FactRow]) -> bool:
    """Whether these devices are the paths of multipath maps. `uppers`: those of the load."""
    known = facts.topology.entities
    are_maps = all(known[str(row["entity"])].attributes.get("kind") == MULTIPATH_MAP for row in uppers)
    return are_maps and bool(rows) and not {row["entity"] for row in uppers} & {row["entity"] for row in rows}


def _admitted_by_slots(facts: Facts, last: HostQueue, rows: Sequence[FactRow]) -> tuple[float | None, float | None]:
    """The slots of the device, or of parallel devices, and how many I/Os of this direction they admit. `rows`: one
    for each device.

    I/Os in flight beyond the slots wait. Reads and writes share one queue and wait equally long (Little's law for
    both together). An I/O holds its slot for the time below the queue, so the slower direction holds more slots.
    None: no source reports the slots, or no device has more I/Os in flight than slots.
    """
    tables = facts.tables
    offered = admitted = slots = 0.0
    for row in rows:
        in_flight, depth = _in_flight_and_slots(facts, row)
        if not in_flight or not depth:
            return None, None
        both = tables["plane"].select(step=row["step"], plane=row["plane"], entity=row["entity"])
        operations = sum({str(each["direction"]): number(each, "ops_per_second") for each in both}.values())
        waiting = max(0.0, in_flight - depth)
        # A coarse clock may show no time for short I/Os.
        seconds = number(row, "latency_seconds")
        share = 1 - waiting / operations / seconds if seconds else 1.0
        offered += number(row, "in_flight_measured")
        admitted += number(row, "in_flight_measured") * max(_MIN_ADMITTED_SHARE, share)
        slots += depth
    return slots or None, last.admitted * admitted / offered if admitted < offered else None


def _admitted_by_parts(facts: Facts, load: LoadFacts, last: HostQueue) -> float | None:
    """Number of I/Os in the devices below those of the load, by the clocks of these lower devices: paths of multipath
    maps, parts of md and of logical volumes.

    None: the load's devices do not consist of others, these have no clock, or hardly any I/O waits above them.
    """
    uppers = [str(row["entity"]) for row in _devices(facts, load, last)]
    parts = {part for name in uppers for part in facts.topology.members(name, "lun")}
    plane_rows = facts.tables["plane"].select(step=load.step, direction=load.direction, plane=last.below.plane)
    rows = [row for row in plane_rows if row["entity"] in parts]
    # A path may refuse a request, and counts it again when it is offered again.
    complete = sum(number(row, "ops_per_second") for row in rows) >= _WHOLE_PLANE_SHARE * load.ops_per_second
    admitted = sum(number(row, "in_flight_measured") for row in rows)
    is_own = complete and not last.others_admitted
    return admitted if rows and is_own and admitted < _WHOLE_PLANE_SHARE * last.admitted else None


def _devices(facts: Facts, load: LoadFacts, last: HostQueue) -> list[FactRow]:
    """One row for each device that carries the load's I/O at the lowest clock of the host."""
    plane, rows = last.below.plane, facts.tables["plane"]
    alone = rows.select(step=load.step, direction=load.direction, plane=plane, entity=last.entity)
    return planes.parallel_devices(facts.topology, load, rows, plane) or alone[:1]


def devices_with_unread_slots(facts: Facts, load: LoadFacts) -> list[str]:
    """The devices below the last clock of the host, the fullest first, if this clock includes the wait for their
    slots, and no source reads the number of these slots."""
    queues = host_queues(facts, load)
    if not queues or queues[-1].below.plane not in planes.BLOCK_LAYERS or queues[-1].depth is not None:
        return []
    rows = [part for row in _devices(facts, load, queues[-1]) for part in _with_slots(facts, load, row)]
    unread = [row for row in rows if row["queue_depth"] is None]
    unread.sort(key=lambda row: -number(row, "in_flight_measured"))
    return list(dict.fromkeys(str(row["entity"]) for row in unread)) if rows else [queues[-1].entity]


def _with_slots(facts: Facts, load: LoadFacts, row: FactRow) -> list[FactRow]:
    """The row of a device with slots: the row itself, or, if its device has no queue or its paths have slots of their
    own, the rows of its parts, provided that these carry all its I/Os."""
    topology, entity = facts.topology, str(row["entity"])
    kind = topology.entities[entity].attributes.get("kind")
    if kind not in (*WITHOUT_QUEUE, *_OVER_PATHS):
        return [row]
    parts = set(topology.members(entity, "lun"))
    rows = facts.tables["plane"].select(step=load.step, direction=load.direction, plane=row["plane"])
    own = [part for part in rows if part["entity"] in parts]
    operations = sum(number(part, "ops_per_second") for part in own)
    if not operations >= _WHOLE_PLANE_SHARE * number(row, "ops_per_second") > 0:
        return [row]
    if kind == MULTIPATH_MAP:
        of_paths = [number(part, "queue_depth") for part in own]
        # The sessions of the paths may admit fewer I/Os to the map than its paths have slots.
        if not all(of_paths) or 0 < number(row, "queue_depth") < sum(of_paths):
            return [row]
    return [each for part in own for each in _with_slots(facts, load, part)]


def below_queues(facts: Facts, load: LoadFacts) -> float:
    """Latency below the queues of the host. If no plane of the host is observed, the latency of the load."""
    queues = host_queues(facts, load)
    return queues[-1].below.seconds if queues else load.latency_seconds


def throttle(facts: Facts, load: LoadFacts) -> HostQueue | None:
    """The queue in which most I/Os wait. None: guest and host together hold back less than half of the I/Os."""
    queues = host_queues(facts, load)
    if not queues or queues[-1].admitted >= load.in_flight_measured / 2:
        return None
    return max(queues, key=lambda queue: queue.waiting)


def _layer(facts: Facts, load: LoadFacts, plane: str) -> Layer:
    """The layer in which I/Os wait above a plane: the hypervisor, or the layer of the load's own block device."""
    if plane in _HYPERVISOR_PLANES:
        return "host"
    machines = [machine for root in load.roots for machine in machines_of(facts.topology, root)]
    is_guest = bool(machines) and all(facts.topology.entities[machine].kind == "vm" for machine in machines)
    return "guest" if plane == "vscsi" or is_guest else "host"


def _depth(row: FactRow) -> float | None:
    """Number of I/Os that the host admits at once. None: it is not reported, or contradicts the I/Os in flight."""
    depth, in_use = number(row, "queue_depth"), number(row, "in_flight_measured") + number(row, "others_in_flight")
    error_ratio = number(row, "resolution_seconds") / (number(row, "latency_seconds") or 1.0)
    return depth if depth and in_use * (1 - error_ratio) <= depth / _FULL_RATIO else None


def wait_at(facts: Facts, load: LoadFacts, limiter: str) -> str:
    """The entity at which most I/Os wait: a queue of guest or host if it holds back most, otherwise the limiter."""
    queue = throttle(facts, load)
    return queue.entity if queue is not None else limiter


def works_on_ios(facts: Facts, queue: HostQueue) -> bool:
    """Whether software may work on I/Os between a device and its parts: encryption, parity, thin volumes. A multipath
    map holds them in its queue."""
    return queue.above_parts and facts.topology.entities[queue.entity].attributes.get("kind") != MULTIPATH_MAP

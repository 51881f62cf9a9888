"""An unread part of the path: it may explain any wait in it, and no reading is for or against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.facts.devices.planes import parallel_devices
from sanpath.facts.fabric.link_measures import SLOW_TRANSFER_RATIO, wire_seconds
from sanpath.facts.host.tested_machines import platform
from sanpath.facts.table import number
from sanpath.units import counted, duration
from sanpath.verdict.evidence.tail import tail_weight
from sanpath.verdict.hypotheses.claim import UNREAD, Claim, Evidence, conclusion_of
from sanpath.verdict.hypotheses.drives import SLOW_RATIO, drives_of_load, times_of_peers
from sanpath.verdict.hypotheses.tcp_windows import reports_windows
from sanpath.verdict.hypotheses.unread_queues import (
    below_last_clock,
    host_is_unread,
    idle_alone_evidence,
    one_direction_evidence,
    slots_are_unread,
    waits_with_free_slots,
)
from sanpath.verdict.places.device_rates import share_a_limit
from sanpath.verdict.places.host_queues import WITHOUT_QUEUE, HostQueue, works_on_ios
from sanpath.verdict.places.path_links import path_links
from sanpath.verdict.places.scaling import fewest_bytes_of_same_ops
from sanpath.verdict.places.table import PlaceTable

_UNREAD_PRIOR = -2.0
"""Log-odds of an unread place, relative to one whose counter could have shown the limit."""
_ENGINE_WEIGHT = 2.0
"""Log-likelihood ratio of a load engine that is known to hold I/Os back above the device."""
_DIRECT_ACCESS_WEIGHT, _UNREAD_CGROUP_WEIGHT = -2.5, -1.0
"""Log-odds of software above a block device: if the load accesses the device directly, and if an unread control group
may hold it back there. sanpath's own choices. Without a group, only the block layer is left."""
_GAP_PRIOR = -1.3
"""Log-odds of something unread between the host's last clock and the array's if the links are counted: adapter,
driver, interrupts and TCP are there, besides the array's front end, and hardly any source reads them."""
_TCP_GAP_PRIOR = -0.9
"""The same over Ethernet, where lost segments and the protocol's threads are possible too."""
_TCP_WINDOW_PRIOR = 0.0
"""The same if a TCP window may also be full: no source reads it, and it is as likely as a wait before the array's
clock."""
_ESXI_TCP_PRIOR = 0.0
"""The same over Ethernet from an ESXi host. No source reports its connections, neither lost segments nor windows, and
it delays acknowledgements unless that is switched off (VMware KB 1002598)."""
_MIN_WINDOW_BYTES = 65_535
"""The receive window that a TCP header can announce without scaling (RFC 9293, 3.1; RFC 7323, 2.2). No current stack
offers less for long."""
_COVERED_GAP_PRIOR = -1.8
"""Log-odds of something unread in a gap that other claims mostly cover: either TCP's own clock shows its time, and
only adapter, driver and interrupts are left; or the host is not read, and its queues are a claim of their own."""
_FEW_IOS_RATIO = 0.1
"""Share of the busiest device's I/Os up to which another device does not count: sanpath's own choice."""
_NEARLY_ALL_RATIO = 0.9
"""Share of one connection in the time that segments of several connections queue, from which it is nearly all of it:
sanpath's own choice."""
_MAX_NAME_LENGTH = 16
"""Longest device name that fits into a sentence, such as PhysicalDisk2; identifiers are longer."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the part above the first block device, and one for each gap between two clocks."""
    yield from _above_the_device(table)
    gaps = table.gaps
    # Time that the array measures itself may grow with the wait in a gap, but a gap alone does not explain it. I/Os
    # that TCP holds wait in the network: nothing else makes them wait there.
    elsewhere = (gaps - table.in_tcp) | table.indices("array_service")
    evidence = [*_slow_transfer_evidence(table), *_tail_evidence(table)]
    window_bytes = _possible_window_bytes(table)
    if window_bytes:
        words = f"up to {window_bytes / 1e3:,.0f} kB are unacknowledged at once, which a TCP window may limit"
        evidence.append(Evidence(words, 0.0))
    between = below_last_clock(table)
    for index in sorted(gaps):
        gap = frozenset({index})
        prior, others = _prior(table, index, window_bytes), elsewhere - gap
        place = _place(table, index)
        of_gap = [*evidence, *(idle_alone_evidence(table, between) if index in between else ())]
        if table.arrays and _counts_all_links(table):
            # Array and links may take longer for one direction. If they were not read, they are among the unseen
            # parts.
            of_gap += one_direction_evidence(table, gap, of_adapter=True)
        yield Claim("unseen", None, gap, of_gap, prior=prior, verdict="cannot_tell", may_explain=others, place=place)


def _counts_all_links(table: PlaceTable) -> bool:
    """Whether every initiator of the load has a known path, and every link on these paths is counted."""
    return (
        set(table.initiators) <= {path.hba for path in table.paths}
        and not table.uncounted
        and bool(path_links(table))
    )


def _place(table: PlaceTable, index: int) -> str:
    """A gap in words, by the names of the elements above and below it."""
    queue = _queue_above(table, index)
    machines = table.machines if queue is None else table.facts.topology.related(queue.entity, "attached_to")[:1]
    above = _name(table, machines, "host") if machines else "the load"
    below = _name(table, table.arrays, "array")
    if index in table.in_tcp:
        slow = _queueing_connection(table)
        return f"the network between {above} and {below}" if slow is None else f"the network of {slow}"
    name = "" if queue is None else _device_place(table, queue)
    return {
        "fabric": f"something between {above} and {below}",
        "before_array_clock": f"something before the clock of {below}",
    }.get(table.segments[index].kind, name or f"something below {above}")


def _queueing_connection(table: PlaceTable) -> str | None:
    """The name of one of several connections, if nearly all queueing of segments is on its way. None: there is no
    such connection, or round trips were not read."""
    rows = () if table.tcp is None else table.tcp.rows
    queued = {
        str(row["entity"]): max(0.0, number(row, "round_trip_seconds") - number(row, "round_trip_seconds_min"))
        for row in rows
    }
    most = max(queued, key=lambda entity: queued[entity], default="")
    if len(queued) < 2 or queued[most] < _NEARLY_ALL_RATIO * sum(queued.values()) or not queued[most]:
        return None
    return table.facts.topology.entities[most].label.replace("--", " - ")


def _queue_above(table: PlaceTable, index: int) -> HostQueue | None:
    """The queue above the last block device with a clock above a gap, in the load's machine or in its hypervisor.
    None: no device is read."""
    queues = [segment.queue for segment in table.segments[:index] if segment.kind == "host_queue"]
    return queues[-1] if queues else None


def _device_place(table: PlaceTable, queue: HostQueue) -> str:
    """A device, or several that carry the load together, and what is below them. "": the name is long.

    If some of its parts are far slower than the others, those are named: I/Os wait at them.
    """
    slow = _slow_parts(table, queue.entity)
    if not slow and queue.devices > 1 and (shared := _shared_by(table, queue)):
        return shared
    devices = slow or _devices_with_ios(table, queue)
    names = [_short_name(table, device) for device in devices]
    if not names[0]:
        return ""
    if len(names) == 1:
        return f"{names[0]} or anything behind it"
    rest = names[1] if len(names) == 2 and names[1] else counted(len(names) - 1, "other device")
    return f"{names[0]}, {rest} or anything behind them"


def _devices_with_ios(table: PlaceTable, queue: HostQueue) -> list[str]:
    """The device of a queue, and its parallel devices that hold more than a few of the load's I/Os."""
    rows = parallel_devices(table.facts.topology, table.load, table.facts.tables["plane"], queue.below.plane)
    in_flight = {str(row["entity"]): number(row, "in_flight_measured") for row in rows} if queue.devices > 1 else {}
    least = _FEW_IOS_RATIO * max(in_flight.values(), default=0.0)
    return [
        queue.entity,
        *sorted(device for device in in_flight if in_flight[device] >= least and device != queue.entity),
    ]


def _shared_by(table: PlaceTable, queue: HostQueue) -> str:
    """The element that parallel devices of the load share, if it limits them. "": it does not."""
    rows = parallel_devices(table.facts.topology, table.load, table.facts.tables["plane"], queue.below.plane)
    devices = {str(row["entity"]) for row in rows}
    name = _short_name(table, queue.entity)
    if not name or not share_a_limit(table.facts, table.load, devices):
        return ""
    return f"what {name} and {counted(len(devices) - 1, 'other device')} share"


def _slow_parts(table: PlaceTable, device: str) -> list[str]:
    """The parts of a device, down to the lowest, that take far longer than the others at their load."""
    parts, level = dict[str, float](), [device]
    seen = {device}
    while level:
        below = dict.fromkeys(part for each in level for part in table.facts.topology.members(each, "lun"))
        level = [part for part in below if part not in seen]
        seen.update(level)
        parts |= times_of_peers(table, level)
    return sorted((part for part in parts if parts[part] >= SLOW_RATIO), key=lambda part: -parts[part])


def _short_name(table: PlaceTable, device: str) -> str:
    """The name of a block device, with its machine if the load runs on several. "": the name is long."""
    name = device.partition(":")[2].rpartition("/")[2]
    owners = table.facts.topology.related(device, "attached_to") if len(set(table.machines)) > 1 else []
    whose = f"{table.facts.topology.entities[owners[0]].label} " if owners else ""
    return f"{whose}{name}" if len(name) <= _MAX_NAME_LENGTH else ""


def _name(table: PlaceTable, entities: Iterable[str], kind: str) -> str:
    """The name of the only one of these entities, else their kind."""
    different = list(dict.fromkeys(entities))
    if len(different) == 1:
        return table.facts.topology.entities[different[0]].label
    return f"the {kind}s" if different else f"the {kind}"


def _above_the_device(table: PlaceTable) -> Iterator[Claim]:
    """A file system, a volume manager or a control group's limit (Linux: io.max) holds I/Os above a device: above the
    first one that is read, between one and its parts, and above one with free slots."""
    for index, segment in enumerate(table.segments):
        queue = segment.queue
        if queue is None or (
            index and not (works_on_ios(table.facts, queue) or waits_with_free_slots(table, segment))
        ):
            continue
        machine = _machine(table, queue)
        below = f"the parts of {segment.entity}" if queue.above_parts else f"its block device {segment.entity}"
        because = (f"{table.wait_words({index})} pass above {below}",)
        target = "parts themselves" if queue.above_parts else "block device itself"
        overturn_if = (f"the same wait with the load on the {target}, outside of any control group",)
        layer = "guest" if machine is not None and machine.startswith("vm:") else "host"
        # Between a device and its parts I/Os wait in the device.
        where = segment.entity if queue.above_parts else machine
        conclude = conclusion_of(table, layer, because, overturn_if, wait_at=where)
        evidence = [] if index else _access(table, machine, segment.entity)
        # Encryption, thin volumes, snapshots and caches are between a device and its parts.
        prior = 0.0 if queue.above_parts else _UNREAD_PRIOR
        if machine is None:
            # The load's machine has no name, so there is no entity to name.
            name = _short_name(table, str(segment.entity)) or "the block device"
            place = f"something between {name} and its parts" if queue.above_parts else f"something above {name}"
            yield Claim(
                "io_stack", None, frozenset({index}), evidence, prior=prior, verdict="cannot_tell", place=place
            )
        else:
            yield Claim("io_stack", machine, frozenset({index}), evidence, conclude, prior)


def _machine(table: PlaceTable, queue: HostQueue) -> str | None:
    """The machine in which I/Os wait above a device: the hypervisor's host, or the load's. None: not known."""
    owners = table.facts.topology.related(queue.entity, "attached_to", "host")
    in_hypervisor = table.in_guest and queue.layer == "host" and owners
    return owners[0] if in_hypervisor else next(iter(table.machines), None)


def _access(table: PlaceTable, machine: str | None, device: str | None) -> list[Evidence]:
    """Evidence from how the load reaches the first block device that is read."""
    row = table.facts.row_of(table.load)
    if row["engine_serialises"]:
        return [Evidence("its engine serves one I/O at a time", _ENGINE_WEIGHT)]
    if row["block_devices"] and row["direct"] is not False and device in _addressed(table, machine):
        groups = table.facts.topology.related(machine, "attached_to", "cgroup") if machine is not None else []
        words = f"the load accesses {device} directly, without a file system"
        return [Evidence(words, _DIRECT_ACCESS_WEIGHT if groups else _UNREAD_CGROUP_WEIGHT)]
    return []


def _addressed(table: PlaceTable, machine: str | None) -> set[str]:
    """The block devices of its own machine that the load names as targets, if no software builds them from others.
    fio also lists the parts of such a device."""
    topology = table.facts.topology
    named = {device for job in table.load.roots for device in topology.related(job, "targets", "lun")}
    if machine is not None:
        named.intersection_update(topology.related(machine, "attached_to"))
    return {
        device
        for device in named
        if named.isdisjoint(topology.uppers(device, "lun"))
        and topology.entities[device].attributes.get("kind") not in WITHOUT_QUEUE
    }


def _prior(table: PlaceTable, index: int, window_bytes: float) -> float:
    """Log-odds of something unread in a gap. `window_bytes`: what may fill a TCP window, 0: nothing."""
    if table.in_tcp:
        # Loss and windows are claims of their own, and time outside TCP is not in the fabric.
        unseen_in_tcp = _UNREAD_PRIOR if table.links else UNREAD
        return unseen_in_tcp if index in table.in_tcp else _COVERED_GAP_PRIOR
    if window_bytes:
        return _TCP_WINDOW_PRIOR
    if not table.on_path:  # No link is known to carry the load: the fabric is a likely place, if there is one.
        return _UNREAD_PRIOR if drives_of_load(table) else UNREAD
    if table.indices("below") and host_is_unread(table) and slots_are_unread(table):
        return _COVERED_GAP_PRIOR
    if not table.has_ethernet:
        return _GAP_PRIOR
    return _ESXI_TCP_PRIOR if _is_from_esxi(table) else _TCP_GAP_PRIOR


def _is_from_esxi(table: PlaceTable) -> bool:
    """Whether the load leaves ESXi hosts only."""
    topology = table.facts.topology
    hosts = [host for port in table.initiators for host in topology.related(port, "attached_to", "host")]
    return bool(hosts) and all(platform(topology, host) == "esxi" for host in hosts)


def _possible_window_bytes(table: PlaceTable) -> float:
    """The most bytes that are unacknowledged at once, if an unread TCP window may limit them: throughput times the
    part of the gaps that need not be a wait. 0: any window is larger, or the array's time was not read, so that no
    gap shows the path.

    A window holds bytes. If smaller blocks reach the same IOPS, it is no larger than their unacknowledged bytes.
    """
    if not table.has_ethernet or (table.tcp is not None and reports_windows(table.tcp)):
        return 0.0
    gaps = [table.segments[index] for index in table.indices("fabric", "before_array_clock")]
    longest_trip_seconds = sum(max(0.0, segment.seconds[1] - segment.wait[0]) for segment in gaps)
    most = fewest_bytes_of_same_ops(table.facts.loads, table.load) * longest_trip_seconds
    return most if most >= _MIN_WINDOW_BYTES else 0.0


def _tail_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of I/Os that were lost or stalled: in a full queue, all I/Os wait."""
    weight, words = tail_weight(table.load)
    if weight:
        yield Evidence(words, weight)


def _slow_transfer_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of a transfer that takes far longer than the wire needs: something makes it wait."""
    wire = wire_seconds(table.facts.tables["link"], table.load)
    if table.array is None or table.array["san_seconds"] is None or not wire:
        return
    transfer_seconds = number(table.array, "san_seconds")
    if transfer_seconds > SLOW_TRANSFER_RATIO * wire:
        words = f"the array takes {duration(transfer_seconds)} to transfer what the wire carries in {duration(wire)}"
        yield Evidence(words, 0.0)

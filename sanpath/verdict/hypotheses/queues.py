"""A queue of guest or host lets too few I/Os through.

Nothing below it waits, or it is below the last clock that was read in the host: a LUN's queue, and an initiator's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf, log
from statistics import fmean

from sanpath.facts.facts import Facts
from sanpath.facts.host.planes import devices_of_load
from sanpath.facts.load.loads import AT_LEAST_AS_FAST, CLEARLY_MORE, LoadFacts
from sanpath.facts.storage.load_volumes import SHARED, busy_luns
from sanpath.facts.table import number
from sanpath.units import count, duration, outstanding, percent
from sanpath.verdict.evidence.likelihoods import (
    UNEXPLAINED,
    at_limit,
    fewer_slots,
    free_slots,
    full_queue,
)
from sanpath.verdict.hypotheses.claim import (
    UNREAD,
    Claim,
    Conclusion,
    Evidence,
    StatedFields,
    conclusion_of,
    share_gone,
    taken_from_others,
)
from sanpath.verdict.places.host_queues import DEPTH_ERROR, WITHOUT_QUEUE, HostQueue, host_queues, in_slots_of
from sanpath.verdict.places.latency_segment import LatencySegment
from sanpath.verdict.places.segments import segments
from sanpath.verdict.places.submission import sleeps_to_submit, threads_of
from sanpath.verdict.places.table import PlaceTable

_LIMITS_HELD_OTHERS, _LIMITS_HELD_MORE = -2.0, -6.0
"""Log-odds of a queue that limits, if it admitted another number of I/Os in another step, or held clearly more there:
then it has free slots, unless its depth was changed meanwhile."""
_FULL_HELD_FEWER, _FULL_HELD_MORE = -1.5, -3.2
"""Log-odds of a queue that is full, whatever limits, if I/Os waited above fewer in another step, or if it held more
there: drivers change the depth where the target reports a full queue (SAM-5, TASK SET FULL). sanpath's own
choices."""
_MOSTLY_BUSY, _ALWAYS_BUSY = 0.5, 0.98
"""Share of the time that an array is busy from which more slots above it bring clearly less, and up to which they
bring anything: sanpath's own choices."""
_NEVER_SENT = -5.0
"""Log-odds of a full queue where the engine does not send the I/Os that seem to wait above it: sanpath's own choice,
1 to 148."""
_TOO_MANY_FOR_THREADS = -1.0
"""Log-odds of a full queue of unknown depth where more I/Os wait above it than threads can wait with for its slots:
sanpath's own choice, 1 to 2.7, because drivers may hold I/Os back where the device's clock does not see it."""
_CLEARLY_MORE = 2.0
"""I/Os for each thread from which they are more than one each: sanpath's own choice."""
_SOFTWARE = 0.25
"""Most of its time that an I/O passes in the host's software above a queue, without a wait for a slot."""
_DEPTH_UNKNOWN = -0.3
"""Log-odds of a queue whose depth was not read, against one whose slots were counted: sanpath's own choice, 0.74 to
1."""
_ABOVE_ALL_QUEUES = "windows_disk"
"""The plane of PerfMon's PhysicalDisk and LogicalDisk: the partition manager, above MPIO and StorPort."""
_OVERTURN = ("a deeper queue that does not raise throughput",)
_ONE_OF_SEVERAL = 4.0
"""The most that full slots of one device say of I/Os that wait above several: sanpath's own choice, 55 to 1."""
_SMALLER = -3.0
"""Log-odds that something smaller than the reported depth limits the I/Os, such as a session's command window:
sanpath's own choice, 1 to 20."""
_ADAPTER = -2.0
"""Log-odds of an initiator's queue: by their drivers, adapters admit a thousand I/Os and more, LUNs some dozens.
sanpath's own choice, 1 to 7."""
_MOSTLY_FREE = 0.5
"""Share of its slots in use up to which a queue has enough for more I/Os: sanpath's own choice."""
_BELOW_ERROR = 0.1
"""Error of the I/Os below a queue: the array's clock times them, not the host's."""
_SETTING = -4.5
"""Least log-odds by a depth that was reported in another step: it may have been changed since."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each queue above the storage in which I/Os wait."""
    for index, segment in enumerate(table.segments):
        # An I/O that a thread cannot submit is outstanding nowhere: its wait is in no latency.
        hidden = _keeps_from_submitting(table, segment)
        if segment.queue is None or not (segment.queue.holds_back or hidden):
            continue
        if not _has_slots_above(table, segment.queue):
            continue
        admitted = in_slots_of(table.facts, table.load, segment.queue)
        evidence = (
            *_evidence(table, segment, segment.queue, admitted),
            *_waiting_below(table, segment.slots or admitted),
            *(taken_from_others(table) if segment.queue.others_share > SHARED else ()),
        )
        kind, conclude = str(segment.entity).partition(":")[0], partial(_conclude, table, segment.queue)
        share = segment.queue.others_share
        yield Claim(kind, segment.entity, frozenset({index}), evidence, conclude, hidden=hidden, others_share=share)


def _waiting_below(table: PlaceTable, slots: float) -> Iterator[Evidence]:
    """Evidence against a full queue of the I/Os that wait in the array, which times them.

    They wait only while what serves them is busy. Of those in `slots`, all but the served ones may wait. Those that
    do, over those that may, are the least share of the time in which it is busy: more slots bring only the rest.
    """
    waiting, served = table.in_flight_inside("array_queue"), table.in_flight_inside("array_service")
    if table.others_share > UNEXPLAINED or slots < served + 1:
        return
    busy = waiting / (slots - served)
    if busy > _MOSTLY_BUSY:
        words = f"{waiting:.1f} I/Os wait in the array: it is busy {percent(min(1.0, busy))} of the time"
        yield Evidence(words, max(_SMALLER, log((1 - min(_ALWAYS_BUSY, busy)) / (1 - _MOSTLY_BUSY))))


def _has_slots_above(table: PlaceTable, queue: HostQueue) -> bool:
    """Whether I/Os can wait for a slot of a device above its clock: md and logical volumes pass I/Os on to the queues
    of their parts, and the clock of Windows' disks starts above all queues of the disk."""
    kind = table.facts.topology.entities[queue.entity].attributes.get("kind")
    return kind not in WITHOUT_QUEUE and queue.below.plane != _ABOVE_ALL_QUEUES


def _keeps_from_submitting(table: PlaceTable, segment: LatencySegment) -> bool:
    return segment.filled_ratio is not None and segment.filled_ratio == table.blocked_ratio > 0


def _evidence(table: PlaceTable, segment: LatencySegment, queue: HostQueue, below: float) -> Iterator[Evidence]:
    """Evidence of the queue's slots. `below`: I/Os of both directions below it."""
    if segment.filled_ratio is not None and segment.slots is not None:
        error = DEPTH_ERROR + queue.below.error_seconds / max(queue.below.seconds, 1e-9)
        in_use = count(min(1.0, segment.filled_ratio) * segment.slots)
        words = f"{in_use} of {count(segment.slots)} slots are in use"
        if _keeps_from_submitting(table, segment):
            words = f"it holds {in_use} I/Os, and threads wait {percent(table.blocked_ratio)} of the time to submit"
        # What waits above several devices need not wait for this one.
        most = inf if queue.in_slots is None else _ONE_OF_SEVERAL
        # It may admit fewer I/Os than its depth: so few as no queue does are less probable still.
        least = _SMALLER + min(0.0, full_queue(segment.filled_ratio * segment.slots))
        weight = min(most, max(least, at_limit(segment.filled_ratio, error)))
        yield Evidence(words, weight, about_slots=True)
    else:
        words = f"{below:.1f} I/Os are below it on average, and its queue depth is not measured"
        yield Evidence(words, _DEPTH_UNKNOWN + full_queue(below, table.facts.in_flight_in(table.load.step)))
        if segment is table.segments[0] and _too_many_for_threads(table, queue):
            words = f"{count(queue.waiting)} I/Os wait above it: a thread that waits for a slot submits no more"
            yield Evidence(words, _TOO_MANY_FOR_THREADS)
    yield from _of_other_steps(table, queue)
    if segment is table.segments[0] and table.facts.row_of(table.load)["engine_serialises"]:
        yield Evidence("the engine of the load sends its I/Os one after another", _NEVER_SENT)


def _too_many_for_threads(table: PlaceTable, queue: HostQueue) -> bool:
    """Whether clearly more I/Os wait above a block device of Linux than the load's threads can wait with for a free
    request of it."""
    threads = threads_of(table.facts, table.load)
    sleeping = queue.below.plane == "guest_block" and sleeps_to_submit(table.facts, table.load)
    return sleeping and 0 < _CLEARLY_MORE * threads < queue.waiting


def _of_other_steps(table: PlaceTable, queue: HostQueue) -> Iterator[Evidence]:
    """Evidence that a queue had free slots, because it held another number of I/Os in another step."""
    others = _in_other_steps(table, queue)
    if (held := _held_more(table, queue)) is not None:
        yield Evidence(f"it held {count(held)} I/Os in another step", _LIMITS_HELD_MORE)
    # Where others waited above it, or at the same throughput: what is below takes longer with more of them.
    elif any(
        _differ(queue, other_queue)
        and (
            _is_held_back(other_queue, other_load)
            or other_load.ops_per_second >= AT_LEAST_AS_FAST * table.load.ops_per_second
        )
        for other_queue, other_load in others
    ):
        yield Evidence("in another step it let more or fewer I/Os through", _LIMITS_HELD_OTHERS)


def fullness(table: PlaceTable, segment: LatencySegment) -> float:
    """Log-likelihood ratio that a queue of unknown depth is full, by how many I/Os it holds, whatever limits it or
    what is below. 0 for any other segment."""
    queue = segment.queue
    if queue is None or not queue.holds_back or segment.filled_ratio is not None:
        return 0.0
    in_slots, of_other_steps = in_slots_of(table.facts, table.load, queue), 0.0
    for other, load in _in_other_steps(table, queue):
        if _differ(queue, other) and other.held > queue.held:
            of_other_steps = min(of_other_steps, _FULL_HELD_MORE)
        elif _differ(queue, other) and _is_held_back(other, load):
            of_other_steps = min(of_other_steps, _FULL_HELD_FEWER)
    return full_queue(in_slots, table.facts.in_flight_in(table.load.step)) + of_other_steps


def _differ(queue: HostQueue, other: HostQueue) -> bool:
    """Whether a queue holds clearly another number of I/Os than in another step."""
    return abs(other.held - queue.held) > _held_error(queue) + _held_error(other)


def _in_other_steps(table: PlaceTable, queue: HostQueue) -> list[tuple[HostQueue, LoadFacts]]:
    """The same queue in other steps of the same I/O by as many threads, with the load of each.

    Each of a device's hardware queues has slots of its own, and more threads use more of them. Its depth may change.
    """
    threads = threads_of(table.facts, table.load)
    return [
        (other_queue, other_load)
        for other_load in table.same_io
        if threads_of(table.facts, other_load) == threads
        for other_queue in host_queues(table.facts, other_load)
        if (other_queue.entity, other_queue.below.plane) == (queue.entity, queue.below.plane)
        and (other_queue.in_slots is None) == (queue.in_slots is None)
        and (None in (other_queue.depth, queue.depth) or other_queue.depth == queue.depth)
    ]


def _held_more(table: PlaceTable, queue: HostQueue) -> float | None:
    """The most I/Os that a queue held in another step, if these are clearly more. None: they are not."""
    held = [(other.held - _held_error(other), other.held) for other, _ in _in_other_steps(table, queue)]
    least, likely = max(held, default=(0.0, 0.0))
    return likely if least > queue.held + _held_error(queue) else None


def _held_error(queue: HostQueue) -> float:
    """The most by which the I/Os that a queue holds differ from what is computed: by their windows, two standard
    errors, and by a coarse clock."""
    coarse = queue.below.error_seconds / max(queue.below.seconds, 1e-9)
    return queue.held * (2 * DEPTH_ERROR + min(1.0, coarse))


def _is_held_back(queue: HostQueue, load: LoadFacts) -> bool:
    """Whether more I/Os wait above a queue than its clocks' errors, and the host's software, account for."""
    is_seen = queue.wait_seconds > queue.error_seconds
    return is_seen and queue.waiting >= max(1.0, _SOFTWARE * load.in_flight_measured)


def _conclude(table: PlaceTable, queue: HostQueue, claims: Sequence[Claim]) -> Conclusion:
    load = table.load
    is_seen = table.array is not None and all(row["utilisation"] is not None for row in table.on_path)
    seen = "there is near its limit" if is_seen else "that was measured there is near its limit"
    admitted, offered = queue.admitted, load.in_flight_measured
    ratio = admitted / queue.below.seconds / load.ops_per_second if queue.below.seconds else None
    # Coarse clocks may show more I/Os than it has slots.
    fits = min(1.0, queue.depth / queue.held) if queue.depth and queue.held else 1.0
    of_others = ""
    if queue.in_slots is not None:
        # The other devices of the load have free slots, and do as much as before once this one has more.
        admitted, offered, ratio = queue.in_slots, queue.in_slots + queue.waiting, None
    elif queue.others_share > SHARED:
        of_others = f" beside {count(fits * queue.others_admitted)} of others"
    because = (
        f"the queue lets {count(fits * admitted)} I/Os through{of_others}, {count(offered)} are offered",
        f"below it an I/O takes {duration(queue.below.seconds)}, and nothing {seen}",
    )
    gone = share_gone(queue.below.seconds, load.latency_seconds)
    related = table.facts.topology.related
    owners = related(queue.entity, "attached_to")
    # Those of other hosts are limits of other parts of the load.
    together = tuple(device for device in queue.as_full if related(device, "attached_to") == owners)
    stated = StatedFields(explains=gone, coincident=together)
    conclude = conclusion_of(table, queue.layer, because, _OVERTURN, waits_inside=True, ceiling_ratio=ratio, **stated)
    return conclude(claims)


def of_unread_host(table: PlaceTable) -> Iterator[Claim]:
    """Claims for the queues of a host that no source reads below the load or the guest, and one for the initiator."""
    explains = below_last_clock(table)
    # What waits above an array is not in the latency that the array counts.
    if not explains or table.load.seen_at_array:
        return
    waiting = _waiting_below(table, table.in_flight_below(max(explains)))
    slots = (*_slot_evidence(table, max(explains)), *_remaining(table, explains), *waiting)
    if host_is_unread(table):
        yield from _queues_above(table, explains)
    ports = list(dict.fromkeys(path.hba for path in table.paths)) or table.initiators
    rows = [r for r in table.rows("initiator") if r["queue_filled_ratio"] is not None and r["entity"] in ports]
    # A network card has no queue of its own; software initiators queue in the block layer.
    attributes = {port: table.facts.topology.entities[port].attributes for port in ports}
    unread = [port for port in ports if attributes[port].get("technology") != "ethernet"]
    if rows:
        row = max(rows, key=lambda row: number(row, "queue_filled_ratio"))
        words = f"{count(number(row, 'in_flight'))} of {count(number(row, 'queue_depth'))} of its slots are in use"
        weight, entity = at_limit(number(row, "queue_filled_ratio"), DEPTH_ERROR), str(row["entity"])
        # I/Os that wait for a slot of the adapter wait in the kernel, above the device's clock.
        explains |= table.indices("host_queue")
        slots = ()
    elif unread:
        words, weight, entity = "how many I/Os the initiator lets through was not read", 0.0, unread[0]
        # They may wait for it above a device with free slots.
        explains |= {index for index, segment in enumerate(table.segments) if waits_with_free_slots(table, segment)}
    else:
        return
    yield _unread(table, "hba", entity, explains, (Evidence(words, weight), *slots), _ADAPTER)


def waits_with_free_slots(table: PlaceTable, segment: LatencySegment) -> bool:
    """Whether I/Os wait above a device although it has slots for more."""
    is_free = segment.filled_ratio is not None and segment.filled_ratio < _MOSTLY_FREE
    return is_free and segment.queue is not None and _is_held_back(segment.queue, table.load)


def below_last_clock(table: PlaceTable) -> frozenset[int]:
    """Indices of the segments below the host's last clock in which I/Os may wait for a slot of a queue above."""
    return table.indices("before_array_clock") or table.indices("fabric", "below") - table.in_tcp


def is_above_array_clock(table: PlaceTable, indices: frozenset[int]) -> bool:
    """Whether the array's own clock times what is below these segments."""
    return table.array is not None and bool(indices) and max(indices) + 1 < len(table.segments)


def _queues_above(table: PlaceTable, explains: frozenset[int]) -> Iterator[Claim]:
    """One claim for the LUN, and one for an unknown queue: that of a LUN that is not known, or of a hypervisor."""
    luns, depth = _luns(table)
    unread = Evidence("how long I/Os wait in the host was not read", 0.0)
    waiting = _waiting_below(table, table.in_flight_below(max(explains)))
    remaining = (*_remaining(table, explains), *waiting)
    if luns:
        evidence = (unread, *_slot_evidence(table, max(explains), len(luns), depth), *remaining)
        yield _unread(table, "lun", luns[0], explains, evidence, coincident=luns[1:])
    is_hypervisor = bool(luns) and depth is not None and table.in_guest
    if is_hypervisor or not luns:
        evidence = (unread, *_slot_evidence(table, max(explains)), *remaining)
        # Where the guest's depth is known, the hypervisor's queue mostly is the deeper one.
        prior = UNREAD if is_hypervisor else 0.0
        # The entity is not known, so none is accused.
        place = "a queue of the hypervisor" if is_hypervisor else "a queue of the host"
        yield Claim("unseen", None, explains, evidence, prior=prior, verdict="cannot_tell", place=place)


def _slot_evidence(table: PlaceTable, index: int, queues: int = 1, depth: float | None = None) -> Iterator[Evidence]:
    """Evidence of the number of I/Os that each of several parallel queues would let through.

    Without a clock below the queues, one of them has at most all that are in flight. `depth`: slots of each queue,
    None: unknown.
    """
    each = " each LUN" if queues > 1 else " it"
    if is_above_array_clock(table, frozenset({index})):
        slots = table.in_flight_below(index) / queues
        words = f"{slots:.1f} I/Os are below{each} on average"
        if depth:
            words += f", of {count(depth)} slots"
            yield Evidence(words, max(_SETTING, at_limit(slots / depth, _BELOW_ERROR)))
        else:
            yield Evidence(words, full_queue(slots, table.facts.in_flight_in(table.load.step) / queues))
    elif depth and (in_flight := table.facts.in_flight_in(table.load.step)) < depth:
        words = f"{count(in_flight)} I/Os are outstanding in all, and{each} has {count(depth)} slots"
        yield Evidence(words, min(0.0, max(_SETTING, at_limit(in_flight / depth, _BELOW_ERROR))))
    elif not depth and (in_flight := _least_in_flight(table) / queues) > 0:
        words = f"{count(in_flight)} outstanding I/Os are enough for this throughput, and most queues admit more"
        yield Evidence(words, fewer_slots(in_flight))


def _remaining(table: PlaceTable, explains: frozenset[int]) -> Iterator[Evidence]:
    """Evidence against a queue that is not read. That no time remains speaks for no place that limits."""
    if (found := with_free_slots(table, explains)) is not None and found.weight < 0:
        yield found


def with_free_slots(table: PlaceTable, explains: frozenset[int]) -> Evidence | None:
    """What a step says of a queue that is not read if its few I/Os all found a free slot.

    What passes between the clocks of host and array in that step is no wait for a slot. The weight is that for a
    queue, against anything else between the clocks. None: there is no such step.
    """
    facts, own = table.facts, table.facts.in_flight_in(table.load.step)
    fewest = min(table.same_io, key=lambda load: facts.in_flight_in(load.step), default=None)
    if fewest is None or not fewest.latency_seconds or not is_above_array_clock(table, explains):
        return None
    in_flight, slots = facts.in_flight_in(fewest.step), max(1.0, table.in_flight_below(max(explains)))
    if in_flight > min((1 + DEPTH_ERROR) * slots, own / CLEARLY_MORE):
        return None
    kinds = {table.segments[index].kind for index in explains}
    between = [segment for segment in segments(facts, fewest) if segment.kind in kinds]
    bounds = [sum(segment.seconds[end] for segment in between) / fewest.latency_seconds for end in (0, 1)]
    served_alone = 1 / facts.ops_per_second_in(table.load.step) / fewest.latency_seconds
    seconds = duration(sum(segment.middle for segment in between))
    words = f"with {outstanding(round(in_flight))}, {seconds} pass between the clocks"
    return Evidence(words, fmean(free_slots(min(1.0, max(0.0, share)), served_alone) for share in bounds))


def _least_in_flight(table: PlaceTable) -> float:
    """The fewest I/Os in flight with which the load reached this throughput: a queue that limits it has no more
    slots."""
    facts, ops = table.facts, table.load.ops_per_second
    as_fast = [other for other in table.same_io if other.ops_per_second >= AT_LEAST_AS_FAST * ops]
    return min(facts.in_flight_in(load.step) for load in (*as_fast, table.load))


def host_is_unread(table: PlaceTable) -> bool:
    """Whether a host below the load, or below its virtual machine, has no clock that was read.

    A load whose machine is not known runs on one that is not read."""
    topology = table.facts.topology
    host_side = [q for q in table.queues if q.layer != "guest" or topology.related(q.entity, "attached_to", "host")]
    return not (host_side if table.in_guest else table.queues)


def unread_machines(table: PlaceTable) -> list[str]:
    """The hosts of the load's virtual machines, or else the hosts that it runs on; a clock of theirs is missed."""
    related = table.facts.topology.related
    if table.in_guest:
        return list(dict.fromkeys(host for machine in table.machines for host in related(machine, "runs_on", "host")))
    return [machine for machine in table.machines if machine.startswith("host:")]


def _luns(table: PlaceTable) -> tuple[list[str], float | None]:
    """The LUNs of the load that no source reads, or the guest's devices that stand for them, and the slots of each.

    Empty: none is known, or nothing tells a guest's queue from its hypervisor's. None: the slots are unknown, or the
    devices are read, so that another queue is meant.
    """
    topology, load = table.facts.topology, table.load
    luns = sorted(entity for entity in devices_of_load(topology, load) if entity.startswith("lun:"))
    luns = luns or busy_luns(topology, load, table.facts.tables)
    read_entities = {row["entity"] for row in table.rows("plane", direction=load.direction)}
    unread = [lun for lun in luns if lun not in read_entities]
    if not unread:
        return luns, None
    depths = {_reported_slots(table.facts, lun) for lun in unread}
    depth = depths.pop() if len(depths) == 1 else None
    return ([] if depth is None and table.in_guest else unread), depth


def _reported_slots(facts: Facts, lun: str) -> float | None:
    """Slots of a LUN, or of all its paths together if these are fewer, as reported in another step. None: neither."""
    paths = [each.id for each in facts.topology.of_kind("lun") if lun in facts.topology.related(each.id, "member_of")]
    own, *parts = (_slots_of(facts, device) for device in (lun, *paths))
    known = [part for part in parts if part is not None]
    together = sum(known) if len(known) == len(parts) else None
    return min(filter(None, (own, together)), default=None)


def _slots_of(facts: Facts, device: str) -> float | None:
    rows = [row for row in facts.tables["plane"].select(entity=device) if row["queue_depth"] is not None]
    reported = rows[0]["queue_depth"] if rows else facts.topology.entities[device].attributes.get("queue_depth")
    return float(reported) if isinstance(reported, int | float) else None


def _unread(
    table: PlaceTable,
    kind: str,
    entity: str,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    prior: float = 0.0,
    coincident: Sequence[str] = (),
) -> Claim:
    words = max(evidence, key=lambda reading: reading.weight).words
    because = (words, f"{table.wait_words(explains)} pass below the host's last clock that was read")
    conclude = conclusion_of(table, "host", because, _OVERTURN, waits_inside=True, coincident=tuple(coincident))
    return Claim(kind, entity, explains, evidence, conclude, prior)

"""A queue of the host or of its initiator admits too few I/Os, and no source reads that queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import exp
from statistics import fmean

from sanpath.facts.devices.planes import devices_of_load, is_past_block_devices
from sanpath.facts.facts import Facts
from sanpath.facts.host.tested_machines import platform_of_device
from sanpath.facts.load.loads import AT_LEAST_AS_FAST, CLEARLY_MORE, LoadFacts
from sanpath.facts.storage.load_volumes import busy_luns
from sanpath.facts.table import number
from sanpath.topology.paths import machines_of
from sanpath.units import count, duration, outstanding
from sanpath.verdict.evidence.likelihoods import (
    CLEARLY_WAITING,
    UNEXPLAINED,
    fewer_slots_weight,
    free_slots_weight,
    full_queue_weight,
    limit_weight,
)
from sanpath.verdict.hypotheses.claim import UNREAD, Claim, Evidence, conclusion_of
from sanpath.verdict.hypotheses.queues import OVERTURN, is_held_back, other_steps_evidence, waiting_below
from sanpath.verdict.places.host_queues import DEPTH_ERROR, HostQueue, devices_with_unread_slots, in_slots_of
from sanpath.verdict.places.latency_segment import LatencySegment
from sanpath.verdict.places.segments import segments_alone
from sanpath.verdict.places.table import PlaceTable

_ADAPTER_PRIOR = -2.0
"""Log-odds of an initiator's queue that does not count the I/Os that wait for it: drivers admit a thousand I/Os or
more per adapter, and some dozens per LUN. sanpath's own choice, 1 to 7."""
_FULL_ABOVE_PRIOR = -1.0
"""Log-odds that a wait between the clocks of host and array is in an unread queue that is full because of what is
below it, before the I/Os below are counted: sanpath's own choice, 1 to 3."""
_MOSTLY_FREE_RATIO = 0.5
"""Share of slots in use below which a queue has room for more I/Os: sanpath's own choice."""
_BELOW_ERROR = 0.1
"""Error of the number of I/Os below a queue: the array's clock times them, not the host's."""
_MIN_SETTING_WEIGHT = -4.5
"""Smallest log-odds from a depth that was reported in another step: it may have been changed since."""
_ONE_DIRECTION_WEIGHT = -2.5
"""Smallest log-odds of a place of both directions if I/Os of one of them wait far longer: sanpath's own choice, 1 to
12, because a cache may answer reads above the queue."""
_SCHEDULED_WEIGHT = -1.0
"""The same above a LUN, and not inside the array by its own clock, if a scheduler may be there: mq-deadline, which
Linux uses for most SCSI disks, sends a few reads for each write (Documentation/block/deadline-iosched.rst), and I/Os
beyond their direction's part wait alone. sanpath's own choice, 1 to 2.7."""
_NO_SCHEDULER = "none"
_HARDLY_ANY_RATIO = 0.05
"""Share of the load's I/Os below which those in a LUN are not the load's: sanpath's own choice."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """Claims for unread queues of the host below the load or the guest, and one for the initiator."""
    explains = below_last_clock(table)
    # If the array counts the load, its latency does not include waits above the array.
    if not explains or table.load.seen_at_array or _is_past_queues(table):
        return
    waiting = waiting_below(table, _held(table, max(explains)))
    other_steps = _compared_evidence(table, explains, of_adapter=True)
    slots = (*_slot_evidence(table, max(explains)), *other_steps, *waiting)
    if slots_are_unread(table):
        yield from _queue_claims(table, explains)
    ports = list(dict.fromkeys(path.hba for path in table.paths)) or table.initiators
    rows = [r for r in table.rows("initiator") if r["queue_filled_ratio"] is not None and r["entity"] in ports]
    # A network card has no queue of its own; software initiators queue in the block layer.
    attributes = {port: table.facts.topology.entities[port].attributes for port in ports}
    unread = [port for port in ports if attributes[port].get("technology") != "ethernet"]
    prior = _ADAPTER_PRIOR
    if rows:
        row = max(rows, key=lambda row: number(row, "queue_filled_ratio"))
        words = f"{count(number(row, 'in_flight'))} of {count(number(row, 'queue_depth'))} of its slots are in use"
        weight, entity = limit_weight(number(row, "queue_filled_ratio"), DEPTH_ERROR), str(row["entity"])
        # I/Os that wait for a slot of the adapter wait in the kernel, above the device's clock.
        explains |= table.indices("host_queue")
        slots = ()
        # Waiting I/Os that the adapters count themselves are not in an unread queue.
        prior *= 1 - min(1.0, sum(number(row, "queued") for row in rows) / max(1.0, _waiting(table, explains)))
    elif unread:
        words, weight, entity = "how many I/Os the initiator lets through was not read", 0.0, unread[0]
        below = explains
        # I/Os may wait for the initiator above a device with free slots: then those in the device are its I/Os.
        for index, segment in enumerate(table.segments):
            if segment.queue is not None and waits_with_free_slots(table, segment):
                explains |= {index}
                in_device = _in_device(table, segment.queue)
                # Evidence from fewer places supports the claim less.
                least = min((in_device, *_slot_evidence(table, max(below))), key=lambda evidence: evidence.weight)
                slots = (least, *other_steps_evidence(table, segment.queue), *waiting)
    else:
        return
    yield _unread_claim(table, "hba", entity, explains, (Evidence(words, weight), *slots), prior)


def _waiting(table: PlaceTable, indices: frozenset[int]) -> float:
    """Mean number of I/Os of both directions that wait in some segments."""
    kinds = {table.segments[index].kind for index in indices}
    return sum(
        each.load.ops_per_second * sum(segment.wait[1] for segment in each.segments if segment.kind in kinds)
        for each in (table, *table.opposite_direction)
    )


def full_above_array(table: PlaceTable) -> tuple[frozenset[int], float, float]:
    """Indices of the segments in which I/Os may wait for a slot of an unread queue above the array's clock; the
    probability that this queue is full, whatever limits below it; and the log-likelihood ratio of the I/Os below it.
    No indices: there is no such queue.

    I/Os that wait for nothing there show no full queue, however many are below it.
    """
    explains = below_last_clock(table)
    below = table.seconds(range(max(explains, default=0) + 1, len(table.segments)))
    if table.load.seen_at_array or _is_past_queues(table) or not is_above_array_clock(table, explains) or not below:
        return frozenset(), 0.0, 0.0
    last, wait = max(explains), sum(table.segments[index].wait[1] for index in explains)
    of_adapter = (*_slot_evidence(table, last), *_compared_evidence(table, explains, of_adapter=True))
    found = [(_ADAPTER_PRIOR, sum(evidence.weight for evidence in of_adapter))]
    if slots_are_unread(table):
        luns, depth = _luns(table)
        of_luns = (*_slot_evidence(table, last, max(1, len(luns)), depth), *_compared_evidence(table, explains))
        found.append((0.0, sum(evidence.weight for evidence in of_luns)))
    prior, weight = max(found, key=sum)
    waits = min(1.0, wait / below / CLEARLY_WAITING)
    return explains, waits / (1 + exp(-_FULL_ABOVE_PRIOR - prior - weight)), waits * weight


def _is_past_queues(table: PlaceTable) -> bool:
    """Whether the load speaks to its storage over the network itself: it writes to a socket, where a block device or
    an adapter for storage would have slots."""
    return is_past_block_devices(table.facts.topology, table.load)


def _in_device(table: PlaceTable, queue: HostQueue) -> Evidence:
    """Evidence about an initiator for which I/Os wait above a device: what it lets through is in the device."""
    admitted = in_slots_of(table.facts, table.load, queue)
    words = f"{admitted:.1f} I/Os are in {queue.entity} on average, which are all that it lets through there"
    return Evidence(words, full_queue_weight(admitted, table.facts.in_flight_in(table.load.step)))


def waits_with_free_slots(table: PlaceTable, segment: LatencySegment) -> bool:
    """Whether I/Os wait above a device although it has slots for more."""
    is_free = segment.filled_ratio is not None and segment.filled_ratio < _MOSTLY_FREE_RATIO
    return is_free and segment.queue is not None and is_held_back(segment.queue, table.load)


def below_last_clock(table: PlaceTable) -> frozenset[int]:
    """Indices of the segments below the host's last clock in which I/Os may wait for a slot of a host queue."""
    return table.indices("before_array_clock") or table.indices("fabric", "below") - table.in_tcp


def is_above_array_clock(table: PlaceTable, indices: frozenset[int]) -> bool:
    """Whether the array's own clock times the rest of the path below these segments."""
    return table.array is not None and bool(indices) and max(indices) + 1 < len(table.segments)


def _queue_claims(table: PlaceTable, explains: frozenset[int]) -> Iterator[Claim]:
    """One claim for the LUN, and one for an unknown queue: of an unknown LUN, or of a hypervisor."""
    luns, depth = _luns(table)
    what = "how long I/Os wait in the host" if host_is_unread(table) else "how many slots the device has"
    unread = Evidence(f"{what} was not read", 0.0)
    waiting = waiting_below(table, _held(table, max(explains)))
    remaining = (*_compared_evidence(table, explains), *waiting)
    if luns:
        evidence = (unread, *_slot_evidence(table, max(explains), len(luns), depth), *remaining)
        yield _unread_claim(table, "lun", luns[0], explains, evidence, coincident=luns[1:])
    is_hypervisor = bool(luns) and depth is not None and table.in_guest
    if is_hypervisor or not luns:
        evidence = (unread, *_slot_evidence(table, max(explains)), *remaining)
        # If the guest's depth is known, the hypervisor's queue is usually deeper.
        prior = UNREAD if is_hypervisor else 0.0
        # The entity is not known, so none is named.
        place = "a queue of the hypervisor" if is_hypervisor else "a queue of the host"
        yield Claim("unseen", None, explains, evidence, prior=prior, verdict="cannot_tell", place=place)


def _slot_evidence(table: PlaceTable, index: int, queues: int = 1, depth: float | None = None) -> Iterator[Evidence]:
    """Evidence from the number of I/Os that each of several parallel queues would admit.

    Without a clock below the queues, a single queue holds at most all I/Os in flight. `depth`: slots of each queue,
    None: unknown.
    """
    each = " each LUN" if queues > 1 else " it"
    if is_above_array_clock(table, frozenset({index})):
        slots = _held(table, index) / queues
        words = f"{slots:.1f} I/Os are below{each} on average"
        if depth:
            words += f", of {count(depth)} slots"
            yield Evidence(words, max(_MIN_SETTING_WEIGHT, limit_weight(slots / depth, _BELOW_ERROR)))
        else:
            yield Evidence(words, full_queue_weight(slots, _offered(table, index) / queues))
    elif depth and (in_flight := table.facts.in_flight_in(table.load.step)) < depth:
        words = f"{count(in_flight)} I/Os are outstanding in all, and{each} has {count(depth)} slots"
        yield Evidence(words, min(0.0, max(_MIN_SETTING_WEIGHT, limit_weight(in_flight / depth, _BELOW_ERROR))))
    elif not depth and (in_flight := _min_in_flight(table) / queues) > 0:
        words = f"{count(in_flight)} outstanding I/Os are enough for this throughput, and most queues admit more"
        yield Evidence(words, fewer_slots_weight(in_flight))


def _offered(table: PlaceTable, index: int) -> float:
    """I/Os that may reach a queue at a segment: those in flight, or fewer if a queue above holds others back. Their
    number is then a usual depth because that queue has it."""
    above = [segment for segment in table.segments[:index] if segment.slots and segment.queue is not None]
    full = [each.slots or 0.0 for each in above if each.queue is not None and each.queue.holds_back]
    return min([table.facts.in_flight_in(table.load.step), *full])


def _held(table: PlaceTable, index: int) -> float:
    """Mean number of I/Os of both directions that hold a slot of an unread queue above a segment, or in it.

    An I/O keeps its slot for the time between the clocks as well that passes if a slot is free.
    """
    unqueued = sum(
        each.load.ops_per_second * _unqueued_seconds(each, frozenset({index}))
        for each in (table, *table.opposite_direction)
        if index < len(each.segments)
    )
    return table.in_flight_below(index) + unqueued


def _unqueued_seconds(table: PlaceTable, explains: frozenset[int]) -> float:
    """Time between the clocks in a step in which each of a few I/Os found a free slot; 0: there is no such step."""
    fewest = _fewest(table, table.same_io, table.in_flight_below(max(explains)))
    if fewest is None or not is_above_array_clock(table, explains):
        return 0.0
    kinds = {table.segments[index].kind for index in explains}
    between = [segment for segment in segments_alone(table.facts, fewest) if segment.kind in kinds]
    return min(table.seconds(explains), sum(segment.middle for segment in between))


def _fewest(table: PlaceTable, same_io: Iterable[LoadFacts], slots: float) -> LoadFacts | None:
    """The step with the fewest I/Os in flight, if these are clearly fewer than now, and no more than the slots."""
    facts = table.facts
    fewest = min(same_io, key=lambda load: facts.in_flight_in(load.step), default=None)
    if fewest is None or not fewest.latency_seconds:
        return None
    most = min((1 + DEPTH_ERROR) * max(1.0, slots), facts.in_flight_in(table.load.step) / CLEARLY_MORE)
    return fewest if facts.in_flight_in(fewest.step) <= most else None


def _compared_evidence(
    table: PlaceTable, explains: frozenset[int], *, of_adapter: bool = False
) -> Iterator[Evidence]:
    """Evidence about an unread queue from other steps and from the other direction. A step in which no time remains
    between the clocks supports no limiting place, so it adds no weight."""
    if (found := free_slots_evidence(table, explains, of_adapter=of_adapter)) is not None and found.weight < 0:
        yield found
    yield from one_direction_evidence(table, explains, of_adapter=of_adapter)


def one_direction_evidence(
    table: PlaceTable, explains: frozenset[int], *, of_adapter: bool = False
) -> Iterator[Evidence]:
    """Evidence against a place that reads and writes share, such as a queue, from I/Os of the other direction that
    spend less time there: all wait equally long for a slot, an adapter or a driver, except where a scheduler
    divides slots. None if the clocks of the two directions differ."""
    is_timed = is_above_array_clock(table, explains)
    is_scheduled = is_timed and not of_adapter and _may_have_scheduler(table)
    least = _SCHEDULED_WEIGHT if is_scheduled else _ONE_DIRECTION_WEIGHT
    kinds = {table.segments[index].kind for index in explains}
    own_seconds, shares_queues = table.seconds(explains), _same_queues(table, of_adapter=of_adapter)
    for other in table.opposite_direction:
        clocks, other_clocks = ({each.segments[index].kind for index in each.gaps} for each in (table, other))
        other_seconds = other.seconds(other.indices(*kinds))
        excess = (own_seconds - other_seconds) / table.load.latency_seconds
        if clocks == other_clocks and excess > UNEXPLAINED and shares_queues(other.load):
            named, compared = f"{table.load.direction}s", f"{other.load.direction}s"
            words = f"{named} spend {duration(own_seconds)} there, and {compared} {duration(other_seconds)}"
            yield Evidence(words, max(least, -excess / UNEXPLAINED))


def _may_have_scheduler(table: PlaceTable) -> bool:
    """Whether a scheduler may order the I/Os of the load's LUNs or of their paths: one of Linux does, if it is not
    known to be none."""
    topology, luns = table.facts.topology, _luns(table)[0]
    devices = {*luns, *(path for lun in luns for path in topology.members(lun, "lun"))}
    schedulers = {topology.entities[device].attributes.get("scheduler") for device in devices} - {None}
    if schedulers:
        return schedulers != {_NO_SCHEDULER}
    return any(platform_of_device(topology, device) == "linux" for device in devices)


def _same_queues(table: PlaceTable, *, of_adapter: bool) -> Callable[[LoadFacts], bool]:
    """Whether a load of another step has its I/Os in the same unread queues, because each queue has slots of its own.
    `of_adapter`: the queue of an adapter, which all LUNs of a machine share."""
    facts, own = table.facts, table.load
    devices = _luns_of_load if host_is_unread(table) else devices_with_unread_slots
    kinds = (_machines,) if of_adapter else (_machines, devices)

    def same(other: LoadFacts) -> bool:
        return all(set(facts.cached(entities, other)) == set(facts.cached(entities, own)) for entities in kinds)

    return same


def _machines(facts: Facts, load: LoadFacts) -> list[str]:
    return [machine for root in load.roots for machine in machines_of(facts.topology, root)]


def free_slots_evidence(table: PlaceTable, explains: frozenset[int], *, of_adapter: bool = False) -> Evidence | None:
    """Evidence about an unread queue from a step in which each of a few I/Os found a free slot.

    In that step, the time between the clocks of host and array is not a wait for a slot. The weight compares a queue
    with any other limit between the clocks. None: there is no such step.
    """
    facts, same = table.facts, filter(_same_queues(table, of_adapter=of_adapter), table.same_io)
    fewest = _fewest(table, same, table.in_flight_below(max(explains)))
    if fewest is None or not is_above_array_clock(table, explains):
        return None
    kinds = {table.segments[index].kind for index in explains}
    between = [segment for segment in segments_alone(facts, fewest) if segment.kind in kinds]
    bounds = [sum(segment.seconds[end] for segment in between) / fewest.latency_seconds for end in (0, 1)]
    served_alone = 1 / facts.ops_per_second_in(table.load.step) / fewest.latency_seconds
    seconds = duration(sum(segment.middle for segment in between))
    words = f"with {outstanding(round(facts.in_flight_in(fewest.step)))}, {seconds} pass between the two measurements"
    return Evidence(words, fmean(free_slots_weight(min(1.0, max(0.0, share)), served_alone) for share in bounds))


def idle_alone_evidence(table: PlaceTable, explains: frozenset[int]) -> Iterator[Evidence]:
    """Evidence against a limit between the clocks that is no queue, from a step in which a few I/Os spend hardly any
    time there: whatever serves I/Os at a rate needs a time for each, even if it is alone (utilisation law)."""
    found = free_slots_evidence(table, explains)
    if found is not None and found.weight > 0:
        yield replace(found, weight=-found.weight)


def _min_in_flight(table: PlaceTable) -> float:
    """Smallest number of I/Os in flight that reached this throughput: a queue that limits it has at most that many
    slots."""
    facts, ops = table.facts, table.load.ops_per_second
    as_fast = [other for other in table.same_io if other.ops_per_second >= AT_LEAST_AS_FAST * ops]
    return min(facts.in_flight_in(load.step) for load in (*as_fast, table.load))


def host_is_unread(table: PlaceTable) -> bool:
    """Whether no clock was read of the host below the load, or below its virtual machine.

    A load whose machine is not known runs on an unread one."""
    topology = table.facts.topology
    host_side = [q for q in table.queues if q.layer != "guest" or topology.related(q.entity, "attached_to", "host")]
    return not (host_side if table.in_guest else table.queues)


def slots_are_unread(table: PlaceTable) -> bool:
    """Whether no source shows how many I/Os the host's queues admit to the path. Either no clock of the host was
    read, or its last clock is a block layer's, which includes the wait for a slot of the device, and no source reads
    the number of these slots. A load that speaks to its storage over the network itself passes no such queue."""
    if _is_past_queues(table):
        return False
    if host_is_unread(table):
        return True
    is_timed = is_above_array_clock(table, below_last_clock(table))
    return is_timed and bool(devices_with_unread_slots(table.facts, table.load))


def unread_machines(table: PlaceTable) -> list[str]:
    """The hosts of the load's virtual machines, or else the hosts on which it runs: a clock of theirs is missing."""
    related = table.facts.topology.related
    if table.in_guest:
        return list(dict.fromkeys(host for machine in table.machines for host in related(machine, "runs_on", "host")))
    return [machine for machine in table.machines if machine.startswith("host:")]


def _luns(table: PlaceTable) -> tuple[list[str], float | None]:
    """The unread LUNs of the load, or the guest's devices in their place, and the slots of each. If the last clock
    includes the wait for slots, they are the devices at that clock.

    Empty: none is known, or a guest's queue cannot be distinguished from its hypervisor's. None: the slots are
    unknown, or the devices are read, so that another queue is the unread one.
    """
    load = table.load
    if not host_is_unread(table):
        return devices_with_unread_slots(table.facts, load), None
    luns = _luns_of_load(table.facts, load)
    in_lun: dict[str, float] = {}
    for row in table.rows("plane", direction=load.direction):
        entity = str(row["entity"])
        in_lun[entity] = max(in_lun.get(entity, 0.0), number(row, "in_flight_measured"))
    unread = [lun for lun in luns if lun not in in_lun]
    if not unread:
        # A device counts I/Os that wait in its queue: those of the load are not in one that holds hardly any.
        return [lun for lun in luns if in_lun[lun] >= _HARDLY_ANY_RATIO * load.in_flight_measured], None
    depths = {_reported_slots(table.facts, lun) for lun in unread}
    depth = depths.pop() if len(depths) == 1 else None
    return ([] if depth is None and table.in_guest else unread), depth


def _luns_of_load(facts: Facts, load: LoadFacts) -> list[str]:
    """The LUNs of a load, or else those with its bytes; empty: none is known."""
    luns = sorted(entity for entity in devices_of_load(facts.topology, load) if entity.startswith("lun:"))
    return luns or busy_luns(facts.topology, load, facts.tables)


def _reported_slots(facts: Facts, lun: str) -> float | None:
    """Slots of a LUN, or of all its paths together if these are fewer, as reported in any step. None: neither."""
    paths = [each.id for each in facts.topology.of_kind("lun") if lun in facts.topology.related(each.id, "member_of")]
    own, *parts = (_slots_of(facts, device) for device in (lun, *paths))
    known = [part for part in parts if part is not None]
    together = sum(known) if len(known) == len(parts) else None
    return min(filter(None, (own, together)), default=None)


def _slots_of(facts: Facts, device: str) -> float | None:
    rows = [row for row in facts.tables["plane"].select(entity=device) if row["queue_depth"] is not None]
    reported = rows[0]["queue_depth"] if rows else facts.topology.entities[device].attributes.get("queue_depth")
    return float(reported) if isinstance(reported, int | float) else None


def _unread_claim(
    table: PlaceTable,
    kind: str,
    entity: str,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    prior: float = 0.0,
    coincident: Sequence[str] = (),
) -> Claim:
    words = max(evidence, key=lambda reading: reading.weight).words
    because = (words, f"{table.wait_words(explains)} pass beyond the last layer of the host that was measured")
    conclude = conclusion_of(table, "host", because, OVERTURN, waits_inside=True, coincident=tuple(coincident))
    return Claim(kind, entity, explains, evidence, conclude, prior)

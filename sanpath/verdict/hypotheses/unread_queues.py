"""A queue of the host, or of its initiator, that no source reads lets too few I/Os through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from math import log
from statistics import fmean

from sanpath.facts.facts import Facts
from sanpath.facts.host.planes import devices_of_load
from sanpath.facts.load.loads import AT_LEAST_AS_FAST, CLEARLY_MORE
from sanpath.facts.storage.load_volumes import busy_luns
from sanpath.facts.table import number
from sanpath.units import count, duration, outstanding
from sanpath.verdict.evidence.likelihoods import at_limit, fewer_slots, free_slots, full_queue
from sanpath.verdict.hypotheses.claim import UNREAD, Claim, Evidence, conclusion_of
from sanpath.verdict.hypotheses.queues import OVERTURN, is_held_back, waiting_below
from sanpath.verdict.places.host_queues import DEPTH_ERROR, devices_with_unread_slots
from sanpath.verdict.places.latency_segment import LatencySegment
from sanpath.verdict.places.segments import REQUEST_BYTES, segments
from sanpath.verdict.places.submission import threads_of
from sanpath.verdict.places.table import PlaceTable

_ADAPTER = -2.0
"""Log-odds of an initiator's queue: by their drivers, adapters admit a thousand I/Os and more, LUNs some dozens.
sanpath's own choice, 1 to 7."""
_MOSTLY_FREE = 0.5
"""Share of its slots in use up to which a queue has enough for more I/Os: sanpath's own choice."""
_BELOW_ERROR = 0.1
"""Error of the I/Os below a queue: the array's clock times them, not the host's."""
_SETTING = -4.5
"""Least log-odds by a depth that was reported in another step: it may have been changed since."""
_NUMBER_ERROR, _CLEARLY_OTHER = 0.15, 0.3
"""Relative error of the ratio of two numbers of I/Os below a queue, each by clocks that leave something out, and
twice that."""
_HELD_MORE = -4.0
"""Log-odds of a full queue that is not read, if clearly more I/Os were below it in another step: sanpath's own
choice, 1 to 55, as its depth may have been changed since, or the array's times are means over others' I/Os."""
_BY_NUMBER = 2.5
"""The most that the number of I/Os below says for or against slots, where rates and times change: sanpath's own
choice, 12 to 1."""
_LEAST_BY_NUMBER = 0.5
"""Less than this is what clocks of different sources differ by: sanpath's own choice."""
_LEAST_WAITING = 0.25
"""Ratio of the I/Os that wait between the clocks to those below from which they wait for what limits: sanpath's own
choice."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """Claims for the queues of a host that no source reads below the load or the guest, and one for the initiator."""
    explains = below_last_clock(table)
    # What waits above an array is not in the latency that the array counts.
    if not explains or table.load.seen_at_array:
        return
    waiting = waiting_below(table, table.in_flight_below(max(explains)))
    slots = (*_slot_evidence(table, max(explains)), *_remaining(table, explains), *waiting)
    if slots_are_unread(table):
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
    return is_free and segment.queue is not None and is_held_back(segment.queue, table.load)


def below_last_clock(table: PlaceTable) -> frozenset[int]:
    """Indices of the segments below the host's last clock in which I/Os may wait for a slot of a queue above."""
    return table.indices("before_array_clock") or table.indices("fabric", "below") - table.in_tcp


def is_above_array_clock(table: PlaceTable, indices: frozenset[int]) -> bool:
    """Whether the array's own clock times what is below these segments."""
    return table.array is not None and bool(indices) and max(indices) + 1 < len(table.segments)


def _queues_above(table: PlaceTable, explains: frozenset[int]) -> Iterator[Claim]:
    """One claim for the LUN, and one for an unknown queue: that of a LUN that is not known, or of a hypervisor."""
    luns, depth = _luns(table)
    what = "how long I/Os wait in the host" if host_is_unread(table) else "how many slots the device has"
    unread = Evidence(f"{what} was not read", 0.0)
    waiting = waiting_below(table, table.in_flight_below(max(explains)))
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
    """Evidence of other steps about a queue that is not read. That no time remains in one speaks for no place that
    limits."""
    if (found := with_free_slots(table, explains)) is not None and found.weight < 0:
        yield found
    yield from _number_below(table, explains)


def _number_below(table: PlaceTable, explains: frozenset[int]) -> Iterator[Evidence]:
    """Evidence of the I/Os below a queue that is not read, in steps of the same load with blocks of any size.

    Where it is full it holds their number constant, however long each of them takes below. Anything else that limits
    between the clocks holds a rate constant, of I/Os or of bytes. Where neither the time below nor the size of the
    blocks changes, both stay, and nothing tells them apart. With free slots there were never more below it than it
    has.
    """
    facts, own = table.facts, table.load
    kinds = {table.segments[index].kind for index in explains}
    below, waiting = _held_below(facts, own.step, kinds)
    # TCP times the data only, and not all that an I/O passes between the clocks.
    is_timed = is_above_array_clock(table, explains) and not table.in_tcp
    if not is_timed or not below or waiting <= _LEAST_WAITING * below:
        return
    threads, likely = threads_of(facts, own), 0.0
    for other in facts.loads:
        sizes = own.operation_bytes or 0.0, other.operation_bytes or 0.0
        same = other.direction == own.direction and other.same_data(own, "align_bytes")
        if other.step == own.step or not same or max(sizes) > REQUEST_BYTES or threads_of(facts, other) != threads:
            continue
        held, waits = _held_below(facts, other.step, kinds)
        if held > (1 + _CLEARLY_OTHER) * below:
            words = f"{held:.1f} I/Os were below it in another step, and {below:.1f} are now"
            yield Evidence(words, _HELD_MORE)
            return
        if held and waits > _LEAST_WAITING * held:
            rates = [(other.ops_per_second, own.ops_per_second), (other.bytes_per_second, own.bytes_per_second)]
            kept = min((log(its / this) for its, this in rates if its and this), key=abs)
            changed = kept**2 - log(held / below) ** 2
            likely = max(likely, changed / (2 * _NUMBER_ERROR**2), key=abs)
    if abs(likely) >= _LEAST_BY_NUMBER:
        words = "in another step the number of I/Os below it is the same, and their rate is not"
        if likely < 0:
            words = "in another step the number of I/Os below it is not the same, and their rate is"
        yield Evidence(words, max(-_BY_NUMBER, min(_BY_NUMBER, likely)))


def _held_below(facts: Facts, step: str, kinds: Set[str]) -> tuple[float, float]:
    """I/Os of both directions of a step below the segments of these kinds, and in them."""
    held = waits = 0.0
    for load in facts.loads_in(step):
        path = segments(facts, load)
        of_kind = [index for index, segment in enumerate(path) if segment.kind in kinds]
        if not of_kind:
            return 0.0, 0.0
        held += load.ops_per_second * sum(segment.middle for segment in path[max(of_kind) + 1 :])
        waits += load.ops_per_second * sum(path[index].middle for index in of_kind)
    return held, waits


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


def slots_are_unread(table: PlaceTable) -> bool:
    """Whether no source tells how many I/Os the host's queues let through to the path: no clock of the host was read,
    or its last clock is that of a block layer, which contains the wait for a slot of the device, and no source reads
    their number."""
    if host_is_unread(table):
        return True
    is_timed = is_above_array_clock(table, below_last_clock(table))
    return is_timed and bool(devices_with_unread_slots(table.facts, table.load))


def unread_machines(table: PlaceTable) -> list[str]:
    """The hosts of the load's virtual machines, or else the hosts that it runs on; a clock of theirs is missed."""
    related = table.facts.topology.related
    if table.in_guest:
        return list(dict.fromkeys(host for machine in table.machines for host in related(machine, "runs_on", "host")))
    return [machine for machine in table.machines if machine.startswith("host:")]


def _luns(table: PlaceTable) -> tuple[list[str], float | None]:
    """The LUNs of the load that no source reads, or the guest's devices that stand for them, and the slots of each.
    Where the last clock contains the wait for slots: the devices at that clock.

    Empty: none is known, or nothing tells a guest's queue from its hypervisor's. None: the slots are unknown, or the
    devices are read, so that another queue is meant.
    """
    topology, load = table.facts.topology, table.load
    if not host_is_unread(table):
        return devices_with_unread_slots(table.facts, load), None
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
    conclude = conclusion_of(table, "host", because, OVERTURN, waits_inside=True, coincident=tuple(coincident))
    return Claim(kind, entity, explains, evidence, conclude, prior)

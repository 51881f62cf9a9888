"""A queue of guest or host between two clocks lets too few I/Os through, and nothing below it waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf, log

from sanpath.facts.load.loads import AT_LEAST_AS_FAST, LoadFacts
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import FactRow, number
from sanpath.units import count, duration, percent
from sanpath.verdict.evidence.likelihoods import NO_BURSTS, UNEXPLAINED, at_limit, full_queue
from sanpath.verdict.hypotheses.claim import (
    Claim,
    Conclusion,
    Evidence,
    StatedFields,
    conclusion_of,
    share_gone,
    taken_from_others,
)
from sanpath.verdict.places.finite_source import use_of_servers
from sanpath.verdict.places.host_queues import DEPTH_ERROR, WITHOUT_QUEUE, HostQueue, host_queues, in_slots_of
from sanpath.verdict.places.latency_segment import LatencySegment
from sanpath.verdict.places.processors import follows_load
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
"""Share of the time that servers of an array are busy from which more slots above it bring clearly less, and up to
which they bring anything: sanpath's own choices."""
_SERVERS = {"controller_busy_ratio": "the busiest processors", "media_busy_ratio": "the busiest media"}
"""Facts of an array that tell how busy servers of it are, with their names."""
_IS_BUSY = 1.5
"""The most that the use of an array's servers says for it where it follows from their wait: sanpath's own choice, 4.5
to 1."""
_FEWEST_SOURCES = 2
"""Fewer I/Os do not wait for one another."""
_NONE_WAIT = 0.01
"""Ratio of the I/Os that wait in the array to those in service up to which none waits: clocks have an end."""
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
OVERTURN = ("a deeper queue that does not raise throughput",)
_ONE_OF_SEVERAL = 4.0
"""The most that full slots of one device say of I/Os that wait above several: sanpath's own choice, 55 to 1."""
_SMALLER = -3.0
"""Log-odds that something smaller than the reported depth limits the I/Os, such as a session's command window:
sanpath's own choice, 1 to 20."""


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
            *waiting_below(table, segment.slots or admitted),
            *(taken_from_others(table) if segment.queue.others_share > SHARED else ()),
        )
        kind, conclude = str(segment.entity).partition(":")[0], partial(_conclude, table, segment.queue)
        share = segment.queue.others_share
        yield Claim(kind, segment.entity, frozenset({index}), evidence, conclude, hidden=hidden, others_share=share)


def waiting_below(table: PlaceTable, slots: float) -> Iterator[Evidence]:
    """Evidence against a full queue of what is busy in the array, as it reports or by the I/Os that wait there, which
    it times: more slots bring no more than what their servers idle."""
    reported, name = _reported_use(table)
    use, words = max((_use_below(table, slots), ""), (reported, f"{name} of the array are busy"))
    if use > _MOSTLY_BUSY:
        weight = max(_SMALLER, log((1 - min(_ALWAYS_BUSY, use)) / (1 - _MOSTLY_BUSY)))
        yield Evidence(f"{words} {percent(use)} of the time" if words else _use_words(table, use), weight)


def _reported_use(table: PlaceTable) -> tuple[float, str]:
    """The use of what the array reports to be busiest with the load's I/Os, and its name; (0, ""): nothing.

    It works for them if it is busy in proportion to them: what is busy with a few already is merely never idle."""
    row: FactRow = table.array or {}
    uses = [
        (number(row, fact), name)
        for fact, name in _SERVERS.items()
        if row.get(fact) and follows_load(table.facts, table.load, table.same_io, str(row["entity"]), fact)
    ]
    return max(uses, default=(0.0, ""))


def use_below_full_queue(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence for an array whose servers are busy all the time by the I/Os that wait there, of those few that a full
    queue of the host lets through."""
    queues = [segment for segment in table.segments if segment.queue is not None and segment.queue.holds_back]
    slots = min((segment.slots for segment in queues if segment.slots), default=0.0)
    if (weight := min(_IS_BUSY, at_limit(use := _use_below(table, slots), DEPTH_ERROR, NO_BURSTS))) > 0:
        yield Evidence(_use_words(table, use), weight)


def _use_words(table: PlaceTable, use: float) -> str:
    waiting = table.in_flight_inside("array_queue")
    return f"{waiting:.1f} I/Os wait in the array: what serves them is busy {percent(use)} of the time"


def _use_below(table: PlaceTable, slots: float) -> float:
    """How busy the servers in the array are, by the I/Os that wait for one, of those that `slots` let through; 0: not
    known.

    They idle for less than the time in which one of them does. How many there are is not known: the fewer, the more
    they idle beside such a wait. But those I/Os that were served at once in another step, and did not wait, had a
    server each.
    """
    waiting, sources = table.in_flight_inside("array_queue"), round(slots)
    if table.others_share > UNEXPLAINED or sources < _FEWEST_SOURCES:
        return 0.0
    return use_of_servers(sources, min(sources - 1, max(1, round(_served_at_once(table)))), waiting)


def _served_at_once(table: PlaceTable) -> float:
    """The most I/Os that were in service in a step of the same I/O in which none waited for service; 0: there is no
    such step."""
    most = 0.0
    for load in table.same_io:
        inside = {"array_queue": 0.0, "array_service": 0.0}
        for each in table.facts.loads_in(load.step):
            for segment in segments(table.facts, each):
                if segment.kind in inside:
                    inside[segment.kind] += each.ops_per_second * segment.middle
        if inside["array_queue"] <= _NONE_WAIT * inside["array_service"]:
            most = max(most, inside["array_service"])
    return most


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
            is_held_back(other_queue, other_load)
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
        elif _differ(queue, other) and is_held_back(other, load):
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


def is_held_back(queue: HostQueue, load: LoadFacts) -> bool:
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
    conclude = conclusion_of(table, queue.layer, because, OVERTURN, waits_inside=True, ceiling_ratio=ratio, **stated)
    return conclude(claims)

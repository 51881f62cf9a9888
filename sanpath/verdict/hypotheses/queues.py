"""A queue of guest or host between two clocks admits too few I/Os, and nothing below it makes I/Os wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil, exp, inf, log
from statistics import fmean

from sanpath.facts.load.loads import AT_LEAST_AS_FAST, LoadFacts
from sanpath.facts.storage.load_volumes import SHARED
from sanpath.facts.table import FactRow, number
from sanpath.units import count, duration, percent
from sanpath.verdict.evidence.likelihoods import NO_BURSTS, UNEXPLAINED, full_queue_weight, limit_weight
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
from sanpath.verdict.places.segments import in_flight_by_segment
from sanpath.verdict.places.submission import sleeps_to_submit, threads_of
from sanpath.verdict.places.table import PlaceTable

_LIMITS_HELD_OTHER_WEIGHT, _LIMITS_HELD_MORE_WEIGHT = -2.0, -6.0
"""Log-odds of a queue that limits, if it admitted a different number of I/Os in another step, or held clearly more:
then it has free slots now, unless its depth was changed in between."""
_FULL_HELD_FEWER_WEIGHT, _FULL_HELD_MORE_WEIGHT = -1.5, -3.2
"""Log-odds of a full queue, whether it limits or not, if in another step it held fewer I/Os while I/Os waited above
it, or if it held more: drivers change the depth if the target reports a full queue (SAM-5, TASK SET FULL). sanpath's
own choices."""
_MOSTLY_BUSY_RATIO, _MAX_BUSY_RATIO = 0.5, 0.98
"""Busy share of an array's servers from which more slots above them gain clearly less, and the largest one that still
leaves a gain: sanpath's own choices."""
_BUSY_FACTS = {"controller_busy_ratio": "the busiest processors", "media_busy_ratio": "the busiest media"}
"""Facts of how busy the servers of an array are → names of these servers."""
_MAX_BUSY_WEIGHT = 1.5
"""Largest weight of the utilisation of an array's servers if it is computed from the I/Os that wait for them:
sanpath's own choice, 4.5 to 1."""
_MIN_SOURCES = 2
"""Smallest number of I/Os that can wait for each other."""
_NO_QUEUE_RATIO = 0.01
"""Largest ratio of waiting I/Os to those in service, in the array, that means no queue: clocks are not exact."""
_SERIALISED_WEIGHT = -5.0
"""Log-odds of a full queue if the load's engine sends its I/Os one at a time, so that they wait in the engine:
sanpath's own choice, 1 to 148."""
_TOO_MANY_WAITING_WEIGHT = -1.0
"""Log-odds of a full queue of unknown depth if more I/Os wait above it than there are threads to wait for its slots.
sanpath's own choice, 1 to 2.7, because drivers may hold I/Os back outside the device's clock."""
_MIN_WAITING_PER_THREAD = 2.0
"""Waiting I/Os per thread from which they are clearly more than one each: sanpath's own choice."""
_MAX_SOFTWARE_RATIO = 0.25
"""Largest share of its time that an I/O spends in the host's software above a queue without waiting for a slot."""
_DEPTH_UNKNOWN_WEIGHT = -0.3
"""Log-odds of a queue of unknown depth, relative to one with counted slots: sanpath's own choice, 0.74 to 1."""
_ABOVE_ALL_QUEUES = "windows_disk"
"""The plane of PerfMon's PhysicalDisk and LogicalDisk: the partition manager, above MPIO and StorPort."""
OVERTURN = ("a deeper queue that does not raise throughput",)
_MAX_ONE_OF_SEVERAL_WEIGHT = 4.0
"""Largest weight of one device's full slots if I/Os wait above several devices: sanpath's own choice, 55 to 1."""
_VALUES = 200
"""Number of values at which a range of numbers of I/Os is weighed: more values change the weight by less than a
tenth."""
_AS_FULL_RATIO = 0.9
"""Share of its slots in use from which a queue may be full: two standard errors of their number below all of them."""
_MIN_SLOTS_WEIGHT = -3.0
"""Smallest log-odds of a queue with free slots: something smaller than its reported depth may limit the I/Os, such as
a session's command window. sanpath's own choice, 1 to 20."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each queue above the storage in which I/Os wait, or would wait if there were more of them."""
    series = _in_series(table)
    for index, segment in enumerate(table.segments):
        # An I/O that a thread cannot submit is not outstanding yet: no latency includes its wait.
        hidden = _blocks_submission(table, segment)
        if segment.queue is None or not (segment.queue.holds_back or hidden or is_at_knee(table, segment.queue)):
            continue
        if not _has_slots_above(table, segment.queue):
            continue
        admitted = in_slots_of(table.facts, table.load, segment.queue)
        evidence = (
            *_slots_evidence(table, segment, segment.queue, admitted),
            *waiting_below(table, segment.slots or admitted),
            *(taken_from_others(table) if segment.queue.others_share > SHARED else ()),
        )
        kind, alike = str(segment.entity).partition(":")[0], series.get(index, ())
        conclude, share = partial(_conclude, table, segment.queue, alike), segment.queue.others_share
        group = f"in series: {', '.join(alike)}" if alike else None
        yield Claim(
            kind,
            segment.entity,
            frozenset({index}),
            evidence,
            conclude,
            hidden=hidden,
            group=group,
            others_share=share,
        )


def _in_series(table: PlaceTable) -> dict[int, tuple[str, ...]]:
    """Index of each queue that has as many slots as another queue on the way of the same I/Os → the entities of all
    that are full together, from the load down.

    Both of a pair are full: I/Os wait above the upper one, which admits as many as the lower one has slots. More
    slots in one of them gain nothing; they limit together, and together with all that one of them limits with.
    """
    together: dict[int, frozenset[int]] = {}
    queues = [(index, each, each.queue) for index, each in enumerate(table.segments) if each.queue is not None]
    # Reads and writes share the slots of a queue.
    held = {index: in_slots_of(table.facts, table.load, queue) for index, _, queue in queues}
    for position, (low, segment, lower) in enumerate(queues):
        slots = segment.slots or _slots_of_virtual_disk(table, lower.entity)
        if not slots or lower.in_slots is not None or held[low] + _held_error(lower) < _AS_FULL_RATIO * slots:
            continue
        for high, above, upper in queues[:position]:
            has_free_slots = above.filled_ratio is not None and above.filled_ratio < _AS_FULL_RATIO
            if has_free_slots or upper.entity == lower.entity or not is_held_back(upper, table.load):
                continue
            if _has_slots_above(table, upper) and abs(held[high] - slots) <= 2 * DEPTH_ERROR * slots:
                joined = together.get(high, frozenset({high})) | together.get(low, frozenset({low}))
                together |= dict.fromkeys(joined, joined)
    names = {index: queue.entity for index, _, queue in queues}
    return {index: tuple(dict.fromkeys(names[each] for each in sorted(together[index]))) for index in together}


def _slots_of_virtual_disk(table: PlaceTable, entity: str) -> float:
    """The slots that the guest's driver gives a virtual disk; 0: the entity is not a virtual disk, or its slots are
    not known."""
    return max((number(row, "queue_depth") for row in table.rows("virtual_disk", entity=entity)), default=0.0)


def waiting_below(table: PlaceTable, slots: float) -> Iterator[Evidence]:
    """Evidence against a full queue if servers in the array are busy: more slots gain at most the idle time of these
    servers. Their utilisation is reported by the array, or computed from the I/Os that wait there by its clock."""
    reported, name = _reported_use(table)
    use, words = max((_use_below(table, slots), ""), (reported, f"{name} of the array are busy"))
    if use > _MOSTLY_BUSY_RATIO:
        weight = max(_MIN_SLOTS_WEIGHT, log((1 - min(_MAX_BUSY_RATIO, use)) / (1 - _MOSTLY_BUSY_RATIO)))
        yield Evidence(f"{words} {percent(use)} of the time" if words else _use_words(table, use), weight)


def _reported_use(table: PlaceTable) -> tuple[float, str]:
    """The highest utilisation that the array reports of servers that work for the load, and their name; (0, ""):
    none.

    Servers work for the load if they are busy in proportion to its I/Os: those that are as busy with a few I/Os are
    just never idle."""
    row: FactRow = table.array or {}
    uses = [
        (number(row, fact), name)
        for fact, name in _BUSY_FACTS.items()
        if row.get(fact) and follows_load(table.facts, table.load, table.same_io, str(row["entity"]), fact)
    ]
    return max(uses, default=(0.0, ""))


def array_utilisation_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence for an array whose servers are busy all the time, because I/Os wait there although a full queue of the
    host admits only a few."""
    queues = [segment for segment in table.segments if segment.queue is not None and segment.queue.holds_back]
    slots = min((segment.slots for segment in queues if segment.slots), default=0.0)
    if (weight := min(_MAX_BUSY_WEIGHT, limit_weight(use := _use_below(table, slots), DEPTH_ERROR, NO_BURSTS))) > 0:
        yield Evidence(_use_words(table, use), weight)


def _use_words(table: PlaceTable, use: float) -> str:
    waiting = table.in_flight_inside("array_queue")
    return f"{waiting:.1f} I/Os wait in the array: what serves them is busy {percent(use)} of the time"


def _use_below(table: PlaceTable, slots: float) -> float:
    """Utilisation of the servers in the array, computed from the I/Os that wait for one, if `slots` I/Os can be
    there; 0: unknown.

    Their number is not known. For the same number of waiting I/Os, fewer servers are idle for longer. So the result
    is a lower bound: it assumes only the servers that another step proves, in which each I/O in service had its own
    server and none waited.
    """
    waiting = table.in_flight_inside("array_queue")
    # No more I/Os alternate between the servers and elsewhere than exist, however many slots are free.
    others = max((queue.others_admitted for queue in table.queues), default=0.0)
    sources = round(min(slots, ceil(table.facts.in_flight_in(table.load.step) + others)))
    if table.others_share > UNEXPLAINED or sources < _MIN_SOURCES:
        return 0.0
    return use_of_servers(sources, min(sources - 1, max(1, round(_served_at_once(table)))), waiting)


def _served_at_once(table: PlaceTable) -> float:
    """Largest number of I/Os in service in a step of the same I/O in which none waited for service; 0: there is no
    such step."""
    most = 0.0
    for load in table.same_io:
        inside = {"array_queue": 0.0, "array_service": 0.0}
        for path in in_flight_by_segment(table.facts, load):
            for kind, in_flight in path:
                if kind in inside:
                    inside[kind] += in_flight
        if inside["array_queue"] <= _NO_QUEUE_RATIO * inside["array_service"]:
            most = max(most, inside["array_service"])
    return most


def _has_slots_above(table: PlaceTable, queue: HostQueue) -> bool:
    """Whether I/Os can wait for a device's slot above the device's clock. They cannot for md and logical volumes,
    which pass I/Os on to the queues of their parts, nor on Windows, whose disk clock starts above all queues of the
    disk."""
    kind = table.facts.topology.entities[queue.entity].attributes.get("kind")
    return kind not in WITHOUT_QUEUE and queue.below.plane != _ABOVE_ALL_QUEUES


def _blocks_submission(table: PlaceTable, segment: LatencySegment) -> bool:
    return segment.filled_ratio is not None and segment.filled_ratio == table.blocked_ratio > 0


def is_at_knee(table: PlaceTable, queue: HostQueue) -> bool:
    """Whether a queue is just full: in a step with more I/Os, I/Os wait above it, and the queue holds no more than
    now."""
    return any(
        load.in_flight_measured > table.load.in_flight_measured
        and is_held_back(other, load)
        and not _differ(queue, other)
        for other, load in _in_other_steps(table, queue)
    )


def _slots_evidence(table: PlaceTable, segment: LatencySegment, queue: HostQueue, below: float) -> Iterator[Evidence]:
    """Evidence from the queue's slots. `below`: I/Os of both directions below it."""
    if segment.filled_ratio is not None and segment.slots is not None:
        in_use = count(min(1.0, segment.filled_ratio) * segment.slots)
        words = f"{in_use} of {count(segment.slots)} slots are in use"
        if _blocks_submission(table, segment):
            words = f"it holds {in_use} I/Os, and threads wait {percent(table.blocked_ratio)} of the time to submit"
        # I/Os that wait above several devices need not wait for this one.
        most = inf if queue.in_slots is None or queue.devices == 1 else _MAX_ONE_OF_SEVERAL_WEIGHT
        # A queue may admit fewer I/Os than its depth. A number smaller than any queue admits is even less probable.
        least = _MIN_SLOTS_WEIGHT + min(0.0, full_queue_weight(segment.filled_ratio * segment.slots))
        weight = min(most, max(least, slots_weight(segment.filled_ratio, queue)))
        yield Evidence(words, weight, about_slots=True)
    else:
        words = f"{below:.1f} I/Os are below it on average, and its queue depth is not measured"
        yield Evidence(words, _DEPTH_UNKNOWN_WEIGHT + _number_weight(table, queue, below))
        if segment is table.segments[0] and _too_many_for_threads(table, queue):
            waiting = f"{count(queue.waiting)} I/Os wait above it, many more than the load has threads"
            words = f"{waiting}: a thread that waits for a slot submits no further I/O"
            yield Evidence(words, _TOO_MANY_WAITING_WEIGHT)
    yield from other_steps_evidence(table, queue)
    if segment is table.segments[0] and table.facts.row_of(table.load)["engine_serialises"]:
        yield Evidence("the engine of the load sends its I/Os one after another", _SERIALISED_WEIGHT)


def slots_weight(filled_ratio: float, queue: HostQueue) -> float:
    """Log-likelihood ratio that a queue is full, given the share of its slots in use, whether it limits or not."""
    return limit_weight(filled_ratio, DEPTH_ERROR + queue.below.error_seconds / max(queue.below.seconds, 1e-9))


def _too_many_for_threads(table: PlaceTable, queue: HostQueue) -> bool:
    """Whether clearly more I/Os wait above a Linux block device than the load has threads that sleep until one of its
    requests is free."""
    threads = threads_of(table.facts, table.load)
    sleeping = queue.below.plane == "guest_block" and sleeps_to_submit(table.facts, table.load)
    return sleeping and 0 < _MIN_WAITING_PER_THREAD * threads < queue.waiting


def other_steps_evidence(table: PlaceTable, queue: HostQueue) -> Iterator[Evidence]:
    """Evidence that a queue has free slots, because it held a different number of I/Os in another step."""
    others = _in_other_steps(table, queue)
    if (held := _held_more(table, queue)) is not None:
        yield Evidence(f"it held {count(held)} I/Os in another step", _LIMITS_HELD_MORE_WEIGHT)
    # If I/Os waited above it there too, or at the same throughput: then the time below it grows with the number
    # there.
    elif any(
        _differ(queue, other_queue)
        and (
            is_held_back(other_queue, other_load)
            or other_load.ops_per_second >= AT_LEAST_AS_FAST * table.load.ops_per_second
        )
        for other_queue, other_load in others
    ):
        yield Evidence("in another step it let more or fewer I/Os through", _LIMITS_HELD_OTHER_WEIGHT)


def fullness(table: PlaceTable, segment: LatencySegment) -> float:
    """Log-likelihood ratio that a queue of unknown depth is full, from the number of I/Os in it, whether it limits or
    not. 0 for any other segment."""
    queue = segment.queue
    if queue is None or not queue.holds_back or segment.filled_ratio is not None:
        return 0.0
    in_slots, other_steps_weight = in_slots_of(table.facts, table.load, queue), 0.0
    for other, load in _in_other_steps(table, queue):
        if _differ(queue, other) and other.held > queue.held:
            other_steps_weight = min(other_steps_weight, _FULL_HELD_MORE_WEIGHT)
        elif _differ(queue, other) and is_held_back(other, load):
            other_steps_weight = min(other_steps_weight, _FULL_HELD_FEWER_WEIGHT)
    return _number_weight(table, queue, in_slots) + other_steps_weight


def _number_weight(table: PlaceTable, queue: HostQueue, in_slots: float) -> float:
    """Log-likelihood ratio that a queue of unknown depth is full, given the I/Os below it. A coarse clock gives a
    range of this number beyond its usual error, in which each value is equally probable."""
    offered = table.facts.in_flight_in(table.load.step)
    beyond = queue.below.error_seconds / max(queue.below.seconds, 1e-9) - DEPTH_ERROR
    if beyond <= 0:
        return full_queue_weight(in_slots, offered)
    values = (in_slots * (1 - beyond + 2 * beyond * (n + 0.5) / _VALUES) for n in range(_VALUES))
    return log(fmean(exp(full_queue_weight(max(value, 0.0), offered)) for value in values))


def _differ(queue: HostQueue, other: HostQueue) -> bool:
    """Whether a queue holds a clearly different number of I/Os in another step."""
    return abs(other.held - queue.held) > _held_error(queue) + _held_error(other)


def _in_other_steps(table: PlaceTable, queue: HostQueue) -> list[tuple[HostQueue, LoadFacts]]:
    """The same queue in other steps of the same I/O by the same number of threads, with the load of each.

    Each hardware queue of a device has its own slots, and more threads use more of these queues. Steps in which the
    depth differs are left out.
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
    """Largest number of I/Os that the queue held in another step, if it is clearly larger than now. None: it is
    not."""
    held = [(other.held - _held_error(other), other.held) for other, _ in _in_other_steps(table, queue)]
    least, likely = max(held, default=(0.0, 0.0))
    return likely if least > queue.held + _held_error(queue) else None


def _held_error(queue: HostQueue) -> float:
    """Largest error of the computed number of I/Os in a queue: two standard errors from different windows, and the
    error of a coarse clock."""
    coarse = queue.below.error_seconds / max(queue.below.seconds, 1e-9)
    return queue.held * (2 * DEPTH_ERROR + min(1.0, coarse))


def is_held_back(queue: HostQueue, load: LoadFacts) -> bool:
    """Whether more I/Os wait above a queue than the errors of its clocks and the host's software explain."""
    is_seen = queue.wait_seconds > queue.error_seconds
    return is_seen and queue.waiting >= max(1.0, _MAX_SOFTWARE_RATIO * load.in_flight_measured)


def _conclude(table: PlaceTable, queue: HostQueue, in_series: Sequence[str], claims: Sequence[Claim]) -> Conclusion:
    """The conclusion that a queue limits. `in_series`: the entities of queues that are full together with it."""
    load = table.load
    is_seen = table.array is not None and all(row["utilisation"] is not None for row in table.on_path)
    seen = "there is near its limit" if is_seen else "that was measured there is near its limit"
    admitted, offered = queue.admitted, load.in_flight_measured
    # What is below the queue may be parts of I/Os. A full queue lets through no more than now.
    ratio = min(1.0, admitted / queue.below.seconds / load.ops_per_second) if queue.below.seconds else None
    # Coarse clocks may show more I/Os than the queue has slots.
    fits = min(1.0, queue.depth / queue.held) if queue.depth and queue.held else 1.0
    others_words = ""
    if queue.in_slots is not None:
        # The other devices of the load have free slots. They are no faster once this one has more slots.
        admitted, offered, ratio = queue.in_slots, queue.in_slots + queue.waiting, None
    elif queue.others_share > SHARED:
        others_words = f" beside {count(fits * queue.others_admitted)} of others"
    because = (
        f"the queue lets {count(fits * admitted)} I/Os through{others_words}, {count(offered)} are offered",
        f"below it an I/O takes {duration(queue.below.seconds)}, and nothing {seen}",
    )
    removed_share = share_gone(queue.below.seconds, load.latency_seconds)
    related = table.facts.topology.related
    owners = related(queue.entity, "attached_to")
    # Devices of other hosts limit other parts of the load.
    together = [device for device in queue.as_full if related(device, "attached_to") == owners]
    together += [entity for entity in in_series if entity != queue.entity]
    stated = StatedFields(explains=removed_share, coincident=tuple(together))
    conclude = conclusion_of(table, queue.layer, because, OVERTURN, waits_inside=True, ceiling_ratio=ratio, **stated)
    return conclude(claims)

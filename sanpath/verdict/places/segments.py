"""The segments of a load's latency: each is the part between two neighbouring clocks on the path of an I/O.

Every segment has its time as an interval, and its wait as (low, likely, high). A time that a source reports is
narrow. A time that is a difference, or that includes both service and wait, is wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log

import numpy as np

from sanpath.diagnosis.model import Interval
from sanpath.facts.fabric.link_measures import wire_seconds
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import SHARED, array_side, array_with_others, longest_ratio, parts_at_array
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import array_of
from sanpath.verdict.places.host_queues import DEPTH_ERROR, SOFTWARE_SECONDS, HostQueue, host_queues, in_slots_of
from sanpath.verdict.places.latency_segment import (
    ARRAY_CLOCK,
    FLASH_LOG_ERROR,
    FLASH_SERVICE_SECONDS,
    GAPS,
    TRANSFER_BY_ARRAY,
    TRANSFER_BY_TCP,
    LatencySegment,
    Times,
    Wait,
)
from sanpath.verdict.places.set_limits import limited_ratio
from sanpath.verdict.places.tcp_path import TcpPath, tcp_path

_MAX_SOFTWARE = 4.0
"""Multiple of the time of the host's software that no host exceeds without a queue: sanpath's own choice."""
_ROUND_TRIP_SECONDS = 60e-6
"""Command and status over a few switches and two adapters; each adds microseconds."""
_LINK_BYTES_PER_SECOND = 800e6
"""Data rate of 8GFC, assumed for the transfer of a block if no link was read."""
_SLOWEST_LINK_RATIO = 8.0
"""That rate over the rate of a SAN's slowest link, 1GFC or 1 Gb/s Ethernet."""
_MAX_ON_WIRE, _MAX_UNTIMED = 1.3, 2.0
"""Ratios beyond which a transfer has certainly waited: of a timed transfer to the time of its bytes on counted links,
and of any other transfer to the shortest one. sanpath's own choices."""
_SLOWEST_SERVICE_SECONDS = 0.03
"""Longest service time, in seconds: an I/O that takes longer has waited, whatever serves it. A vendor expects 17 to
20 ms for a LUN on its slowest drives."""
_MAX_DISTANCE_SECONDS = 0.2
"""Round trip to the other side of the Earth in fibre, 2 x 20,000 km at 200,000 km/s: no distance takes longer."""
_MIN_SERVICE_SECONDS = 100e-6
"""Arrays answer from cache or flash after a tenth of a millisecond (data sheets: 100 to 250 µs)."""
_LONG_SHARE = 0.15
"""Share of arrays whose service time is longer than their kind needs, without being a wait: a mirror at a distance, a
rebuild, failing media."""
_BETWEEN = "between the host's and the array's clock"
_OUTSIDE_TCP = "between the host's and the array's clock, without the time in TCP"
_UNREAD = "arrived at the host, and not read yet, by TCP's clock"
_LONG_SECONDS = 0.04
"""Mean of what such an array needs beyond the usual time: mirrors are 5 to 11 ms away, drives of a rebuild take some
20 ms. The longer a service time is, the less probably it contains no wait. sanpath's own choice."""
_SERVICE_INCLUDES_WAIT = 0.2
"""Share of saturated arrays whose own queue shows nothing, because the wait for media is part of their service
time."""
_LIKELY_IN_SERVICE, _MAX_IN_SERVICE = 0.05, 0.5
"""Share of a service time by the array's own clock, beyond the certain wait, that is likely to be waiting; and the
share that is at most. sanpath's own choices."""
_SERVED_AT_ONCE = (8.0, 64.0)
"""I/Os inside that hardly fill any array, and that fill one with even odds if nothing else is known: arrays serve
from a few drives' number to some thousands at once."""
_SERVED_BY_ANY = (1.0, 4096.0)
"""I/Os that fill a single drive, and that fill any array."""
_MIN_INSIDE = 2.0
"""Lower bound of the I/Os inside: sanpath's own choice. Without it, a single I/O inside would rule a place out."""
REQUEST_BYTES = 256 * 1024.0
"""Largest size of one request. A larger I/O becomes several requests below the block layer, which queue one behind
another (NVMe: MDTS, 128 KiB to 1 MiB; iSCSI: MaxBurstLength, 256 KiB by default, RFC 7143; Linux: max_sectors_kb, 512
or 1280)."""
_REPEAT_ERROR = 0.02
"""Relative error of a mean time between two identical steps."""
_MIN_FEWER_INSIDE = 0.1
"""Smallest relative difference of the I/Os inside a place, between two steps, that its growth can be compared with:
sanpath's own choice. It is five times the repeat error, which would otherwise decide."""
_WINDOW_DIFFERENCE = 0.05
"""Relative difference between the counts of load and array, because their windows differ: sanpath's own choice."""
_MUCH_SHORTER_RATIO = 0.5
"""Share of the time below the host up to which a bound on the array's time shows that most of this time passes
elsewhere."""
_OTHERS_MIX_FACTORS = (0.3, 2.0)
"""Factors by which an array's mean over several hosts' I/Os may differ from the mean over the test's."""


def segments(
    facts: Facts, load: LoadFacts, lighter: LoadFacts | None = None, lighter_ratio: float = 1.0
) -> tuple[LatencySegment, ...]:
    """The segments from the load down.

    `lighter`: the load of a step with fewer of the same I/Os in flight; a segment that takes longer now has begun to
    wait. `lighter_ratio`: the array's rate in that step over its rate now, at most 1; 1: unknown.
    """
    wire, in_flight = wire_seconds(facts.tables["link"], load), facts.in_flight_in(load.step)
    is_counted = wire is not None
    transfer = wire if wire is not None else (load.operation_bytes or 0.0) / _LINK_BYTES_PER_SECOND
    lighter_segments = {} if lighter is None else {_same_place(s): s for s in segments_alone(facts, lighter)}
    own_ratio = 1.0 if lighter is None else min(1.0, lighter.ops_per_second / load.ops_per_second)
    result: list[LatencySegment] = []
    # A write that waits for a flush takes its own time and the flush's, for one I/O of the load.
    remaining = load.cycle_seconds - load.latency_seconds
    for segment in reversed(_narrowed(_without_waits(facts, load), load)):
        remaining += max(0.0, segment.middle)
        # By Little's law. Of N, at most N - 1 wait at once while one is served.
        inside = in_flight * segment.middle / load.latency_seconds
        if segment.includes_service:
            inside *= max(1.0, (load.operation_bytes or 0.0) / REQUEST_BYTES)
        serves = segment.includes_service or segment.kind == "host_receive"
        waiting_ratio = 1 - 1 / max(1.0, inside if serves else in_flight)
        lighter_segment = lighter_segments.get(_same_place(segment))
        times = (segment, transfer, is_counted, waiting_ratio, lighter_segment)
        ratio = lighter_ratio if segment.kind in ("array_service", "below") else 1.0
        wait = _wait(*times, ratio)
        # An array's service time may contain the wait for its media, which a step with fewer I/Os would show.
        is_array_clock = segment.kind == "array_service" and segment.source == ARRAY_CLOCK
        may_hide_wait = is_array_clock and lighter_segment is None
        of_reads = _service_of_reads(facts, load) if may_hide_wait else inf
        hidden, likelihood = _service_with_wait(segment, load, transfer, of_reads) if may_hide_wait else (0.0, 1.0)
        result.append(
            replace(
                segment,
                wait=wait,
                own_wait=_wait(*times, own_ratio if segment.kind in GAPS else ratio),
                independent_wait=_wait_by_own_times(segment, transfer, is_counted, 1.0, None),
                hidden_wait_probability=hidden,
                service_likelihood=likelihood,
                filled_odds=2 * _filled_probability(max(_MIN_INSIDE, inside), *_SERVED_BY_ANY)
                if segment.includes_service
                else 1.0,
                remaining_seconds=remaining,
            )
        )
    return _above_idle_places(result[::-1], in_flight / load.latency_seconds)


def segments_alone(facts: Facts, load: LoadFacts) -> tuple[LatencySegment, ...]:
    """The segments from the load down, judged by the load's own step alone."""
    return facts.cached(segments, load)


def in_flight_by_segment(facts: Facts, load: LoadFacts) -> Sequence[Sequence[tuple[str, float]]]:
    """Kind and mean number of I/Os of each segment from the load down, for each load of a load's step (Little's
    law)."""
    return facts.cached(_in_flight_by_segment, load)


def _in_flight_by_segment(facts: Facts, load: LoadFacts) -> Sequence[Sequence[tuple[str, float]]]:
    return [
        [(segment.kind, each.ops_per_second * segment.middle) for segment in segments_alone(facts, each)]
        for each in facts.loads_in(load.step)
    ]


def _above_idle_places(found: Sequence[LatencySegment], per_second: float) -> tuple[LatencySegment, ...]:
    """The same segments, with waits above idle places. I/Os that wait above a queue with less than one I/O below it
    do not wait for the element there, so a wait there is a share of their wait as well. `per_second`: I/Os in flight
    for each second of latency."""
    result: list[LatencySegment] = []
    remaining = 0.0
    for segment, below in zip(found, [*found[1:], None], strict=True):
        result.append(replace(segment, remaining_seconds=max(remaining, segment.remaining_seconds)))
        if below is None or segment.queue is None or not segment.queue.holds_back:
            continue
        if per_second * below.remaining_seconds + segment.queue.others_admitted < 1:
            remaining = result[-1].remaining_seconds
    return tuple(result)


def _without_waits(facts: Facts, load: LoadFacts) -> list[LatencySegment]:
    """The segments from the load down, with the times that were read and without waits."""
    queues = host_queues(facts, load)
    below = load.latency_bounds
    if queues:
        last = queues[-1].below
        below = (last.seconds - last.whole_error_seconds, last.seconds + last.whole_error_seconds)
    tcp = tcp_path(facts, load)
    lower = _below(facts, load, below)
    if tcp is not None:
        lower = _with_tcp(lower, tcp)
        lower = _with_unread(lower, tcp) if load.direction == "read" and tcp.unread_seconds else lower
    return [*(_host_queue(facts, load, queue) for queue in queues), *lower]


def _service_with_wait(
    segment: LatencySegment, load: LoadFacts, transfer: float, of_reads: float
) -> tuple[float, float]:
    """`hidden_wait_probability` and `service_likelihood` of a service time that may include a wait. `transfer`:
    seconds of a block on the wire. `of_reads`: service time of the reads beside these writes: arrays acknowledge
    writes from their cache, so that they need no longer."""
    hidden = _filled_probability(load.ops_per_second * segment.middle, *_SERVED_AT_ONCE)
    usual, log_error = segment.usual_service
    segment = replace(segment, usual_service=(min(usual, of_reads), log_error))
    alone = max(segment.middle - transfer, segment.usual_service[0])  # Large blocks take longer.
    is_long = _LONG_SHARE * exp((segment.usual_service[0] - alone) / _LONG_SECONDS)
    return _SERVICE_INCLUDES_WAIT * hidden, is_long + (1 - _LONG_SHARE) * segment.likelihood_of(alone)


def _service_of_reads(facts: Facts, load: LoadFacts) -> float:
    """Service time by the array's own clock of the reads that a job does beside its writes, in seconds; infinite:
    unknown."""
    times = [
        segment.middle
        for other in facts.loads_in(load.step)
        if load.direction == "write" and other.direction == "read" and other.entity == load.entity
        for segment in _without_waits(facts, other)
        if segment.kind == "array_service" and segment.source == ARRAY_CLOCK
    ]
    return min(filter(None, times), default=inf)


def _filled_probability(inside: float, few: float, many: float) -> float:
    """Probability that this many I/Os fill the element that serves them, relative to that of `many`; `few` hardly
    ever do. The logarithm of the number served at once is assumed to be uniform between the two."""
    return min(1.0, log(max(few, inside) / few) / log(many / few))


def _narrowed(segments: Sequence[LatencySegment], load: LoadFacts) -> list[LatencySegment]:
    """Limits each segment to the part of the I/O's latency, and of the time below a queue, that the others leave.
    Sources that round report times that are too short or too long."""
    limited = _no_longer_than(load.latency_bounds[1], segments)
    for index, segment in enumerate(limited):
        queue = segment.queue
        if segment.slots and queue is not None and queue.in_slots is None and not queue.above_parts:
            # By Little's law: no more I/Os are below a queue than have a slot.
            longest = (1 + DEPTH_ERROR) * segment.slots / load.ops_per_second
            limited[index + 1 :] = _no_longer_than(longest, limited[index + 1 :])
    return limited


def _no_longer_than(total_seconds: float, segments: Sequence[LatencySegment]) -> list[LatencySegment]:
    """Limits each segment to a total, less the lowest times of the other segments."""
    lowest = sum(segment.seconds[0] for segment in segments)
    return [
        replace(segment, seconds=(low, min(high, max(low, total_seconds - (lowest - low)))))
        for segment in segments
        for low, high in [segment.seconds]
    ]


def _same_place(segment: LatencySegment) -> tuple[str, str | None]:
    """A key for the same place in another step: an array may report its volumes in one step and itself in another,
    and TCP may time the transfer only in one of them."""
    if segment.source in (TRANSFER_BY_TCP, _OUTSIDE_TCP):
        return segment.kind, segment.source
    return segment.kind, segment.entity if segment.kind == "host_queue" else None


def _host_queue(facts: Facts, load: LoadFacts, queue: HostQueue) -> LatencySegment:
    """The segment of a queue of guest or host."""
    in_slots = in_slots_of(facts, load, queue)
    slots = queue.depth
    return LatencySegment(
        "host_queue",
        queue.entity,
        _interval(queue.wait_seconds, queue.error_seconds),
        f"latency at the {queue.above.plane} minus that at {queue.entity}",
        slots=slots,
        filled_ratio=in_slots / slots if slots else None,
        queue=queue,
    )


def _below(facts: Facts, load: LoadFacts, below: Interval) -> list[LatencySegment]:
    row = array_side(facts.topology, load, facts.tables)
    segments = [LatencySegment("below", None, below, "all beyond the last layer that was measured")]
    if row is not None and (parts := parts_at_array(load, row)) is not None:
        if row["array_seconds"] is not None:
            segments = _array(row, below, parts, limited_ratio(facts, load))
        elif row["response_seconds"] is not None:
            segments = _response(row, below, parts)
    elif (row := array_with_others(facts.topology, load, facts.tables)) is not None:
        segments = _shared_array(row, below, load) or segments
    array = facts.topology.entities.get(array_of(facts.topology, str(row["entity"]))) if row is not None else None
    if array is None or array.attributes.get("media") != "flash":
        return segments
    usual = FLASH_SERVICE_SECONDS, FLASH_LOG_ERROR
    return [replace(segment, usual_service=usual) for segment in segments]


def _with_tcp(segments: Sequence[LatencySegment], tcp: TcpPath) -> list[LatencySegment]:
    """The segments below the host with TCP's readings: the distance in them, and the transfer by TCP's own clock.

    Time outside TCP passes at the ends: on the host before it hands over or after it takes over, and on the target
    before the array's clock starts.
    """
    result: list[LatencySegment] = []
    for segment in segments:
        transfer = tcp.transfer(segment.seconds)
        if segment.source == TRANSFER_BY_ARRAY:
            result.append(replace(segment, distance=tcp.distance))
        elif segment.kind not in GAPS:
            result.append(segment)
        elif transfer is None or segment.kind == "before_array_clock":
            result.append(replace(segment, distance=tcp.distance))
        else:
            low, high = (min(seconds, segment.seconds[1]) for seconds in transfer)
            rest = max(0.0, segment.seconds[0] - high), max(0.0, segment.seconds[1] - low)
            in_tcp = LatencySegment("fabric", None, (low, high), TRANSFER_BY_TCP, distance=tcp.distance)
            if segment.kind == "below":
                result += [in_tcp, replace(segment, seconds=rest, distance=(0.0, 0.0))]
            else:
                array = next((other.entity for other in segments if other.entity is not None), None)
                before = LatencySegment("before_array_clock", array, rest, _OUTSIDE_TCP, distance=(0.0, 0.0))
                result += [before, in_tcp]
    return result


def _with_unread(segments: Sequence[LatencySegment], tcp: TcpPath) -> list[LatencySegment]:
    """The segments below the host with the time until the host reads received data: that time is neither in the array
    nor under way. An array's clock of the transfer may include it, and loses what does not fit elsewhere."""
    between = [s for s in segments if s.kind in GAPS and not s.is_tcp]
    gap = sum(s.seconds[0] for s in between), sum(s.seconds[1] for s in between)
    low, high = received = tcp.at_receiver(gap)
    result: list[LatencySegment] = []
    for segment in segments:
        if segment in between:
            shortest, longest = segment.seconds
            segment = replace(segment, seconds=(max(0.0, shortest - high), max(0.0, longest - low)))
            low, high = max(0.0, low - longest), max(0.0, high - shortest)
        result.append(segment)
    return [LatencySegment("host_receive", None, received, _UNREAD), *result]


def _array(row: FactRow, below: Interval, parts: float, limited: float) -> list[LatencySegment]:
    """The segments of an array that reports its service time. `below`: time below the host's last clock. `parts`:
    I/Os at the array for each of the load. `limited`: share of the load's I/Os that a limit holds back."""
    entity, spread = str(row["entity"]), number(row, "spread_seconds")
    lowest_factor, highest_factor = _OTHERS_MIX_FACTORS if number(row, "foreign_ratio") > SHARED else (1.0, 1.0)
    times = {name: number(row, f"{name}_seconds") for name in ("qos_limit", "queue", "service")}
    inside = sum(times.values())
    if (longest := longest_ratio(inside, parts, below[1])) > 1:
        middle = (1 + longest) / 2
        times, inside = {name: seconds * middle for name, seconds in times.items()}, inside * middle
        lowest_factor, highest_factor = 1 / middle, longest / middle
    # The array's times may not exceed the time of the I/O at the host.
    if inside > below[1] > 0 and highest_factor > 1:
        times, inside = {name: seconds * below[1] / inside for name, seconds in times.items()}, below[1]
    gap = max(0.0, sum(below) / 2 - inside)
    error = (below[1] - below[0]) / 2 + spread + (highest_factor - 1) * inside / 2
    # As wide as other hosts' I/Os may make it.
    width = max(1 - lowest_factor, (highest_factor - 1) / 2)
    own = {name: _interval(seconds, seconds * width) for name, seconds in times.items()}
    segments = []
    if row["san_seconds"] is not None:
        transfer = min(number(row, "san_seconds"), gap)
        before = _interval(gap - transfer, error)
        segments.append(LatencySegment("before_array_clock", entity, before, _BETWEEN))
        transfer_segment = LatencySegment("fabric", None, (transfer, transfer), TRANSFER_BY_ARRAY)
        segments.append(replace(transfer_segment, other_way_seconds=before[1]))
    else:
        segments.append(LatencySegment("fabric", None, _interval(gap, error), _BETWEEN))
    if times["qos_limit"]:
        segments.append(LatencySegment("cap", entity, own["qos_limit"], ARRAY_CLOCK, passing_ratio=limited))
    if row["queue_seconds"] is not None:
        segments.append(LatencySegment("array_queue", entity, own["queue"], ARRAY_CLOCK))
    source = ARRAY_CLOCK if row["queue_seconds"] is not None else "array, its queue included"
    return [*segments, LatencySegment("array_service", entity, own["service"], source)]


def _shared_array(row: FactRow, below: Interval, load: LoadFacts) -> list[LatencySegment]:
    """The segments of an array whose times are means over other hosts' I/Os as well. Empty: they narrow nothing.

    The load's I/Os inside are no more than all that are (Little's law): the load's spend no more time there than all
    of them together, per I/O of the load.
    """
    if row["array_seconds"] is None:
        return []
    in_array = (number(row, "array_seconds") + number(row, "spread_seconds")) * number(row, "ops_per_second")
    longest = (1 + _WINDOW_DIFFERENCE) * in_array / load.ops_per_second
    counts_all = number(row, "bytes_per_second") >= (1 - _WINDOW_DIFFERENCE) * load.bytes_per_second
    if not counts_all or longest > _MUCH_SHORTER_RATIO * below[0]:
        return []
    entity = str(row["entity"])
    return [
        LatencySegment("fabric", None, (max(0.0, below[0] - longest), below[1]), _BETWEEN),
        LatencySegment("array_service", entity, (0.0, longest), "array, at most"),
    ]


def _response(row: FactRow, below: Interval, parts: float) -> list[LatencySegment]:
    """The segments of an array that reports its own time and the transfer as one. `below`, `parts`: as in _array."""
    shortest, middle = number(row, "response_seconds"), sum(below) / 2
    response = shortest, shortest * longest_ratio(shortest, parts, below[1])
    gap = max(0.0, middle - sum(response) / 2)
    error = (below[1] - below[0] + response[1] - response[0]) / 2
    return [
        LatencySegment("before_array_clock", str(row["entity"]), _interval(gap, error), "above the array's clock"),
        LatencySegment("below", str(row["entity"]), response, "array, the transfer included"),
    ]


def _interval(middle: float, error: float) -> Interval:
    """An interval around a middle value, in seconds, never below zero."""
    return max(0.0, middle - error), middle + error


def _wait(
    segment: LatencySegment,
    wire: float,
    is_counted: bool,
    waiting_ratio: float,
    lighter: LatencySegment | None,
    lighter_ratio: float,
) -> Wait:
    """(low, likely, high) seconds of waiting in a segment.

    `wire`: seconds of a block on the wire. `is_counted`: whether the links were read. `waiting_ratio`: largest share
    of the I/Os that can wait at once. `lighter`: the same segment with fewer I/Os in flight.
    """
    wait, certain = np.array(_wait_by_own_times(segment, wire, is_counted, waiting_ratio, lighter)), 0.0
    if segment.kind not in ("cap", "array_queue", "host_queue") and segment.source != ARRAY_CLOCK:
        # Any I/O, even alone: hardly anything on a path needs this long to serve one.
        certain = max(0.0, segment.seconds[0] - _SLOWEST_SERVICE_SECONDS - wire)
    if lighter is not None:
        grown, by_growth = _growth(segment, lighter, lighter_ratio)
        # An I/O waits no longer than in the lighter step plus the growth of its time since then. If fewer I/Os were
        # inside the place itself, only the growth counts.
        longest = np.minimum(lighter.wait + grown, by_growth)
        if by_growth[2] < inf and lighter_ratio < 1.0:
            longest[0] = min(longest[0], grown[0])
        # A time that is the same with fewer I/Os is distance, or a fixed latency, up to the longest distance.
        farthest = _MAX_DISTANCE_SECONDS if segment.distance is None else segment.distance[1]
        wait = np.minimum(wait, longest)
        certain = max(0.0, certain - farthest, min(certain, 2 * by_growth[2] - certain))
    low, likely, high = np.maximum(wait, certain).tolist()
    return low, likely, high


def _growth(segment: LatencySegment, lighter: LatencySegment, lighter_ratio: float) -> tuple[Times, Times]:
    """The growth of the time since the lighter step, in seconds, and the wait that remains possible.

    The time rises at least evenly with the I/Os inside, S (1 + (N - 1) / k) for k equal servers of a closed network
    (Reiser and Lavenberg 1980), from one I/O without any wait. With about the same number inside, as below a queue
    that was full in both steps, it is no evidence: infinite.
    """
    error = _REPEAT_ERROR * segment.middle * np.array([-1.0, 0.0, 1.0])
    grown = np.maximum(0.0, segment.times - lighter.times[::-1] + error)
    lighter_inside = lighter_ratio * lighter.middle / segment.middle if segment.middle else 1.0
    return grown, grown / (1 - lighter_inside) if lighter_inside <= 1 - _MIN_FEWER_INSIDE else np.full(3, inf)


def _wait_by_own_times(
    segment: LatencySegment, wire: float, is_counted: bool, waiting_ratio: float, lighter: LatencySegment | None
) -> Wait:
    """(low, likely, high) seconds of waiting from the times of one step; `lighter` only raises the low bound."""
    (low, high), middle = segment.seconds, segment.middle
    nearest, farthest = segment.distance or (0.0, 0.0)
    grown = max(0.0, low - lighter.seconds[1]) if lighter is not None else 0.0
    match segment.kind:
        case "cap" | "array_queue":
            return low, middle, high
        case "host_receive" | "host_queue":
            software = SOFTWARE_SECONDS if segment.kind == "host_queue" else 0.0
            certain = max(0.0, waiting_ratio * low - _MAX_SOFTWARE * software)
            return certain, max(0.0, waiting_ratio * middle - software), high
        case "fabric" | "before_array_clock":
            has_transfer = segment.kind == "fabric" or (is_counted and segment.source != _OUTSIDE_TCP)
            shortest = _ROUND_TRIP_SECONDS + (wire if has_transfer else 0.0)
            timed = segment.is_timed_transfer
            most_on_wire = _MAX_ON_WIRE if is_counted else _SLOWEST_LINK_RATIO
            without_wait = most_on_wire * wire if timed else _MAX_UNTIMED * shortest
            certain = low - without_wait - farthest - _ROUND_TRIP_SECONDS
            if segment.kind == "fabric" and not timed and not is_counted:
                certain = 0.0
            certain, shortest = max(grown, certain), shortest + (nearest + farthest) / 2
            # A single I/O in flight waits for no other of the test; in a transfer, other hosts' I/Os may come first.
            queueing_ratio = 1.0 if timed else waiting_ratio
            certain = max(0.0, queueing_ratio * certain)
            return certain, max(certain, queueing_ratio * middle - shortest), max(certain, high - nearest)
        case "array_service" if segment.source == ARRAY_CLOCK:
            grown = max(grown, low - _SLOWEST_SERVICE_SECONDS - wire)
            longest = grown + _MAX_IN_SERVICE * max(0.0, high - grown)
            return grown, grown + _LIKELY_IN_SERVICE * (middle - grown), longest
        case _:
            of_request = wire if is_counted else min(wire, REQUEST_BYTES / _LINK_BYTES_PER_SECOND)
            transfer = nearest + (of_request if segment.kind == "below" else 0.0)
            longest = max(grown, min(waiting_ratio * high - transfer, high - transfer - _MIN_SERVICE_SECONDS))
            certain = min(longest, max(grown, low - _SLOWEST_SERVICE_SECONDS - wire))
            return certain, (certain + longest) / 2, longest

"""A queue of guest or host lets too few I/Os through, and nothing below it waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sanpath.units import count, duration
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, limited_by, share_gone
from sanpath.verdict.hypotheses.likelihoods import DEPTH_ERROR, at_limit, full_queue, usual_depth
from sanpath.verdict.places.host_queues import HostQueue, host_queues
from sanpath.verdict.places.scaling import alike
from sanpath.verdict.places.segments import Segment
from sanpath.verdict.places.table import PlaceTable

_FREE_QUEUE = -2.0
"""Log-odds of a queue that admitted other numbers in other steps: it was not full, and the load holds I/Os back."""
_DEPTH_UNKNOWN = -0.3
_OVERTURN = ("a deeper queue that does not raise throughput",)
_SMALLER = -3.0
"""Log-odds that something smaller than the reported depth limits the I/Os, such as a session's command window."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each queue above the storage in which I/Os wait."""
    for index, segment in enumerate(table.segments):
        if segment.queue is None or not segment.queue.holds_back:
            continue
        evidence = tuple(_evidence(table, segment, segment.queue, table.in_flight_below(index)))
        kind, conclude = str(segment.entity).partition(":")[0], partial(_conclude, table, segment.queue)
        yield Claim(kind, segment.entity, frozenset({index}), evidence, conclude)


def _evidence(table: PlaceTable, segment: Segment, queue: HostQueue, below: float) -> Iterator[Evidence]:
    """Evidence of the queue's slots. `below`: I/Os of both directions below it."""
    if segment.filled_ratio is not None and segment.slots is not None:
        error = DEPTH_ERROR + queue.resolution_seconds / max(queue.below_seconds, 1e-9)
        words = f"{count(segment.filled_ratio * segment.slots)} of {count(segment.slots)} slots are in use"
        yield Evidence(words, max(_SMALLER, at_limit(segment.filled_ratio, error)), about_slots=True)
    elif queue.admitted < 1 and not table.opposite_direction:
        words = "fewer than one I/O is below it: no queue lets so few through"
        yield Evidence(words, _DEPTH_UNKNOWN + full_queue(queue.admitted))
    else:
        words = f"{below:.1f} I/Os are below it on average, and its queue depth is not measured"
        yield Evidence(words, _DEPTH_UNKNOWN + usual_depth(below))
    admitted_elsewhere = [
        other_queue.admitted
        for other_load in table.facts.loads
        if other_load.step != table.load.step and alike(table.facts.loads, table.load, other_load)
        for other_queue in host_queues(table.facts, other_load)
        if (other_queue.entity, other_queue.plane) == (queue.entity, queue.plane)
        and other_queue.offered - other_queue.admitted >= 1
    ]
    if any(abs(admitted / queue.admitted - 1) > 4 * DEPTH_ERROR for admitted in admitted_elsewhere):
        yield Evidence("it admitted another number at another load", _FREE_QUEUE)


def _conclude(table: PlaceTable, queue: HostQueue, claims: Sequence[Claim]) -> Conclusion:
    load = table.load
    because = (
        f"the queue lets {count(queue.admitted)} I/Os through, {count(load.in_flight_measured)} are offered",
        f"below it an I/O takes {duration(queue.below_seconds)}, and nothing there is near its limit",
    )
    rate = queue.admitted / queue.below_seconds
    ceiling = rate * load.operation_bytes if load.operation_bytes else None, rate
    explains = share_gone(queue.below_seconds, load.latency_seconds)
    return limited_by(
        table, claims, queue.layer, because, _OVERTURN, waits_inside=True, ceiling=ceiling, explains=explains
    )

"""A load that mixes reads and writes keeps their ratio, so that a limit of one direction also limits the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Interval
from sanpath.facts.facts import Facts
from sanpath.verdict.model import Judgement
from sanpath.whatif.ceilings import Ceiling
from sanpath.whatif.change import UNCHANGED, Change
from sanpath.whatif.predict import Prediction, ceilings_under, is_unexplained, unloaded_under, untested

_ASSUMED = "the ratio of reads and writes: the load is assumed to keep it"
_PACED_VERDICTS = ("demand_limited", "healthy")
"""Verdicts of a direction that may have its own rate limit. The generator may then not slow the other direction."""
_MAX_SHARE_DIFFERENCE = 0.1
"""Difference between measured and configured share of reads below which the load keeps the configured one."""


def leader_of(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Judgement | None:
    """The judgement of the other direction of the same load in the step, if that direction sets the pace of this one.

    It does under three conditions: the load keeps the ratio of both, something other than the number of I/Os in
    flight limits the other direction, and this direction has no limit of its own. Both directions share the I/Os in
    flight.
    """
    for other in judgements:
        is_opposite = other.load.step == judged.load.step and other.load.direction != judged.load.direction
        if is_opposite and _keeps_ratio(facts, judged, other):
            held, leads = _is_held(facts, judgements, judged), not _is_held(facts, judgements, other)
            return other if held and leads else None
    return None


def with_kept_ratio(
    facts: Facts, judgements: Sequence[Judgement], changes: Sequence[Change], predictions: Sequence[Prediction]
) -> list[Prediction]:
    """The predictions, in which a direction changes by the same factor as the direction that leads it.

    `changes`, `predictions`: one for each judgement.
    """
    found = list(predictions)
    for i, judged in enumerate(judgements):
        leader = leader_of(facts, judgements, judged)
        if leader is not None and changes[i] != UNCHANGED:
            j = next(j for j, each in enumerate(judgements) if each is leader)
            if predictions[j].predicted_ops_per_second is not None:
                pair = (predictions[i], predictions[j])
                found[i], found[j] = _together(facts, judgements, (judged, leader), changes[i], pair)
    return found


def _keeps_ratio(facts: Facts, judged: Judgement, other: Judgement) -> bool:
    """Whether both belong to the same jobs, and these have one configured share of reads, close to the measured
    one."""
    jobs, pair = judged.load.jobs, (judged, other)
    shares = {facts.topology.entities[job].attributes.get("read_ratio") for job in jobs}
    share = next(iter(shares), None)
    if jobs != other.load.jobs or len(shares) != 1 or not isinstance(share, int | float):
        return False
    reads = sum(each.load.ops_per_second for each in pair if each.load.direction == "read")
    measured = reads / sum(each.load.ops_per_second for each in pair)
    has_own_rate = any(each.kind in _PACED_VERDICTS for each in pair)
    return 0 < share < 1 and abs(measured - share) < _MAX_SHARE_DIFFERENCE and not has_own_rate


def _is_held(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> bool:
    """Whether a direction has no known limit of its own: none was found, or only its share of the I/Os in flight, or
    an element that is full in the other direction."""
    bottleneck = next(iter(judged.bottlenecks), None)
    if bottleneck is not None and bottleneck.direction not in (None, judged.load.direction):
        return True
    first = next(iter(ceilings_under(facts, judgements, judged, UNCHANGED)), None)
    is_shared = bottleneck is None and first is not None and first.in_flight is not None
    return is_shared or is_unexplained(facts, judgements, judged)


def _together(
    facts: Facts,
    judgements: Sequence[Judgement],
    judged: tuple[Judgement, Judgement],
    change: Change,
    predictions: tuple[Prediction, Prediction],
) -> tuple[Prediction, Prediction]:
    """The predictions of the first direction and of the second, which leads: the first changes by the factor of the
    second. A lower ceiling of the first direction lowers both; where it is 0, neither is predicted."""
    follower, leader = predictions
    load, ratio = judged[0].load, judged[0].load.ops_per_second / judged[1].load.ops_per_second
    own = ceilings_under(facts, judgements, judged[0], change)
    lowest, before = _lowest(own), _lowest(ceilings_under(facts, judgements, judged[0], UNCHANGED))
    if lowest is not None:
        most = lowest.ops_per_second[1]
        if most <= 0:
            recorded = (
                leader.step,
                leader.direction,
                leader.in_flight,
                leader.ops_per_second,
                leader.latency_seconds,
            )
            return follower, Prediction(*recorded, leader.limit, unknown=follower.unknown)
        if before is None or most >= before.ops_per_second[1]:
            most = max(most, load.ops_per_second)  # The measured rate remains possible.
        leader = _at_most(
            facts, judgements, judged[1], change, leader, replace(lowest, ops_per_second=(most / ratio,) * 2)
        )
    predicted = _times(leader.predicted_ops_per_second, ratio) or (0.0, 0.0)
    r0 = unloaded_under(facts, judgements, judged[0], change)
    # I/Os in flight move to the direction that is still slow. No I/O is faster than without a queue.
    kept = max(load.in_flight_measured, predicted[1] * r0[0] if r0 is not None else 0.0)
    limiting = Ceiling(leader.entity or "", (predicted[1], predicted[1]), leader.change)
    followed = replace(
        follower,
        limit=leader.limit,
        grade=max(judged[0].grade, leader.grade),
        kept_in_flight=kept,
        entity=leader.entity,
        change=leader.change,
        predicted_ops_per_second=predicted,
        predicted_latency_seconds=(kept / predicted[1], kept / predicted[0]),
        likely_ops_per_second=_times(leader.likely_ops_per_second, ratio),
        ceilings=(limiting, *own),
        untested=(_ASSUMED, *untested(facts, judgements, judged[0], change, predicted[1])),
        unknown=None,
    )
    return followed, leader


def _at_most(
    facts: Facts,
    judgements: Sequence[Judgement],
    judged: Judgement,
    change: Change,
    prediction: Prediction,
    ceiling: Ceiling,
) -> Prediction:
    """The prediction of a direction under a ceiling of the other, converted to I/Os a second of this direction."""
    most = ceiling.ops_per_second[1]
    predicted = _clipped(prediction.predicted_ops_per_second, most)
    if predicted is None or predicted == prediction.predicted_ops_per_second:
        return prediction
    kept = prediction.kept_in_flight
    return replace(
        prediction,
        entity=ceiling.entity,
        change=ceiling.change,
        predicted_ops_per_second=predicted,
        predicted_latency_seconds=(kept / predicted[1], kept / predicted[0]),
        likely_ops_per_second=_clipped(prediction.likely_ops_per_second, most),
        ceilings=(ceiling, *prediction.ceilings),
        untested=untested(facts, judgements, judged, change, most),
    )


def _lowest(ceilings: Sequence[Ceiling]) -> Ceiling | None:
    """The lowest ceiling, except numbers of I/Os in flight, which both directions share."""
    return next((ceiling for ceiling in ceilings if ceiling.in_flight is None), None)


def _times(interval: Interval | None, factor: float) -> Interval | None:
    return None if interval is None else (interval[0] * factor, interval[1] * factor)


def _clipped(interval: Interval | None, most: float) -> Interval | None:
    return None if interval is None else (min(interval[0], most), min(interval[1], most))

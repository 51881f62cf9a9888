"""A job that reads and writes keeps the ratio of both: the direction that is held back holds back the other one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Interval
from sanpath.facts.compute import Facts
from sanpath.verdict.step_judgement import Judgement
from sanpath.whatif.ceilings import Ceiling, in_flight_under
from sanpath.whatif.change import UNCHANGED, Change
from sanpath.whatif.predict import Prediction, ceilings_under, is_unexplained, untested

_ASSUMED = "the ratio of reads and writes: one job is assumed to keep it"
_OWN_RATE = ("demand_limited", "healthy")
"""Verdicts of a direction that may have a rate of its own: generators let the other direction run ahead of it."""


def other_direction(judgements: Sequence[Judgement], judged: Judgement) -> Judgement | None:
    """The judgement of the other direction of the same step, if both are those of one job that keeps their ratio.

    Several jobs may have a ratio each, and a job may have a rate for each direction.
    """
    load = judged.load
    for other in judgements:
        same_jobs = other.load.step == load.step and other.load.jobs == load.jobs and len(load.jobs) == 1
        if same_jobs and other.load.direction != load.direction and not {judged.kind, other.kind} & {*_OWN_RATE}:
            return other
    return None


def with_kept_ratio(
    facts: Facts, judgements: Sequence[Judgement], changes: Sequence[Change], predictions: Sequence[Prediction]
) -> list[Prediction]:
    """The predictions, where both directions of one job change by the same factor, that of the slower one.

    There is a change and a prediction for each judgement, and both directions of one job have the same change. A
    direction that nothing was found to limit, or something that is full in the other direction, is not the slower one
    unless its own ceilings are lower.
    """
    found = list(predictions)
    for i, judged in enumerate(judgements):
        other = other_direction(judgements, judged)
        if other is None or changes[i] == UNCHANGED:
            continue
        j = next(j for j, each in enumerate(judgements) if each is other)
        leads = not _is_held(facts, judgements, other) and _factor(predictions[j]) > 0
        follows = _is_held(facts, judgements, judged) or 0 < _factor(predictions[j]) < _factor(predictions[i])
        if leads and follows:
            found[i], found[j] = _together(facts, judgements, (judged, other), changes[i], (predictions[i], found[j]))
    return found


def _is_held(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> bool:
    """Whether a direction is held back by the other one: nothing limits it, or what does is full in the other one."""
    bottleneck = next(iter(judged.bottlenecks), None)
    in_other = bottleneck is not None and bottleneck.direction not in (None, judged.load.direction)
    return in_other or is_unexplained(facts, judgements, judged)


def _together(
    facts: Facts,
    judgements: Sequence[Judgement],
    judged: tuple[Judgement, Judgement],
    change: Change,
    predictions: tuple[Prediction, Prediction],
) -> tuple[Prediction, Prediction]:
    """Both directions with the factor of the second one, or with that of a lower ceiling of the first one.

    What the job keeps in flight is no ceiling of the first one: both directions share it.
    """
    follower, leader = predictions
    load = judged[0].load
    lowest = _lowest(ceilings_under(facts, judgements, judged[0], change))
    if lowest is not None:
        before = _lowest(ceilings_under(facts, judgements, judged[0], UNCHANGED))
        most = lowest.ops_per_second[1] / load.ops_per_second
        if before is None or lowest.ops_per_second[1] >= before.ops_per_second[1]:
            most = max(1.0, most)  # What was reached remains possible.
        if most < _factor(leader):
            leader = _at_most(facts, judged[1], leader, most * leader.ops_per_second, lowest)
    ratio = load.ops_per_second / leader.ops_per_second
    predicted = _times(leader.predicted_ops_per_second, ratio)
    kept = in_flight_under(facts, load, change)
    followed = replace(
        follower,
        limit=leader.limit if _is_held(facts, judgements, judged[0]) else follower.limit,
        grade=max(judged[0].grade, leader.grade),
        kept_in_flight=kept,
        entity=leader.entity,
        change=leader.change,
        predicted_ops_per_second=predicted,
        predicted_latency_seconds=(kept / predicted[1], kept / predicted[0]) if predicted is not None else None,
        likely_ops_per_second=_times(leader.likely_ops_per_second, ratio),
        ceilings=leader.ceilings,
        untested=(_ASSUMED, *untested(facts, load, predicted[1] if predicted is not None else 0.0)),
        unknown=None,
    )
    return followed, leader


def _at_most(facts: Facts, judged: Judgement, prediction: Prediction, most: float, ceiling: Ceiling) -> Prediction:
    """A prediction of at most so many I/Os a second, which `ceiling` of the other direction allows."""
    predicted = _clipped(prediction.predicted_ops_per_second, most)
    kept = prediction.kept_in_flight
    return replace(
        prediction,
        entity=ceiling.entity,
        change=ceiling.change,
        predicted_ops_per_second=predicted,
        predicted_latency_seconds=(kept / predicted[1], kept / predicted[0]) if predicted is not None else None,
        likely_ops_per_second=_clipped(prediction.likely_ops_per_second, most),
        untested=tuple(untested(facts, judged.load, most)),
    )


def _lowest(ceilings: Sequence[Ceiling]) -> Ceiling | None:
    """The lowest ceiling that is no number of I/Os in flight."""
    return next((ceiling for ceiling in ceilings if ceiling.in_flight is None), None)


def _times(interval: Interval | None, factor: float) -> Interval | None:
    return None if interval is None else (interval[0] * factor, interval[1] * factor)


def _clipped(interval: Interval | None, most: float) -> Interval | None:
    return None if interval is None else (min(interval[0], most), min(interval[1], most))


def _factor(prediction: Prediction) -> float:
    """Throughput at the high end of a prediction over what was reached. 0: nothing is predicted."""
    predicted = prediction.predicted_ops_per_second
    return predicted[1] / prediction.ops_per_second if predicted is not None else 0.0

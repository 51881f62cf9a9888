"""A job that reads and writes keeps the ratio of both: the direction that is held back holds back the other one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.diagnosis.model import Interval
from sanpath.facts.compute import Facts
from sanpath.verdict.step_judgement import Judgement
from sanpath.whatif.ceilings import Ceiling, in_flight_under
from sanpath.whatif.change import Change
from sanpath.whatif.predict import Prediction, ceilings_under, untested


def with_kept_ratio(
    facts: Facts, judgements: Sequence[Judgement], changes: Sequence[Change], predictions: Sequence[Prediction]
) -> list[Prediction]:
    """The predictions, where directions of the same jobs change by the same factor.

    Each judgement has a change and a prediction. A direction in which nothing was found to limit, or something that
    is full in the other one, follows that one as far as its own ceilings allow. Otherwise the slower one leads, if
    both have the same change.
    """
    found = list(predictions)
    for i, judged in enumerate(judgements):
        for j, other in enumerate(judgements):
            is_pair = judged.load.step == other.load.step and judged.load.direction != other.load.direction
            if not is_pair or not judged.load.jobs or judged.load.jobs != other.load.jobs:
                continue
            is_held = found[i].predicted_ops_per_second is None or _is_held_by_other(judged)
            is_faster = changes[i] == changes[j] and _factor(predictions[i]) > _factor(predictions[j])
            if (is_held or is_faster) and _factor(found[j]) and not _is_held_by_other(other):
                found[i], found[j] = _together(facts, judgements, judged, changes[j], found[i], found[j])
    return found


def _is_held_by_other(judged: Judgement) -> bool:
    """Whether what limits one direction is full in the other one."""
    return bool(judged.bottlenecks) and judged.bottlenecks[0].direction not in (None, judged.load.direction)


def _together(
    facts: Facts,
    judgements: Sequence[Judgement],
    judged: Judgement,
    change: Change,
    follower: Prediction,
    leader: Prediction,
) -> tuple[Prediction, Prediction]:
    """Both, once the follower has the factor of the leader, or both have that of a lower ceiling of the follower.

    `judged`: the judgement of the follower. What its jobs keep in flight is no ceiling of it alone: both directions
    share it.
    """
    own = [each for each in ceilings_under(facts, judgements, judged, change) if each.in_flight is None]
    first = next(iter(own), None)
    if first is None:
        return follower, leader
    if first.ops_per_second[1] < follower.ops_per_second * _factor(leader):
        most = first.ops_per_second[1] / follower.ops_per_second
        leader = _scaled(leader, leader, min(1.0, most / _factor(leader)), first)
    kept = in_flight_under(facts, judged.load, change)
    followed = replace(
        follower, limit=leader.limit, grade=leader.grade, kept_in_flight=kept, unknown=None, ceilings=tuple(own)
    )
    followed = _scaled(followed, leader, follower.ops_per_second / leader.ops_per_second, None)
    high = followed.predicted_ops_per_second[1] if followed.predicted_ops_per_second is not None else 0.0
    return replace(followed, untested=tuple(untested(facts, judged.load, high))), leader


def _scaled(prediction: Prediction, by: Prediction, factor: float, ceiling: Ceiling | None) -> Prediction:
    """The prediction with the intervals of another one times a factor. `ceiling`: what limits then, None: the same
    as there."""

    def times(interval: Interval | None) -> Interval | None:
        return None if interval is None else (interval[0] * factor, interval[1] * factor)

    throughput = times(by.predicted_ops_per_second)
    kept = prediction.kept_in_flight
    return replace(
        prediction,
        entity=by.entity if ceiling is None else ceiling.entity,
        change=by.change if ceiling is None else ceiling.change,
        predicted_ops_per_second=throughput,
        predicted_latency_seconds=(kept / throughput[1], kept / throughput[0]) if throughput is not None else None,
        likely_ops_per_second=times(by.likely_ops_per_second),
    )


def _factor(prediction: Prediction) -> float:
    """Throughput at the high end of a prediction over what was reached. 0: nothing is predicted."""
    predicted = prediction.predicted_ops_per_second
    return predicted[1] / prediction.ops_per_second if predicted is not None else 0.0

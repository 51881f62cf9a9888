"""Whether a step became slower or faster from recording to recording, over days or months."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import exp, log
from statistics import linear_regression

from sanpath.comparison.changed_settings import changed_settings
from sanpath.comparison.differences import differences
from sanpath.comparison.performance_changes import MIN_CHANGE, throughput_spread
from sanpath.diagnosis.model import CurvePoint, Diagnosis

_MIN_RECORDINGS = 3
"""Two recordings show a change; a third is needed to show that it continues."""
_MIN_DAYS = 1.0
"""Days for a change over months: sanpath's own choice. Within a day, load varies by the hour."""
_MONTH_DAYS = 30.4


@dataclass(frozen=True, slots=True)
class Drift:
    """A step whose throughput rose, or fell, from each recording to the next.

    `days`: from the first to the last. `change`: of the throughput over that time, -0.1 for a tenth less.
    `per_month`: the same for each month, from a straight line through the logarithms. `spread`: largest relative
    difference between repetitions in one recording; None: no step was repeated. `changed_settings`: number of
    settings that differ between the first and the last recording: then time may not be the only reason.
    """

    direction: str
    operation_bytes: float | None
    in_flight: float
    days: float
    change: float
    per_month: float
    spread: float | None
    changed_settings: int


def drift(
    direction: str,
    operation_bytes: float | None,
    in_flight: float,
    runs: Sequence[Diagnosis],
    points: Sequence[CurvePoint | None],
) -> Drift | None:
    """Return the drift of one step. `points`: one for each run, None: the run has no such step.

    None: fewer than three recordings have the step, all are from one day, or its throughput does not rise or fall
    steadily by more than repetitions differ.
    """
    dated = [(datetime.fromisoformat(run.run.start), run, p) for run, p in zip(runs, points, strict=True) if p]
    dated.sort(key=lambda entry: entry[0])
    if len(dated) < _MIN_RECORDINGS:
        return None
    (first_time, first, _), (_, last, _) = dated[0], dated[-1]
    days = [(time - first_time).total_seconds() / 86_400 for time, _, _ in dated]
    rates = [point.ops_per_second for _, _, point in dated]
    spread = max((s for _, run, _ in dated if (s := throughput_spread(run.steps)) is not None), default=None)
    noise = max(MIN_CHANGE, spread or 0.0)
    change = rates[-1] / rates[0] - 1
    sign = 1 if change > 0 else -1
    is_steady = all(sign * (later / earlier - 1) > -noise / len(rates) for earlier, later in pairwise(rates))
    if days[-1] < _MIN_DAYS or abs(change) <= noise or not is_steady:
        return None
    slope = linear_regression(days, [log(rate) for rate in rates]).slope
    per_month = exp(slope * _MONTH_DAYS) - 1
    changed = len(changed_settings(differences(first, last)))
    return Drift(direction, operation_bytes, in_flight, days[-1], change, per_month, spread, changed)

"""What changed in one step between two runs: throughput, mean latency, percentiles and the maximum."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, log

from sanpath.diagnosis.model import DirectionResult, StepResult

SAME_IN_FLIGHT = 0.05
"""Relative difference up to which two runs had the same number of I/Os in flight: sanpath's own choice."""
SAME_SIZE = 0.05
"""Relative difference up to which the mean sizes of their I/Os are equal: sanpath's own choice."""
MIN_CHANGE = 0.03
"""If no run repeated a step, smaller relative changes are ignored: repetitions of the same test differ as much."""
_NOTABLE_TAIL = 0.25
"""The headline names a tail whose change differs from the mean's by at least this ratio. A maximum is a single I/O
and varies more than a mean: sanpath's own choice."""

QUANTITIES: Mapping[str, Callable[[DirectionResult], float | None]] = {
    "ops_per_second": lambda result: result.ops_per_second,
    "bytes_per_second": lambda result: result.bytes_per_second,
    "latency_mean_seconds": lambda result: result.latency_seconds.mean,
    "latency_p50_seconds": lambda result: result.latency_seconds.p50,
    "latency_p95_seconds": lambda result: result.latency_seconds.p95,
    "latency_p99_seconds": lambda result: result.latency_seconds.p99,
    "latency_max_seconds": lambda result: result.latency_seconds.max,
}
TAILS = ("latency_p95_seconds", "latency_p99_seconds", "latency_max_seconds")


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity of a step before and after. None: the load of that run does not report it.

    `change`: ratio, 0.1 for a tenth more; None without both values. `spread`: largest relative difference between
    repetitions of the step in either run, for throughput at least what its windows allow; None: no run repeated it.
    `is_within_spread`: the change is no larger than that; None: there is no change or no spread.
    """

    quantity: str
    before: float | None
    after: float | None
    change: float | None
    spread: float | None
    is_within_spread: bool | None


def changes(
    before: DirectionResult,
    after: DirectionResult,
    repetitions: tuple[Sequence[DirectionResult], Sequence[DirectionResult]],
) -> tuple[Change, ...]:
    """Every quantity that at least one of the runs reports.

    `repetitions`: of the step in each run, itself included.
    """
    result = []
    for quantity, value_of in QUANTITIES.items():
        old, new = value_of(before), value_of(after)
        if old is None and new is None:
            continue
        change = new / old - 1 if old and new is not None else None
        spreads = [spread for run in repetitions if (spread := _spread([value_of(r) for r in run])) is not None]
        spread = max(spreads, default=None)
        is_within = None if change is None or spread is None else abs(change) <= spread
        result.append(Change(quantity, old, new, change, spread, is_within))
    return tuple(result)


def _spread(values: Sequence[float | None]) -> float | None:
    """Range divided by mean. None: fewer than two values."""
    reported = [value for value in values if value is not None]
    mean = sum(reported) / len(reported) if reported else 0.0
    return (max(reported) - min(reported)) / mean if len(reported) > 1 and mean else None


def throughput_spread(steps: Sequence[StepResult]) -> float | None:
    """Largest relative difference in throughput between repetitions of a step. None: no step was repeated."""
    spreads = (
        _spread([repetition.directions[direction].ops_per_second for repetition in repetitions])
        for step in steps
        for direction in step.directions
        if len(repetitions := repetitions_of(step, direction, steps)) > 1
    )
    return max((spread for spread in spreads if spread is not None), default=None)


def repetitions_of(step: StepResult, direction: str, steps: Sequence[StepResult]) -> list[StepResult]:
    """The step and its repetitions in the same run.

    A repetition has the same name followed by a number, the same I/Os in flight and the same block size.
    """
    return [
        candidate
        for candidate in steps
        if direction in candidate.directions
        and base_name(candidate) == base_name(step)
        and is_peer(step, step.directions[direction], candidate, candidate.directions[direction])
    ]


def base_name(step: StepResult) -> str:
    """The name of a step without the number of its repetition."""
    return re.sub(r" \(\d+\)$", "", step.name)


def is_peer(old: StepResult, old_result: DirectionResult, new: StepResult, new_result: DirectionResult) -> bool:
    """Whether two steps have the same I/Os in flight, the same block size, and I/O in the same directions."""
    if set(old.directions) != set(new.directions):
        return False
    in_flight = old.in_flight.configured, new.in_flight.configured
    if None in in_flight:
        in_flight = old.in_flight.measured, new.in_flight.measured
    if (
        in_flight[0] is None
        or in_flight[1] is None
        or not isclose(in_flight[0], in_flight[1], rel_tol=SAME_IN_FLIGHT)
    ):
        return False
    sizes = (
        old_result.bytes_per_second / old_result.ops_per_second,
        new_result.bytes_per_second / new_result.ops_per_second,
    )
    return isclose(*sizes, rel_tol=SAME_SIZE)


def notable_tail(step_changes: Sequence[Change]) -> Change | None:
    """The tail with the largest change, if that differs from the mean's. None: no tail's does."""
    by_quantity = {change.quantity: change for change in step_changes}
    mean = by_quantity.get("latency_mean_seconds")
    tails = [
        (abs(log((1 + tail.change) / (1 + mean.change))), tail)
        for quantity in TAILS
        if mean is not None
        and mean.change is not None
        and (tail := by_quantity.get(quantity)) is not None
        and tail.change is not None
        and tail.change > -1
        and not tail.is_within_spread
    ]
    distance, tail = max(tails, key=lambda pair: pair[0], default=(0.0, None))
    return tail if distance >= log(1 + _NOTABLE_TAIL) else None

"""The knee of throughput over outstanding I/Os, found in few steps.

In a closed loop with N I/Os, throughput is at most N / R and at most X, where R is the latency of one I/O without
queueing and X the throughput of the saturated element. The two asymptotes meet at N* = X R, the knee (Lazowska,
Zahorjan, Graham, Sevcik, "Quantitative System Performance", 1984, chapter 5). Throughput of such networks is concave
in N (Dowdy, Eager, Gordon, Saxton, "Throughput concavity and response time convexity", 1984), so the chords of the
measured steps bound what lies between them. The next step is where that bound exceeds the measured throughput most.

In such networks latency does not fall as N grows, either. If it does, the steps with few I/Os counted too few of them
(or each pays for something that many share). Therefore the latency without queueing is that of isotonic regression:
the mean over all I/Os of the first steps, down to where latency starts to rise (Barlow, Bartholomew, Bremner, Brunk,
"Statistical Inference under Order Restrictions", 1972). A last step at half of the knee gives it enough I/Os.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf, log, sqrt

MAX_STEPS = 6
"""Maximum steps of a search."""
MAX_UNCERTAINTY = 0.05
"""Relative uncertainty of the highest throughput at which the search ends."""
_GROWING_ELASTICITY = 0.9
"""Elasticity of throughput at the most I/Os in flight from which no limit was reached."""
_MIN_FACTOR = 1.3
"""Steps whose I/Os in flight differ by a smaller factor show no elasticity."""
_CALM_RATIOS = (0.2, 0.75)
"""Shares of the I/Os at the knee between which a step confirms the latency without queueing."""


@dataclass(frozen=True, slots=True)
class Point:
    """One step: outstanding I/Os, operations a second, mean latency in seconds."""

    in_flight: int
    ops_per_second: float
    latency_seconds: float


@dataclass(frozen=True, slots=True)
class KneeFound:
    """The knee, with the interval that the measured steps allow. `is_reached`: throughput stopped growing."""

    in_flight: float
    low: float
    high: float
    is_reached: bool


def next_in_flight(points: Sequence[Point], max_in_flight: int, share: int = 1) -> int | None:
    """The outstanding I/Os of the next step. None: the knee is found, or the steps are used up.

    `max_in_flight`: the most that may be outstanding. `share`: a step needs a multiple of it.
    """
    tested = {point.in_flight for point in points}
    fewest, max_in_flight = share, max_in_flight // share * share
    if (untested := next((number for number in (fewest, max_in_flight) if number not in tested), None)) is not None:
        return untested
    if len(points) >= MAX_STEPS:
        return None
    found = knee(points)
    if len(tested) == 2:
        return _untested(found.in_flight, fewest, max_in_flight, share)
    best = max(point.ops_per_second for point in points)
    bounds = _bounds(_latest_by_in_flight(points))
    for bound, meeting, low, high in sorted(bounds, reverse=True):
        if bound <= (1 + MAX_UNCERTAINTY) * best:
            break
        if (candidate := _untested(meeting, low, high, share)) is not None:
            return candidate
    return _next_to_confirm(_latest_by_in_flight(points), found, share)


def _next_to_confirm(ordered: Sequence[Point], found: KneeFound, share: int) -> int | None:
    """The outstanding I/Os of a step that confirms the latency without queueing: half of the knee, and again between
    there and the knee if latency has fallen so far. None: it is confirmed."""
    lowest, highest = (ratio * found.in_flight for ratio in _CALM_RATIOS)
    tested = [point.in_flight for point in ordered]
    begin, last_calm = 0, tested[_calm_steps(ordered) - 1]
    if tested[0] > highest:
        return None
    if any(lowest <= number <= highest for number in tested[1:]):
        if not tested[0] < last_calm <= highest:
            return None
        begin = last_calm
    above = next(number for number in tested if number > highest)
    below = max(number for number in tested if number <= highest)
    return _untested((begin + found.in_flight) / 2, below, above, share)


def knee(points: Sequence[Point]) -> KneeFound:
    """The knee of the steps so far. Raises ValueError without any."""
    ordered = _latest_by_in_flight(points)
    calm = _calm_seconds(ordered)
    least = min(point.latency_seconds for point in ordered)
    best = max(point.ops_per_second for point in ordered)
    highest = max((bound for bound, *_ in _bounds(ordered)), default=best)
    return KneeFound(
        best * calm, best * least * (1 - MAX_UNCERTAINTY / 2), max(best, highest) * calm, _is_reached(ordered)
    )


def _calm_seconds(ordered: Sequence[Point]) -> float:
    """The latency without queueing: the mean over the I/Os of the first steps."""
    calm = ordered[: _calm_steps(ordered)]
    return sum(point.in_flight for point in calm) / sum(point.ops_per_second for point in calm)


def _calm_steps(ordered: Sequence[Point]) -> int:
    """The number of first steps over which the mean latency of the I/Os is lowest."""
    in_flight = accumulate(point.in_flight for point in ordered)
    ops_per_second = accumulate(point.ops_per_second for point in ordered)
    seconds = [number / ops if ops else inf for number, ops in zip(in_flight, ops_per_second, strict=True)]
    return 1 + seconds.index(min(seconds))


def _is_reached(ordered: Sequence[Point]) -> bool:
    """Whether throughput grows less than the outstanding I/Os, over all steps and at their end. A single I/O may be
    fast or slow for its own reasons, such as sleeping processors."""
    calm, last = _calm_seconds(ordered), ordered[-1]
    if last.ops_per_second >= _GROWING_ELASTICITY * last.in_flight / calm:
        return False
    fewer = [point for point in ordered if point.in_flight * _MIN_FACTOR <= last.in_flight]
    if not fewer or not last.ops_per_second or not fewer[-1].ops_per_second:
        return True
    growth = log(last.ops_per_second / fewer[-1].ops_per_second)
    return growth < _GROWING_ELASTICITY * log(last.in_flight / fewer[-1].in_flight)


def _latest_by_in_flight(points: Sequence[Point]) -> list[Point]:
    """One point for each number of I/Os, in ascending order; of several the last one."""
    return [point for _, point in sorted({point.in_flight: point for point in points}.items())]


def _bounds(points: Sequence[Point]) -> list[tuple[float, float, int, int]]:
    """For each gap between steps: the highest throughput that concavity allows, where it is, and the gap's ends."""
    bounds = []
    for index, (first, second) in enumerate(pairwise(points)):
        before = (points[index - 1].in_flight, points[index - 1].ops_per_second) if index else (0, 0.0)
        rising = (first.ops_per_second - before[1]) / (first.in_flight - before[0])
        if index + 2 < len(points):
            after = points[index + 2]
            falling = (after.ops_per_second - second.ops_per_second) / (after.in_flight - second.in_flight)
        else:
            falling = None
        number, bound = _meeting(first, rising, second, falling)
        bounds.append((bound, number, first.in_flight, second.in_flight))
    return bounds


def _meeting(first: Point, rising: float, second: Point, falling: float | None) -> tuple[float, float]:
    """The point where the chord before a gap meets the chord behind it: outstanding I/Os and throughput.

    `rising`, `falling`: slopes of these chords; None: nothing is behind the gap, so any fall is possible.
    """
    width = second.in_flight - first.in_flight
    reach = first.ops_per_second + rising * width
    if reach <= second.ops_per_second:  # Noise: the steps are not quite concave.
        return second.in_flight, second.ops_per_second
    if falling is None:
        return sqrt(first.in_flight * second.in_flight), reach
    if rising <= falling:
        return first.in_flight, max(first.ops_per_second, second.ops_per_second)
    in_flight = (second.ops_per_second - first.ops_per_second - falling * width) / (rising - falling)
    in_flight = min(max(0.0, in_flight), width)
    return first.in_flight + in_flight, first.ops_per_second + rising * in_flight


def _untested(number: float, low: int, high: int, share: int) -> int | None:
    """A number of I/Os strictly between two tested ones, near `number`. None: there is none."""
    rounded = share * round(number / share)
    if low < rounded < high:
        return rounded
    middle = share * round(sqrt(low * high) / share)
    return middle if low < middle < high else None

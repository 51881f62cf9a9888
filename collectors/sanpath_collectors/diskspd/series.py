"""The figures of each load of a timespan: by interval if DiskSpd ran with -D, otherwise in one interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.diskspd.outcome import Figures, TargetOutcome

_TOLERANCE_RATIO = 0.01
"""Intervals are not used if the sum of their I/Os differs from the timespan's by more than this ratio."""
_ROUNDING_SECONDS = 0.01
"""Rounding of the timespan's length."""


@dataclass(frozen=True, slots=True)
class IntervalFigures:
    """The figures of one load in one direction and interval. `mean_seconds`: mean latency, None: unknown."""

    direction: Direction
    ops: float
    bytes: float
    mean_seconds: float | None


Timeline = Mapping[int, Sequence[Sequence[IntervalFigures]]]
"""End of an interval, in microseconds since the begin of the measurement → a sequence of figures for each load."""


def build_timeline(loads: Sequence[TargetOutcome], seconds: float) -> Timeline:
    """The intervals, if those of all loads are complete; otherwise the timespan as one interval.

    I/Os after the last complete interval are missing in the intervals.
    """
    ends_by_load = [
        [ends for ends in load.intervals if ends <= (seconds + _ROUNDING_SECONDS) * 1e3] for load in loads
    ]
    interval_ends = sorted({ends for load_intervals in ends_by_load for ends in load_intervals})
    if not interval_ends or not all(ends_by_load):
        return _single_interval(loads, seconds)
    load_intervals = [_intervals(load, interval_ends) for load in loads]
    series = [entry for entry in load_intervals if entry is not None]
    if len(series) < len(loads):
        return _single_interval(loads, seconds)
    return {ends * 1000: [entry[index] for entry in series] for index, ends in enumerate(interval_ends)}


def _single_interval(loads: Sequence[TargetOutcome], seconds: float) -> Timeline:
    entry = [
        [
            IntervalFigures(d, load.figures[d].ops, load.figures[d].bytes, load.figures[d].mean_seconds)
            for d in DIRECTIONS
        ]
        for load in loads
    ]
    return {round(seconds * 1e6): entry}


def _intervals(load: TargetOutcome, interval_ends: Sequence[int]) -> list[list[IntervalFigures]] | None:
    """Intervals of one load. None: their sum differs from the timespan's, or only the timespan has latencies."""
    interval_seconds = interval_ends[0] / 1e3  # SampleMillisecond is the end of an interval.
    series: list[list[IntervalFigures]] = [[] for _ in interval_ends]
    for direction in DIRECTIONS:
        figures = load.figures[direction]
        rates = [
            interval.rates[direction] if (interval := load.intervals.get(ends)) else 0.0 for ends in interval_ends
        ]
        latency_sums = [
            interval.latency_sums[direction] if (interval := load.intervals.get(ends)) else 0.0
            for ends in interval_ends
        ]
        if abs(sum(rates) * interval_seconds - figures.ops) > _TOLERANCE_RATIO * figures.ops + 1:
            return None
        if figures.mean_seconds and not any(latency_sums):
            return None
        for entry, rate, latency_sum in zip(series, rates, latency_sums, strict=True):
            mean_seconds = latency_sum / rate if rate and any(latency_sums) else None
            entry.append(
                IntervalFigures(
                    direction, rate * interval_seconds, rate * interval_seconds * _bytes_per_op(figures), mean_seconds
                )
            )
    return series


def _bytes_per_op(figures: Figures) -> float:
    return figures.bytes / figures.ops if figures.ops else 0.0

"""What each load of a timespan did, interval by interval where -D tells it, else in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.diskspd.outcome import Figures, TargetOutcome

_SAME = 0.01
"""Intervals that come to a number of I/Os further from that of the whole timespan are no series of it."""
_ROUNDED_SECONDS = 0.01
"""To which the length of the timespan is written."""


@dataclass(frozen=True, slots=True)
class Done:
    """What one load did in one direction in one interval. `mean_seconds`: mean latency, None: not told."""

    direction: Direction
    ops: float
    bytes: float
    mean_seconds: float | None


Timeline = Mapping[int, Sequence[Sequence[Done]]]
"""End of an interval, microseconds since the measured part began → what was done in it, load by load."""


def timeline(loads: Sequence[TargetOutcome], seconds: float) -> Timeline:
    """The intervals where all loads tell them as fully as they tell the whole, else the whole as one.

    What ends after the last whole interval is in the figures of the whole only.
    """
    within = [[ends for ends in load.intervals if ends <= (seconds + _ROUNDED_SECONDS) * 1e3] for load in loads]
    instants = sorted({ends for told in within for ends in told})
    if not instants or not all(within):
        return _as_one(loads, seconds)
    told = [_intervals(load, instants) for load in loads]
    series = [done for done in told if done is not None]
    if len(series) < len(loads):
        return _as_one(loads, seconds)
    return {ends * 1000: [done[at] for done in series] for at, ends in enumerate(instants)}


def _as_one(loads: Sequence[TargetOutcome], seconds: float) -> Timeline:
    done = [
        [Done(d, load.figures[d].ops, load.figures[d].bytes, load.figures[d].mean_seconds) for d in DIRECTIONS]
        for load in loads
    ]
    return {round(seconds * 1e6): done}


def _intervals(load: TargetOutcome, instants: Sequence[int]) -> list[list[Done]] | None:
    """None: they do not come to the figures of the whole, or tell no latencies although those do."""
    width = instants[0] / 1e3  # SampleMillisecond is where an interval ends
    found: list[list[Done]] = [[] for _ in instants]
    for direction in DIRECTIONS:
        figures = load.figures[direction]
        rates = [told.rates[direction] if (told := load.intervals.get(ends)) else 0.0 for ends in instants]
        waits = [told.waits[direction] if (told := load.intervals.get(ends)) else 0.0 for ends in instants]
        if abs(sum(rates) * width - figures.ops) > _SAME * figures.ops + 1:
            return None
        if figures.mean_seconds and not any(waits):
            return None
        for done, rate, wait in zip(found, rates, waits, strict=True):
            mean = wait / rate if rate and any(waits) else None
            done.append(Done(direction, rate * width, rate * width * _bytes_each(figures), mean))
    return found


def _bytes_each(figures: Figures) -> float:
    return figures.bytes / figures.ops if figures.ops else 0.0

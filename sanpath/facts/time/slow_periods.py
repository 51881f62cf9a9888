"""Finds the periods of a step in which the load's I/Os take longer with the same number outstanding, because
something else slows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sanpath.facts.samples.cumulative import cumulative_work
from sanpath.facts.samples.slow_windows import slow_windows, whole_windows
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step

_EDGE_WINDOWS = 2
"""Windows at the edges of a period."""
_MIN_LATENCY_RATIO = 0.1
"""Share of the mean latency that slow periods must cause to count: sanpath's own choice."""


@dataclass(frozen=True, slots=True)
class SlowPeriods:
    """The slow periods of a step. `periods`: in order, with the name of the step; the ratios are those of
    SlowWindows."""

    step: Step
    periods: tuple[Step, ...]
    time_ratio: float
    latency_ratio: float


def slow_periods(step: Step, samples: Sequence[StepSamples]) -> SlowPeriods | None:
    """Return the slow periods of a step. None: it has none that count, or too few windows show its course. `samples`:
    those of its loads in it.

    A period begins and ends within a window: its first and last are left out, and so are periods without others.
    """
    work, waits = cumulative_work(samples, "ops"), cumulative_work(samples, "latency_seconds")
    if work is None or waits is None or len(work.limits) < 2:
        return None
    left = whole_windows(work.limits, np.interp(work.limits, waits.limits, waits.until), _max_depth(step, samples))
    limits = work.limits[left]
    found = slow_windows(work.rates(limits), waits.rates(limits), np.diff(limits), np.diff(left) > 1)
    if found is None or found.latency_ratio < _MIN_LATENCY_RATIO:
        return None
    edges = np.flatnonzero(np.diff(np.concatenate(([False], found.is_slow, [False])).astype(int)))
    periods = tuple(
        replace(step, start=round(1e6 * limits[begin + 1]), end=round(1e6 * limits[end - 1]), began=None)
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if end - begin > _EDGE_WINDOWS
    )
    if not periods:
        return None
    return SlowPeriods(step, periods, found.time_ratio, found.latency_ratio)


def _max_depth(step: Step, samples: Sequence[StepSamples]) -> float | None:
    """Return how many I/Os can be outstanding. None: not known."""
    configured = [each.last_values.get("in_flight_configured") for each in samples]
    return step.offered or (None if None in configured else sum(each or 0.0 for each in configured))

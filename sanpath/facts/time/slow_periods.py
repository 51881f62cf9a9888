"""Finds the periods of a step in which as many I/Os of its load take longer, because something else slows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.cumulative import Numbers, cumulative_work
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step

_LEAST_WINDOWS = 8
"""With fewer windows a change may be chance."""
_FASTEST_PART = 0.25
"""Share of the time with the lowest latency, which is that without what slows the load for a while."""
_NOISE = 4.0
"""A window is slower if its latency exceeds that of the fastest ones by this many times the usual difference of
successive ones: sanpath's own choice, as for the steps of a load that marks none."""
_ABOVE_MEDIAN = 0.5
"""Standard errors: more would take the changes between short periods for noise. sanpath's own choice."""
_SLOWER = 1.1
"""The least ratio of its latency to that of the fastest ones: sanpath's own choice."""
_AS_MANY = 1.15
"""Ratio of the outstanding I/Os, either way, up to which a window has as many as the fastest ones."""
_SAME_LEVEL = 0.25
"""Least ratio of what an I/O waits in a slow window to the mean over all that wait: windows of one cause have about
one level, and a little slowness is not mixed with it. sanpath's own choice."""
_EDGES = 2
"""Windows at the edges of a period."""
_LEAST_RATIO = 0.1
"""Share of the mean latency that passes because of them, from which slow periods count: sanpath's own choice."""


@dataclass(frozen=True, slots=True)
class SlowWindows:
    """Which windows of a load are slow. `in_flight`: outstanding I/Os in the fastest ones. `latency_ratio`: the share
    of the mean latency that would not pass if the slow ones were as fast. `time_ratio`: their share of the time."""

    is_slow: npt.NDArray[np.bool_]
    in_flight: float
    latency_ratio: float
    time_ratio: float


@dataclass(frozen=True, slots=True)
class SlowPeriods:
    """The slow periods of a step. `periods`: in order, with the name of the step; the ratios are those of
    SlowWindows."""

    step: Step
    periods: tuple[Step, ...]
    time_ratio: float
    latency_ratio: float


def slow_windows(operations: Numbers, in_flight: Numbers, seconds: Numbers) -> SlowWindows | None:
    """Find the windows in which as many I/Os take longer. None: too few windows to tell.

    A load that keeps as many I/Os outstanding gets the same latency as long as nothing else slows them down.
    `operations`: a second, `in_flight`: in the mean, `seconds`: length, of each window. Windows in which none
    completed count as none.
    """
    moves = (operations > 0) & (in_flight > 0)
    if np.count_nonzero(moves) < _LEAST_WINDOWS:
        return None
    latency = np.where(moves, in_flight, 1.0) / np.where(moves, operations, 1.0)
    ios = operations * seconds
    noise = _noise(latency[moves])
    order = np.flatnonzero(moves)[np.argsort(latency[moves], kind="stable")]
    enough = int(np.searchsorted(np.cumsum(seconds[order]), _FASTEST_PART * float(np.sum(seconds[moves]))))
    fastest = order[: enough + 1]
    fast_seconds = float(np.sum((latency * ios)[fastest]) / np.sum(ios[fastest]))
    usual = float(np.median(in_flight[fastest]))
    is_slow = moves & (latency > fast_seconds * max(_SLOWER, float(np.exp(_NOISE * noise))))
    is_slow &= (in_flight >= usual / _AS_MANY) & (in_flight <= usual * _AS_MANY)
    waits = np.where(is_slow, ios * (latency - fast_seconds), 0.0)
    usual_wait = float(np.sum(waits * (latency - fast_seconds))) / (float(np.sum(waits)) or 1.0)
    is_slow &= latency - fast_seconds >= _SAME_LEVEL * usual_wait
    lost = float(np.sum(waits[is_slow]))
    return SlowWindows(
        is_slow,
        usual,
        lost / float(np.sum((latency * ios)[moves])),
        float(np.sum(seconds[is_slow]) / np.sum(seconds[moves])),
    )


def _noise(latencies: Numbers) -> float:
    """Return the usual difference of successive latencies, as a ratio. Of a few, half may be small by chance: it is
    half a standard error above the median, by order statistics."""
    differences = np.sort(np.abs(np.diff(np.log(latencies))))
    count = len(differences)
    return float(differences[min(int((count + _ABOVE_MEDIAN * np.sqrt(count)) / 2), count - 1)])


def slow_periods(step: Step, samples: Sequence[StepSamples]) -> SlowPeriods | None:
    """Return the slow periods of a step. None: it has none that count, or too few windows show its course.

    `samples`: those of its loads in it. A period begins and ends within a window: its first and last are left out,
    and so are periods without others.
    """
    work, waits = cumulative_work(samples, "ops"), cumulative_work(samples, "latency_seconds")
    if work is None or waits is None or len(work.limits) < 2:
        return None
    limits = work.limits
    found = slow_windows(work.rates(limits), waits.rates(limits), np.diff(limits))
    if found is None or found.latency_ratio < _LEAST_RATIO:
        return None
    edges = np.flatnonzero(np.diff(np.concatenate(([False], found.is_slow, [False])).astype(int)))
    periods = tuple(
        replace(step, start=round(1e6 * limits[begin + 1]), end=round(1e6 * limits[end - 1]), began=None)
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if end - begin > _EDGES
    )
    if not periods:
        return None
    return SlowPeriods(step, periods, found.time_ratio, found.latency_ratio)

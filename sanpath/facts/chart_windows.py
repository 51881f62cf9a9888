"""Values over time on the intervals of a chart: counters' rates and gauges of single entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.gauge_windows import Window
from sanpath.facts.samples.step_samples import StepSamples

Values = tuple[float | None, ...]
Numbers = npt.NDArray[np.float64]

_MIN_KNOWN_RATIO = 0.5
"""Smallest known share of an interval that gives it a value."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The intervals of a chart. `edges`: their limits, microseconds on the recorder's clock."""

    edges: Numbers

    def totals(self, windows: Sequence[Window]) -> tuple[Numbers, Numbers]:
        """Return value x time, and the time with a value, of one entity in each interval."""
        ended_us, seconds, values = np.array(sorted(windows), dtype=np.float64).T
        began_us = np.maximum(ended_us - 1e6 * seconds, np.concatenate(([-np.inf], ended_us[:-1])))
        limits = np.column_stack((began_us, ended_us)).ravel()
        # Up to each limit: value x time, and time. Both are constant while nothing was reported.
        sums, times = (
            np.diff(
                np.interp(self.edges, limits, np.cumsum(np.column_stack((np.zeros_like(ended_us), grown)).ravel()))
            )
            for grown in ((ended_us - began_us) * values, ended_us - began_us)
        )
        return sums, times

    def means(self, *entities: Sequence[Window]) -> Values:
        """Return the sum of the entities' values in each interval; None: not known. Before its first and after its
        last window, an entity counts as idle. In a gap between windows, its value is not known, and neither is the
        sum."""
        reported = [windows for windows in entities if windows]
        if not reported:
            return (None,) * (len(self.edges) - 1)
        length = np.diff(self.edges)
        enough = np.full(length.shape, True)
        reported_time, rates = np.zeros_like(length), np.zeros_like(length)
        for windows in reported:
            sums, times = self.totals(windows)
            known_time = times + self._outside(windows)
            enough &= known_time >= _MIN_KNOWN_RATIO * length
            reported_time += times
            rates += sums / np.maximum(known_time, 1.0)
        enough &= reported_time >= _MIN_KNOWN_RATIO * length
        return tuple(float(rate) if is_known else None for rate, is_known in zip(rates, enough, strict=True))

    def _outside(self, windows: Sequence[Window]) -> Numbers:
        """Return the microseconds of each interval before the first window, or later than another window after the
        last one would end."""
        first, last = min(ended - 1e6 * seconds for ended, seconds, _ in windows), max(windows)
        inside = np.diff(np.clip(self.edges, first, last[0] + 1e6 * last[1]))
        return np.asarray(np.diff(self.edges) - inside)


def counter_windows(sample: StepSamples, counter: str, other_counter: str = "") -> list[Window]:
    """Return the windows in which both counters have a rate."""
    rates, other_rates = sample.rates.get(counter, ()), sample.rates.get(other_counter or counter, ())
    windows = zip(sample.ended_us, sample.seconds, rates, other_rates, strict=False)
    return [
        (ended_us, seconds, rate)
        for ended_us, seconds, rate, other_rate in windows
        if rate is not None and other_rate is not None
    ]

"""Values over time on the intervals of a chart: counters' rates and gauges of single entities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.sample_arrays import SampleReader, cached_arrays, timed_samples
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.recording.reading.recording import Recording

Values = tuple[float | None, ...]
Numbers = npt.NDArray[np.float64]
Window = tuple[int, float, float]
"""(end on the recorder's clock in microseconds, length in seconds, value)."""

_MIN_KNOWN_RATIO = 0.5
"""An interval has no value if less than this share of it is known."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The intervals of a chart. `edges`: their limits, microseconds on the recorder's clock."""

    edges: Numbers

    def totals(self, windows: Sequence[Window]) -> tuple[Numbers, Numbers]:
        """Return value x time, and the time with a value, of one entity in each interval."""
        ended_us, seconds, values = np.array(sorted(windows), dtype=np.float64).T
        began_us = np.maximum(ended_us - 1e6 * seconds, np.concatenate(([-np.inf], ended_us[:-1])))
        limits = np.column_stack((began_us, ended_us)).ravel()
        # Up to each limit: value x time, and time. Both are constant where nothing was reported.
        sums, times = (
            np.diff(
                np.interp(self.edges, limits, np.cumsum(np.column_stack((np.zeros_like(ended_us), grown)).ravel()))
            )
            for grown in ((ended_us - began_us) * values, ended_us - began_us)
        )
        return sums, times

    def means(self, *entities: Sequence[Window]) -> Values:
        """Return the entities' values, summed, in each interval; None: not known.

        Before its first and after its last window an entity counts as idle. In a gap between windows its value, and
        so the sum, is not known."""
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
        """Return how many microseconds of each interval lie before the first window, or later than a further window
        after the last one would end."""
        first, last = min(ended - 1e6 * seconds for ended, seconds, _ in windows), max(windows)
        inside = np.diff(np.clip(self.edges, first, last[0] + 1e6 * last[1]))
        return np.asarray(np.diff(self.edges) - inside)


def counter_windows(sample: StepSamples, counter: str, other_counter: str = "") -> list[Window]:
    """Return the windows in which a counter has a rate, and another counter has one too."""
    rates, other_rates = sample.rates.get(counter, ()), sample.rates.get(other_counter or counter, ())
    windows = zip(sample.ended_us, sample.seconds, rates, other_rates, strict=False)
    return [
        (ended_us, seconds, rate)
        for ended_us, seconds, rate, other_rate in windows
        if rate is not None and other_rate is not None
    ]


def gauge_windows(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    names: Sequence[str],
    source_ids: Collection[tuple[str, str]],
) -> dict[tuple[str, str], list[Window]]:
    """Return (source, its own id) → the sum of gauges over time, of those `source_ids` whose source reports the first
    gauge. Gauges that it does not report are left out of the sum."""
    timed, recorded = timed_samples(recording, connection, kind)
    windows: dict[tuple[str, str], list[Window]] = {}
    for source, columns in recording.columns(kind).items():
        reported = [name for name in names if name in recorded and name in columns]
        entities = sorted(entity for id_source, entity in source_ids if id_source == source)
        if not reported or not entities:
            continue
        cached = cached_arrays(recording, kind, source, reported)
        samples = SampleReader(connection, timed, source, reported, cached=cached).read(entities)
        samples = samples.reported(reported[:1])
        if not samples.entities:
            continue
        follows = np.append(False, np.diff(samples.entity) == 0)
        pauses = np.append(0.0, np.diff(samples.moment) / 1e6)
        covered = samples.covers_seconds
        seconds = np.where(covered.is_known(), covered.numbers, np.where(follows, pauses, 1.0))
        total = sum(
            np.where(samples.columns[name].is_known(), samples.columns[name].numbers, 0) * columns[name].scale
            for name in reported
        )
        rows = zip(
            samples.entity.tolist(),
            samples.moment.tolist(),
            seconds.tolist(),
            np.asarray(total).tolist(),
            strict=True,
        )
        for entity, *window in rows:
            windows.setdefault((source, samples.entities[entity]), []).append((window[0], window[1], window[2]))
    return windows

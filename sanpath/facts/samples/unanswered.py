"""Times in which a block device answers nothing: I/Os are outstanding, and none is completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from sanpath.facts.samples.sample_arrays import Floats, SampleArrays, SampleReader, cached_arrays, timed_samples
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.sample_cache import Mask
from sanpath.topology.keys import Local

_MIN_SECONDS = 5.0
"""Shortest time without an answer that is one: sanpath's own choice. Linux gives a SCSI command 30 s, and a drive
that retries a read takes a few."""
_MIN_BUSY_RATIO = 0.99
"""Share of a window in which I/Os are outstanding from which they are so all the time: shares are rounded."""
_OUTSTANDING, _BUSY, _WAITED = "in_flight", "busy_seconds_total", "in_flight_seconds_total"
_COMPLETED = ("ops_read_total", "ops_write_total", "ops_discard_total", "ops_flush_total")


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A time in which a device answered nothing, on the recorder's clock in microseconds.

    `source`: the one that shows it. `outstanding`: the device's I/Os at the end of that time, None: not known.
    """

    source: str
    device: str
    began_us: int
    ended_us: int
    outstanding: float | None

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.ended_us - self.began_us) / 1e6


def unanswered(
    recording: Recording, connection: duckdb.DuckDBPyConnection, known_as: Mapping[Local, str]
) -> list[Unanswered]:
    """Return the times in which a device answered nothing, from one sample to another. One source shows each.

    I/Os that are outstanding at two polls, between which none was completed, are the same ones. A device that is busy
    all the time has at least one.
    """
    found: list[Unanswered] = []
    timed, recorded = timed_samples(recording, connection, "lun")
    for source, columns in recording.columns("lun").items():
        completed = [name for name in _COMPLETED if name in columns and name in recorded]
        waiting = [name for name in (_OUTSTANDING, _BUSY) if name in columns and name in recorded]
        if not completed or not waiting:
            continue
        metrics = [name for name in (*waiting, _WAITED, *completed) if name in columns and name in recorded]
        cached = cached_arrays(recording, "lun", source, metrics)
        samples = SampleReader(connection, timed, source, metrics, cached=cached).read().reported(waiting)
        scales = {name: columns[name].scale for name in metrics}
        for index, began_us, ended_us, outstanding in _silent_times(samples, scales):
            device = known_as.get((source, "lun", samples.entities[index]))
            if device is not None and ended_us - began_us >= _MIN_SECONDS * 1e6:
                found.append(Unanswered(source, device, began_us, ended_us, outstanding))
    longest = {each.device: each.source for each in sorted(found, key=lambda each: each.seconds)}
    return [each for each in found if longest[each.device] == each.source]


def _silent_times(samples: SampleArrays, scales: Mapping[str, float]) -> Iterator[tuple[int, int, int, float | None]]:
    """Yield the index of a device, begin and end of a time in which it answered nothing, and its outstanding I/Os.
    `scales`: metric → its unit in base units."""
    seconds = np.diff(samples.moment) / 1e6
    growths = {name: np.diff(samples.columns[name].numbers) * scale for name, scale in scales.items()}
    known = {name: samples.columns[name].is_known() for name in scales}
    completed = [name for name in _COMPLETED if name in scales]
    counted = np.any([known[name] for name in completed], axis=0)
    silent = counted[1:] & counted[:-1] & (np.diff(samples.entity) == 0) & (seconds > 0)
    silent &= _waits(samples, seconds, growths.get(_BUSY))
    for name in completed:
        silent &= ~(known[name][1:] & known[name][:-1]) | (growths[name] == 0)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], silent, [False]))))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        outstanding = None
        if _OUTSTANDING in scales:
            outstanding = float(samples.columns[_OUTSTANDING].numbers[last])
        elif _WAITED in scales:
            # Kernels from 5.0 on count this time only when an I/O is completed.
            mean = growths[_WAITED][first:last].sum() / seconds[first:last].sum()
            outstanding = float(mean) if mean >= 1 else None
        yield int(samples.entity[first]), int(samples.moment[first]), int(samples.moment[last]), outstanding


def _waits(samples: SampleArrays, seconds: Floats, busy_seconds: Floats | None) -> Mask:
    """Return in which windows a device had I/Os outstanding all the time.

    Some kernels lose count, and an idle device has I/Os outstanding for ever. So only those count that are more than
    the device had at another time.
    """
    devices = len(samples.entities)
    if _OUTSTANDING in samples.columns:
        values = samples.columns[_OUTSTANDING]
        numbers = np.where(values.is_known(), values.numbers, np.inf)
        least = np.full(devices, np.inf)
        np.minimum.at(least, samples.entity, numbers)
        is_waiting = np.isfinite(numbers) & (numbers > least[samples.entity])
        return is_waiting[1:] & is_waiting[:-1]
    if busy_seconds is None:
        return np.zeros(len(seconds), dtype=bool)
    known = samples.columns[_BUSY].is_known()
    is_busy = known[1:] & known[:-1] & (busy_seconds >= _MIN_BUSY_RATIO * seconds)
    is_same = np.diff(samples.entity) == 0
    was_idle = np.zeros(devices, dtype=bool)
    was_idle[samples.entity[1:][is_same & ~is_busy]] = True
    return is_busy & was_idle[samples.entity[1:]]


def with_unanswered_ios(
    samples: Sequence[StepSamples], times: Sequence[Unanswered], known_as: Mapping[Local, str]
) -> list[StepSamples]:
    """Return block devices' samples with the time for which unanswered I/Os have waited until the end of a step.

    A device counts an I/O and its time when it has completed it. Of a device that reads and writes, it is not known
    which of both these I/Os are: it stays as it is.
    """
    by_device = {each.device: each for each in times if each.outstanding is not None}
    found = ((each, by_device.get(known_as.get((each.source, "lun", each.entity), ""))) for each in samples)
    return [sample if time is None else _with(sample, time) for sample, time in found]


def _with(sample: StepSamples, time: Unanswered) -> StepSamples:
    directions = [direction for direction in DIRECTIONS if sample.rate(f"ops_{direction}_total")]
    counter = f"latency_seconds_{directions[0]}_total" if len(directions) == 1 else ""
    if counter not in sample.rates:
        return sample
    windows = list(zip(sample.rates[counter], sample.ended_us, sample.seconds, strict=False))
    waits = [(time.outstanding or 0.0) * _shared_seconds(time, end, seconds) for _, end, seconds in windows]
    counted = sum((rate or 0.0) * seconds for rate, end, seconds in windows if end > time.began_us)
    if counted >= sum(waits):
        return sample  # They were completed within the step.
    rates = [
        None if rate is None else rate + wait / seconds
        for (rate, _, seconds), wait in zip(windows, waits, strict=True)
    ]
    others = {name: rate for name, rate in sample.mean_rates.items() if name != counter}
    return replace(sample, rates={**sample.rates, counter: rates}, mean_rates=others)


def _shared_seconds(time: Unanswered, end_us: int, seconds: float) -> float:
    """Return the seconds of a window in which the device answered nothing."""
    return max(0.0, min(end_us, time.ended_us) / 1e6 - max(end_us / 1e6 - seconds, time.began_us / 1e6))

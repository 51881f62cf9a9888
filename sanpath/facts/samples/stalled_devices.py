"""Times in which a block device answers nothing: I/Os are outstanding, and none is completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from sanpath.facts.samples.sample_arrays import SampleArrays, SampleReader, cached_arrays, timed_samples
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS
from sanpath.recording.reading.recording import Recording
from sanpath.recording.reading.sample_cache import Mask
from sanpath.topology.keys import Local

_MIN_SECONDS = 5.0
"""Shortest time without a completed I/O that counts as a stall: sanpath's own choice. Linux gives a SCSI command 30
s, and a drive that retries a read takes a few seconds."""
_MIN_BUSY_RATIO = 0.9
"""Share of a window with outstanding I/Os from which I/Os count as outstanding all the time: polls are a little early
or late."""
_MAX_IDLE_RATIO = 0.5
"""The same share up to which a device was certainly idle for a part of the window."""
_OUTSTANDING, _BUSY, _WAITED = "in_flight", "busy_seconds_total", "in_flight_seconds_total"
_COMPLETED = tuple(f"{what}_total" for what in ("ops_read", "ops_write", "ops_discard", "ops_flush"))
_MOVED = tuple(f"bytes_{direction}_total" for direction in DIRECTIONS)


@dataclass(frozen=True, slots=True)
class DeviceStall:
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


def device_stalls(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    devices: Mapping[Local, str],
    loaded_us: tuple[float, float],
) -> list[DeviceStall]:
    """Return the times in which a device answered nothing, while a load ran. One source shows each.

    I/Os were outstanding all the time, and none was completed. Only sources that count how long a device is busy are
    used: those of Linux, which count every kind of command. `devices`: (source, kind, its own id) → device, those of
    the load; `loaded_us`: when a load ran, begin and end.
    """
    found: list[DeviceStall] = []
    timed, recorded = timed_samples(recording, connection, "lun")
    for source, columns in recording.columns("lun").items():
        metrics = [name for name in (_BUSY, _OUTSTANDING, _WAITED, *_COMPLETED, *_MOVED) if name in columns]
        metrics = [name for name in metrics if name in recorded]
        if metrics[:1] != [_BUSY] or not set(_COMPLETED) & set(metrics):
            continue
        cached = cached_arrays(recording, "lun", source, metrics)
        own_ids = [own_id for of_source, kind, own_id in devices if (of_source, kind) == (source, "lun")]
        samples = SampleReader(connection, timed, source, metrics, cached=cached).read(own_ids).reported([_BUSY])
        scales = {name: columns[name].scale for name in metrics}
        for index, first_us, last_us, outstanding in _silent_times(samples, scales):
            began_us, ended_us = max(first_us, loaded_us[0]), min(last_us, loaded_us[1])
            if ended_us - began_us >= _MIN_SECONDS * 1e6:
                device = devices[source, "lun", samples.entities[index]]
                found.append(DeviceStall(source, device, round(began_us), round(ended_us), outstanding))
    longest = {each.device: each.source for each in sorted(found, key=lambda each: each.seconds)}
    return [each for each in found if longest[each.device] == each.source]


def _silent_times(samples: SampleArrays, scales: Mapping[str, float]) -> Iterator[tuple[int, int, int, float | None]]:
    """Yield the index of a device, begin and end of a time in which it answered nothing, and its outstanding I/Os.
    `scales`: metric → its unit in base units."""
    seconds = np.diff(samples.moment) / 1e6
    growths = {name: np.diff(samples.columns[name].numbers) * scale for name, scale in scales.items()}
    known = {name: samples.columns[name].is_known() for name in scales}
    is_same = (np.diff(samples.entity) == 0) & (seconds > 0)
    is_busy = is_same & known[_BUSY][1:] & known[_BUSY][:-1] & (growths[_BUSY] >= _MIN_BUSY_RATIO * seconds)
    was_idle = is_same & known[_BUSY][1:] & known[_BUSY][:-1] & (growths[_BUSY] < _MAX_IDLE_RATIO * seconds)
    silent = is_busy & _is_new(samples, was_idle)
    for name in (*_COMPLETED, *_MOVED):
        if name in scales and known[name].any():
            silent &= known[name][1:] & known[name][:-1] & (growths[name] == 0)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], silent, [False]))))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        outstanding = None
        if _OUTSTANDING in scales and known[_OUTSTANDING][last]:
            outstanding = float(samples.columns[_OUTSTANDING].numbers[last])
        elif _WAITED in scales:
            # Kernels from 5.0 on count this time only when an I/O is completed.
            mean = growths[_WAITED][first:last].sum() / seconds[first:last].sum()
            outstanding = float(mean) if mean >= 1 else None
        yield int(samples.entity[first]), int(samples.moment[first]), int(samples.moment[last]), outstanding


def _is_new(samples: SampleArrays, idle: Mask) -> Mask:
    """Return the windows in which a device has I/Os that it has not always had. `idle`: those in which it has none.

    Some kernels lose count: then an idle device has I/Os outstanding for ever.
    """
    devices = len(samples.entities)
    was_idle = np.zeros(devices, dtype=bool)
    was_idle[samples.entity[1:][idle]] = True
    is_new: Mask = was_idle[samples.entity[1:]]
    if _OUTSTANDING in samples.columns:
        values = samples.columns[_OUTSTANDING]
        numbers = np.where(values.is_known(), values.numbers, np.inf)
        least = np.full(devices, np.inf)
        np.minimum.at(least, samples.entity, numbers)
        is_more = ~values.is_known() | (numbers > least[samples.entity])
        has_any = ~values.is_known() | (numbers >= 1)
        counted = np.isfinite(least)[samples.entity[1:]]
        is_new = np.where(counted, (is_more & has_any)[1:] & (is_more & has_any)[:-1], is_new)
    return is_new


def with_stalled_ios(
    samples: Sequence[StepSamples], times: Sequence[DeviceStall], known_as: Mapping[Local, str]
) -> list[StepSamples]:
    """Return block devices' samples with the time for which unanswered I/Os have waited until the end of a step.

    A device counts an I/O and its time when the I/O completes. If a device reads and writes, it is not known which
    kind the unanswered I/Os are: then its sample is unchanged.
    """
    by_device: dict[str, list[DeviceStall]] = {}
    for time in times:
        by_device.setdefault(time.device, []).append(time)
    result = []
    for sample in samples:
        for time in by_device.get(known_as.get((sample.source, "lun", sample.entity), ""), ()):
            sample = _with(sample, time)
        result.append(sample)
    return result


def _with(sample: StepSamples, time: DeviceStall) -> StepSamples:
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


def _shared_seconds(time: DeviceStall, end_us: int, seconds: float) -> float:
    """Return the seconds of a window in which the device answered nothing."""
    return max(0.0, min(end_us, time.ended_us) / 1e6 - max(end_us / 1e6 - seconds, time.began_us / 1e6))

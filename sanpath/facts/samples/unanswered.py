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
from sanpath.topology.keys import Local

_MIN_SECONDS = 5.0
"""Shortest time without an answer that is one: sanpath's own choice. Linux gives a SCSI command 30 s, and a drive
that retries a read takes a few."""
_OUTSTANDING = "in_flight"
_COMPLETED = ("ops_read_total", "ops_write_total", "ops_discard_total", "ops_flush_total")


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A time in which a device answered nothing, on the recorder's clock in microseconds. `source`: the one that
    shows it; `outstanding`: the device's I/Os at the end of that time."""

    source: str
    device: str
    began_us: int
    ended_us: int
    outstanding: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.ended_us - self.began_us) / 1e6


def unanswered(
    recording: Recording, connection: duckdb.DuckDBPyConnection, known_as: Mapping[Local, str]
) -> list[Unanswered]:
    """Return the times in which a device answered nothing, from one poll to another one.

    I/Os that are outstanding at two polls, between which none was completed, are the same ones.
    """
    found: list[Unanswered] = []
    timed, recorded = timed_samples(recording, connection, "lun")
    for source, columns in recording.columns("lun").items():
        completed = [name for name in _COMPLETED if name in columns and name in recorded]
        if _OUTSTANDING not in columns or _OUTSTANDING not in recorded or not completed:
            continue
        metrics = [_OUTSTANDING, *completed]
        cached = cached_arrays(recording, "lun", source, metrics)
        samples = SampleReader(connection, timed, source, metrics, cached=cached).read().reported([_OUTSTANDING])
        found += _of_source(source, samples, completed, known_as)
    return found


def _of_source(
    source: str, samples: SampleArrays, completed: Sequence[str], known_as: Mapping[Local, str]
) -> Iterator[Unanswered]:
    outstanding = samples.columns[_OUTSTANDING]
    waits = outstanding.is_known() & (outstanding.numbers >= 1)
    # The time from the sample before to each sample.
    silent = waits[1:] & waits[:-1] & (np.diff(samples.entity) == 0)
    for name in completed:
        values = samples.columns[name]
        silent &= ~(values.is_known()[1:] & values.is_known()[:-1]) | (np.diff(values.numbers) == 0)
    counts = np.any([samples.columns[name].is_known() for name in completed], axis=0)
    silent &= counts[1:] & counts[:-1]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], silent, [False]))))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        device = known_as.get((source, "lun", samples.entities[int(samples.entity[first])]))
        if device is not None:
            began_us, ended_us = int(samples.moment[first]), int(samples.moment[last])
            found = Unanswered(source, device, began_us, ended_us, float(outstanding.numbers[last]))
            if found.seconds >= _MIN_SECONDS:
                yield found


def with_unanswered_ios(
    samples: Sequence[StepSamples], times: Sequence[Unanswered], known_as: Mapping[Local, str]
) -> list[StepSamples]:
    """Return block devices' samples with the time for which unanswered I/Os have waited until the end of a step.

    A device counts an I/O and its time when it has completed it. Of a device that reads and writes, it is not known
    which of both these I/Os are: it stays as it is.
    """
    by_device = {each.device: each for each in times}
    found = ((each, by_device.get(known_as.get((each.source, "lun", each.entity), ""))) for each in samples)
    return [sample if time is None else _with(sample, time) for sample, time in found]


def _with(sample: StepSamples, time: Unanswered) -> StepSamples:
    directions = [direction for direction in DIRECTIONS if sample.rate(f"ops_{direction}_total")]
    counter = f"latency_seconds_{directions[0]}_total" if len(directions) == 1 else ""
    if counter not in sample.rates:
        return sample
    windows = list(zip(sample.rates[counter], sample.ended_us, sample.seconds, strict=False))
    waits = [time.outstanding * _shared_seconds(time, end, seconds) for _, end, seconds in windows]
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

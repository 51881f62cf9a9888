"""Arrays of the samples that are in memory: what SampleReader reads from the database otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sanpath.facts.samples.sample_arrays import SampleArrays, Truths, Values
from sanpath.recording.format.rows import EARLIEST_US, LATEST_US
from sanpath.recording.reading.recording import Recording, Shift
from sanpath.recording.reading.sample_cache import TEXTS, CachedSamples


def cached_arrays(recording: Recording, kind: str, source: str, metrics: Sequence[str]) -> SampleArrays | None:
    """Return the samples of a source that have a value of any of some metrics. None: they are not in memory.

    `recording`: with its shifts."""
    cached = recording.cached(kind)
    if cached is None:
        return None
    shifts = tuple(shift for shift in recording.shifts or () if shift.source == source)
    key = cached, recording.since_us, shifts
    samples = recording.remembered(f"{kind} of {source}", key, lambda: _in_order(cached, source, *key[1:]))
    return samples.with_any(metrics)


def in_time(cached: CachedSamples, since_us: int | None) -> Truths:
    """Return which samples lie in the time that is read. `since_us`: see Recording."""
    seen = Values(*cached.columns["seen"])
    first = EARLIEST_US if since_us is None else since_us
    return seen.is_known() & (seen.numbers >= first) & (seen.numbers <= LATEST_US)


def _in_order(cached: CachedSamples, source: str, since_us: int | None, shifts: Sequence[Shift]) -> SampleArrays:
    """Return all samples of a source by entity and moment; those of one moment as they were written."""
    columns = {name: Values(*column) for name, column in cached.columns.items()}
    is_needed = in_time(cached, since_us) & (columns["source"].numbers == cached.names.get(source, -1))
    for shift in shifts:
        is_needed &= shift.late_us is not None
    rows = np.flatnonzero(is_needed)
    entity, seen, device_time = (columns[name][rows] for name in ("entity", "seen", "device_time"))
    moment = seen.numbers
    if device_time.known is None or device_time.known.any():
        ahead_us = sum(shift.ahead_us for shift in shifts)
        moment = np.where(device_time.is_known(), device_time.numbers - ahead_us, moment)
    moment = moment - sum(shift.late_us or 0 for shift in shifts)
    present = np.bincount(entity.numbers, minlength=len(cached.names)).tolist()
    entities = sorted(name for name, number in cached.names.items() if present[number])
    ranks = np.zeros(len(cached.names), dtype=np.int64)
    ranks[[cached.names[name] for name in entities]] = np.arange(len(entities))
    rank = ranks[entity.numbers]
    order = np.lexsort((moment, rank))
    rows = rows[order]
    return SampleArrays(
        entities,
        rank[order],
        moment[order],
        seen.numbers[order],
        columns["covers_seconds"][rows],
        {
            name: values[rows]
            for name, values in columns.items()
            if name not in (*TEXTS, "seen", "device_time", "covers_seconds")
        },
    )

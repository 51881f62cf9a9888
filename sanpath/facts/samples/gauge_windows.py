"""Gauges of single entities, window by window."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import duckdb
import numpy as np

from sanpath.facts.samples.sample_arrays import SampleReader, cached_arrays, timed_samples
from sanpath.recording.reading.recording import Recording

Window = tuple[int, float, float]
"""(end on the recorder's clock in microseconds, length in seconds, value)."""


def gauge_windows(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    names: Sequence[str],
    source_ids: Collection[tuple[str, str]],
) -> dict[tuple[str, str], list[Window]]:
    """Return (source, its own id) → the sum of gauges over time, for those `source_ids` whose source reports the
    first gauge. Gauges that it does not report are left out of the sum."""
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

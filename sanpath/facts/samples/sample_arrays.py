"""The samples of one source and entity kind as arrays, ordered by entity and time: from memory, else from the
database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import ceil

import duckdb
import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.clock_offsets import clock_offsets, shifts
from sanpath.recording.reading.recording import Recording, Shift
from sanpath.recording.reading.sample_cache import TEXTS, CachedSamples, Mask, Values
from sanpath.recording.storage.duck import literal, quoted

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_MAX_VALUES = 6_000_000
"""Values (rows times columns) that are read at once: 0.4 GB of memory with what the database needs to sort them."""
_LAST_NAME = "\U0010ffff"
"""Sorts after every name."""
_TIMES = ("moment", "seen", "covers_seconds")


@dataclass(frozen=True, slots=True)
class SampleArrays:
    """Samples in the order of entity names, each entity's in the order of time.

    `entities`: the names. `entity`: the index of each row's name. `moment`: when the sample was true, and `seen`:
    when it was received, both in microseconds on the recorder's clock. `covers_seconds`: the seconds before its time
    that it is a mean of, if it is one. `columns`: metric → its values.
    """

    entities: Sequence[str]
    entity: Integers
    moment: Integers
    seen: Integers
    covers_seconds: Values
    columns: Mapping[str, Values]

    def reported(self, metrics: Collection[str]) -> SampleArrays:
        """Return the samples that have a value of any of these metrics."""
        if any(self.columns[name].known is None for name in metrics):
            return self
        is_reported = np.zeros(len(self.moment), dtype=bool)
        for name in metrics:
            is_reported |= self.columns[name].is_known()
        return self if is_reported.all() else self.select(is_reported)

    def with_any(self, metrics: Collection[str]) -> SampleArrays:
        """Return the samples that have a value of any of these metrics, with no other columns and entities."""
        columns = {name: self.columns[name] for name in metrics}
        samples = replace(self, columns=columns).reported(metrics)
        return samples if len(samples.moment) == len(self.moment) else samples.of_present_entities()

    def of_present_entities(self) -> SampleArrays:
        """Return the same samples, with the names of only those entities that have some."""
        present, entity = np.unique(self.entity, return_inverse=True)
        return replace(self, entities=[self.entities[index] for index in present.tolist()], entity=entity)

    def of(self, entities: Collection[str]) -> SampleArrays:
        """Return the samples of some entities."""
        needed = set(entities)
        is_needed = np.array([name in needed for name in self.entities], dtype=bool)
        return self.select(is_needed[self.entity]).of_present_entities()

    def select(self, rows: Mask) -> SampleArrays:
        """Return some of the samples."""
        return SampleArrays(
            self.entities,
            self.entity[rows],
            self.moment[rows],
            self.seen[rows],
            self.covers_seconds[rows],
            {name: values[rows] for name, values in self.columns.items()},
        )


def timed_samples(recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str) -> tuple[str, list[str]]:
    """Return SQL of the samples of a kind with the `moment` at which each was true, and their metrics.

    The moment is the device's own time stamp where there is one, converted to the recorder's clock. Both are empty
    without samples. The offset is that of the source and not estimated from these samples: samples that arrive late,
    such as a minute of averages at once, would give a wrong offset.
    """
    samples, metrics = recording.samples(kind)
    if not metrics:
        return "", []
    if recording.shifts is None:
        recording.shifts = shifts(clock_offsets(recording, connection))
    ahead = "".join(f" WHEN {literal(s.source)} THEN {s.ahead_us}" for s in recording.shifts if s.ahead_us)
    late = "".join(f" WHEN {literal(s.source)} THEN {s.late_us}" for s in recording.shifts if s.late_us)
    unplaced = ", ".join(literal(shift.source) for shift in recording.shifts if shift.late_us is None)
    moment = f"device_time - CASE source {ahead} ELSE 0 END" if ahead else "device_time"
    moment = f"coalesce({moment}, seen)"
    moment = f"{moment} - CASE source {late} ELSE 0 END" if late else moment
    placed = f" WHERE source NOT IN ({unplaced})" if unplaced else ""
    timed = f"SELECT *, {moment} AS moment FROM {samples}{placed}"  # noqa: S608 - quoted
    return f"({timed})", metrics


def cached_arrays(recording: Recording, kind: str, source: str, metrics: Sequence[str]) -> SampleArrays | None:
    """Return the samples of a source that have a value of any of some metrics. None: they are not in memory.

    `recording`: with its shifts."""
    cached = recording.cached(kind)
    if cached is None:
        return None
    source_shifts = tuple(shift for shift in recording.shifts or () if shift.source == source)
    key = cached, recording.since_us, source_shifts
    samples = recording.remembered(f"{kind} of {source}", key, lambda: _in_order(cached, source, *key[1:]))
    return samples.with_any(metrics)


def _in_order(
    cached: CachedSamples, source: str, since_us: int | None, source_shifts: Sequence[Shift]
) -> SampleArrays:
    """Return all samples of a source by entity and moment; those of one moment as they were written.

    The moment is that of `timed_samples`."""
    columns = cached.columns
    is_needed = cached.is_in_time(since_us) & (columns["source"].numbers == cached.names.get(source, -1))
    for shift in source_shifts:
        is_needed &= shift.late_us is not None
    rows = np.flatnonzero(is_needed)
    entity, seen, device_time = (columns[name][rows] for name in ("entity", "seen", "device_time"))
    moment = seen.numbers
    if device_time.known is None or device_time.known.any():
        ahead_us = sum(shift.ahead_us for shift in source_shifts)
        moment = np.where(device_time.is_known(), device_time.numbers - ahead_us, moment)
    moment = moment - sum(shift.late_us or 0 for shift in source_shifts)
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


class SampleReader:
    """Reads the samples of one source that have a value of any of some metrics.

    `timed`: see timed_samples. Only entities whose names lie in [`first`, `before`) are read. `cached`: all these
    samples, if they are in memory; then nothing is read.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        timed: str,
        source: str,
        metrics: Sequence[str],
        first: str = "",
        before: str = _LAST_NAME,
        cached: SampleArrays | None = None,
    ) -> None:
        self._connection, self._metrics, self._limits, self._cached = connection, metrics, (first, before), cached
        reported = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in metrics)
        self._samples = f"{timed} WHERE source = $source AND ({reported})"
        self._parameters: dict[str, str | Sequence[str]] = {"source": source}

    @property
    def is_cached(self) -> bool:
        """Whether all samples are in memory."""
        return self._cached is not None

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Entity → number of its samples, in the order of entity names."""
        if self._cached is not None:
            counts = np.bincount(self._cached.entity, minlength=len(self._cached.entities)).tolist()
            return dict(zip(self._cached.entities, counts, strict=True))
        selected, parameters = self._in_range(*self._limits)
        query = f"SELECT entity, count(*) FROM {selected} GROUP BY entity ORDER BY entity"  # noqa: S608 - quoted
        return dict(self._connection.execute(query, parameters).fetchall())

    def read(self, entities: Collection[str] | None = None) -> SampleArrays:
        """Return the samples of some entities, None: of all. Entities without samples are left out."""
        if self._cached is not None:
            return self._cached if entities is None else self._cached.of(entities)
        if entities is None:
            return self._read(self.rows, *self._in_range(*self._limits))
        counts = {entity: self.rows[entity] for entity in sorted(entities) if entity in self.rows}
        selected, parameters = self._in_range(min(counts, default=""), max(counts, default="") + "\0")
        selected = f"{selected} AND entity IN (SELECT unnest($entities))"
        return self._read(counts, selected, {**parameters, "entities": list(counts)})

    def read_in_ranges(self) -> Iterator[SampleArrays]:
        """Yield the samples in ranges of entities that are small enough for memory."""
        if self._cached is not None:
            yield self._cached
            return
        for first, before in entity_ranges(self.rows, len(self._metrics)):
            counts = {entity: count for entity, count in self.rows.items() if first <= entity < before}
            yield self._read(counts, *self._in_range(first, before))

    def _in_range(self, first: str, before: str) -> tuple[str, dict[str, str | Sequence[str]]]:
        """Return SQL that selects the samples of a range of entities, and its parameters."""
        if (first, before) == ("", _LAST_NAME):
            return self._samples, self._parameters
        # Segments are sorted by entity: by a range, Parquet's statistics can skip row groups.
        selected = f"{self._samples} AND entity >= $first AND entity < $before"
        return selected, {**self._parameters, "first": first, "before": before}

    def _read(
        self, counts: Mapping[str, int], selected: str, parameters: Mapping[str, str | Sequence[str]]
    ) -> SampleArrays:
        """`counts`: entity → number of its samples, of all entities that are selected."""
        # Names are not fetched with the rows: a text object for each row costs more than all its numbers.
        columns = ", ".join([*_TIMES, *map(quoted, self._metrics)])
        query = f"SELECT {columns} FROM {selected} ORDER BY entity, moment"  # noqa: S608 - quoted
        fetched = self._connection.execute(query, parameters).fetchnumpy()
        moment, seen = (np.ma.getdata(fetched[name]) for name in ("moment", "seen"))
        return SampleArrays(
            list(counts),
            np.repeat(np.arange(len(counts)), list(counts.values())),
            moment,
            seen,
            Values.from_column(fetched["covers_seconds"]),
            {name: Values.from_column(fetched[name]) for name in self._metrics},
        )


def covered_times(
    recording: Recording, connection: duckdb.DuckDBPyConnection, kind: str, source: str
) -> tuple[list[tuple[int, int]], bool]:
    """Return the times that the samples of a source cover, or that passed since the one before, begin and end in
    microseconds on the recorder's clock, and whether the samples are means over these times."""
    timed, recorded = timed_samples(recording, connection, kind)
    metrics = [name for name in recording.columns(kind)[source] if name in recorded]
    if not metrics:
        return [], False
    cached = cached_arrays(recording, kind, source, metrics)
    samples = SampleReader(connection, timed, source, metrics, cached=cached).read()
    ends, first = np.unique(samples.moment, return_index=True)
    covered = samples.covers_seconds[first]
    before = np.append(recording.started_us, ends[:-1])[: len(ends)]
    begins = np.where(covered.is_known(), ends - np.rint(1e6 * covered.numbers), before).astype(np.int64)
    counts = any(name.endswith("_total") for name in metrics)
    return list(zip(begins.tolist(), ends.tolist(), strict=True)), counts or bool(covered.is_known().all())


def entity_ranges(rows: Mapping[str, int], columns: int) -> Iterator[tuple[str, str]]:
    """Yield ranges of entity names, small enough for memory: the first name, and the name before which it ends.

    Every name lies in one range. `rows`: entity → number of samples, in the order of names. The ranges depend on
    nothing but the recording."""
    entities = list(rows)
    length = max(1, ceil(len(entities) / max(1, ceil(sum(rows.values()) * columns / _MAX_VALUES))))
    return pairwise(["", *entities[length::length], _LAST_NAME])

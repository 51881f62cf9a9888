"""Reads the samples of one source and entity kind from the database as arrays, ordered by entity and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from sanpath.recording.storage.duck import quoted

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

_MAX_VALUES = 6_000_000
"""Values (rows times columns) that are read at once: 0.4 GB of memory with what the database needs to sort them."""
_LAST_NAME = "\U0010ffff"
"""Sorts after every name."""
_TIMES = ("moment", "seen", "covers_seconds")


@dataclass(frozen=True, slots=True)
class Values:
    """One column. `numbers`: one for each row, as recorded. `known`: whether a row has a value, None: all have."""

    numbers: npt.NDArray[Any]
    known: Truths | None

    def __getitem__(self, rows: Any) -> Values:
        return Values(self.numbers[rows], None if self.known is None else self.known[rows])

    def where(self, condition: Truths) -> Values:
        """Return the column, known only where a condition holds."""
        return Values(self.numbers, condition if self.known is None else self.known & condition)

    def is_known(self) -> Truths:
        """Return whether each row has a number."""
        return np.ones(len(self.numbers), dtype=bool) if self.known is None else self.known


@dataclass(frozen=True, slots=True)
class SampleArrays:
    """Samples in the order of entity names, each entity's in the order of time.

    `entities`: the names. `entity`: the index of each row's name. `moment`: when it was true, and `seen`: when it was
    received, both microseconds on the recorder's clock. `covers_seconds`: the seconds before its time that it is a
    mean of, if it is one. `columns`: metric → its values.
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

    def select(self, rows: Truths) -> SampleArrays:
        """Return some of the samples."""
        return SampleArrays(
            self.entities,
            self.entity[rows],
            self.moment[rows],
            self.seen[rows],
            self.covers_seconds[rows],
            {name: values[rows] for name, values in self.columns.items()},
        )


class SampleReader:
    """Reads the samples of one source that have a value of any of some metrics.

    `timed`: see timed_samples. Only entities whose names lie in [`first`, `before`) are read. `few`: there are so few
    samples that one more query costs more than a name with each of them.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        timed: str,
        source: str,
        metrics: Sequence[str],
        first: str = "",
        before: str = _LAST_NAME,
        few: bool = False,
    ) -> None:
        self._connection, self._metrics, self._limits, self._few = connection, metrics, (first, before), few
        reported = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in metrics)
        self._samples = f"{timed} WHERE source = $source AND ({reported})"
        self._parameters: dict[str, str | Sequence[str]] = {"source": source}

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Entity → number of its samples, in the order of entity names."""
        if self._few:
            return self._named[0]
        selected, parameters = self._in_range(*self._limits)
        query = f"SELECT entity, count(*) FROM {selected} GROUP BY entity ORDER BY entity"  # noqa: S608 - quoted
        return dict(self._connection.execute(query, parameters).fetchall())

    def read(self, entities: Collection[str] | None = None) -> SampleArrays:
        """Return the samples of some entities, None: of all."""
        if entities is None and self._few:
            return self._named[1]
        if entities is None:
            return self._read(self.rows, *self._in_range(*self._limits))
        counts = {entity: self.rows[entity] for entity in sorted(entities)}
        selected, parameters = self._in_range(min(counts, default=""), max(counts, default="") + "\0")
        selected = f"{selected} AND entity IN (SELECT unnest($entities))"
        return self._read(counts, selected, {**parameters, "entities": list(counts)})

    def read_in_ranges(self) -> Iterator[SampleArrays]:
        """Yield the samples in ranges of entities that are small enough for memory."""
        if self._few:
            yield self.read()
            return
        for first, before in entity_ranges(self.rows, len(self._metrics)):
            counts = {entity: count for entity, count in self.rows.items() if first <= entity < before}
            yield self._read(counts, *self._in_range(first, before))

    @cached_property
    def _named(self) -> tuple[Mapping[str, int], SampleArrays]:
        """The number of samples of each entity, and all samples, by one query."""
        fetched = self._fetch(["entity"], *self._in_range(*self._limits))
        counts = Counter(np.ma.getdata(fetched["entity"]).tolist())
        return counts, self._arrays(counts, fetched)

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
        # Names are not fetched with the rows: to make a text for each costs more than all numbers of the row.
        return self._arrays(counts, self._fetch([], selected, parameters))

    def _fetch(
        self, names: Sequence[str], selected: str, parameters: Mapping[str, str | Sequence[str]]
    ) -> Mapping[str, npt.NDArray[Any]]:
        """Return the columns `names`, the times and the metrics of samples, by entity and time."""
        columns = ", ".join([*names, *_TIMES, *map(quoted, self._metrics)])
        query = f"SELECT {columns} FROM {selected} ORDER BY entity, moment"  # noqa: S608 - quoted
        return self._connection.execute(query, parameters).fetchnumpy()

    def _arrays(self, counts: Mapping[str, int], fetched: Mapping[str, npt.NDArray[Any]]) -> SampleArrays:
        moment, seen = (np.ma.getdata(fetched[name]) for name in ("moment", "seen"))
        return SampleArrays(
            list(counts),
            np.repeat(np.arange(len(counts)), list(counts.values())),
            moment,
            seen,
            _values(fetched["covers_seconds"]),
            {name: _values(fetched[name]) for name in self._metrics},
        )


def entity_ranges(rows: Mapping[str, int], columns: int) -> Iterator[tuple[str, str]]:
    """Yield ranges of entity names, small enough for memory: the first name, and the name before which it ends.

    Every name lies in one range. `rows`: entity → number of samples, in the order of names. The ranges depend on
    nothing but the recording."""
    entities = list(rows)
    length = max(1, ceil(len(entities) / max(1, ceil(sum(rows.values()) * columns / _MAX_VALUES))))
    return pairwise(["", *entities[length::length], _LAST_NAME])


def _values(column: npt.NDArray[Any]) -> Values:
    mask, numbers = np.ma.getmaskarray(column), np.ma.getdata(column)
    wide = {"i": np.int64, "u": np.uint64}.get(numbers.dtype.kind, np.float64)
    return Values(numbers.astype(wide, copy=False), ~mask if mask.any() else None)

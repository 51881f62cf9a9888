"""Caches the samples of a recording in memory as arrays, so that each segment is read once.

A query over some dozen segments opens all of them each time, which costs more than the query itself, and a small
query costs more than the same arithmetic with arrays. Cached samples are the same rows with the same columns. The
cache of a growing recording lasts from one reading to the next: then only new segments are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from sanpath.recording.format.layout import Segment
from sanpath.recording.format.rows import EARLIEST_US, LATEST_US
from sanpath.recording.storage.duck import PARQUET, connect_separately, literal
from sanpath.recording.storage.store import Store

ResultT = TypeVar("ResultT")
Mask = npt.NDArray[np.bool_]

MAX_VALUES = 6_000_000
"""Maximum values (rows times columns) of a kind that are cached.

Memory: 0.1 GB with the ordered arrays for computing facts. Within this limit, a later look at 5,000 ports costs a
third less than queries over the segments (30 polls, measured).
"""
TEXTS = ("source", "entity")
"""Columns of names; a cached row has their indices."""
_MAX_NAME_LENGTH = 1000
"""Maximum length of cached names: a name is fetched with each row."""
NUMBERS = frozenset(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "", "BIG", "HUGE")) | {
    "INTEGER",
    "UINTEGER",
    "FLOAT",
    "DOUBLE",
    "BOOLEAN",
}
"""DuckDB types that a metric column may have. Columns of other types are not samples."""
_FIXED_TYPES = {
    "source": "VARCHAR",
    "entity": "VARCHAR",
    "seen": "BIGINT",
    "device_time": "BIGINT",
    "covers_seconds": "DOUBLE",
}


@dataclass(frozen=True, slots=True)
class Values:
    """One column. `numbers`: one for each row, as recorded. `known`: whether a row has a value, None: all have."""

    numbers: npt.NDArray[Any]
    known: Mask | None

    @classmethod
    def from_column(cls, fetched: npt.NDArray[Any]) -> Values:
        """Return a column that DuckDB has returned as a NumPy array, masked where it has no value."""
        numbers, mask = np.ma.getdata(fetched), np.ma.getmaskarray(fetched)
        wide = {"i": np.int64, "u": np.uint64}.get(numbers.dtype.kind, np.float64)
        return cls(numbers.astype(wide, copy=False), ~mask if mask.any() else None)

    def __getitem__(self, rows: Any) -> Values:
        return Values(self.numbers[rows], None if self.known is None else self.known[rows])

    def key(self) -> object:
        """Return a key that is equal for equal columns."""
        return self.numbers.tobytes(), None if self.known is None else self.known.tobytes()

    def to_list(self) -> list[Any]:
        """Return the values as a list. None: unknown."""
        listed: list[Any] = self.numbers.tolist()
        if self.known is not None:
            for index in np.flatnonzero(~self.known).tolist():
                listed[index] = None
        return listed

    def where(self, condition: Mask) -> Values:
        """Return the column with values only where a condition holds."""
        return Values(self.numbers, condition if self.known is None else self.known & condition)

    def is_known(self) -> Mask:
        """Return whether each row has a number."""
        return np.ones(len(self.numbers), dtype=bool) if self.known is None else self.known


@dataclass(frozen=True, slots=True, eq=False)
class CachedSamples:
    """The samples of an entity kind, in the order of their segments. Never changed: more samples are another object.

    `types`: column → DuckDB type. `columns`: column → its values; those of TEXTS are indices of `names`.
    """

    types: Mapping[str, str]
    names: Mapping[str, int]
    columns: Mapping[str, Values]

    @property
    def values(self) -> int:
        """Number of samples times number of columns."""
        return len(self.columns["seen"].numbers) * len(self.columns)

    def is_in_time(self, since_us: int | None) -> Mask:
        """Return which samples lie in the period that is read. `since_us`: see Recording."""
        seen = self.columns["seen"]
        first = EARLIEST_US if since_us is None else since_us
        return seen.is_known() & (seen.numbers >= first) & (seen.numbers <= LATEST_US)


class SampleCache:
    """Caches the samples of one recording, and results that follow from it, for one reader after another.

    `connection`: to a database that can read the recording and may be shared; None: a separate database.
    """

    def __init__(self, store: Store, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        self._store = store
        self._database = connect_separately(1, store.roots(), store.files) if connection is None else connection
        self._samples: dict[str, CachedSamples] = {}
        self._read: dict[str, set[Segment]] = {}
        self._not_cached: set[str] = set()
        self._results: dict[str, tuple[object, Any]] = {}

    def remembered(self, name: str, key: object, compute: Callable[[], ResultT]) -> ResultT:
        """Return the last result of this name if its key was the same, otherwise compute it."""
        last = self._results.get(name)
        if last is None or last[0] != key:
            last = self._results[name] = key, compute()
        result: ResultT = last[1]
        return result

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that can read the recording's files. The caller closes it."""
        return self._database.cursor()

    def close(self) -> None:
        """Close the connection."""
        with suppress(duckdb.ConnectionException):  # At exit a shared database is closed before its caches.
            self._database.close()

    def fill(
        self, kind: str, segments: Sequence[Segment], since_us: int, needed: Collection[str]
    ) -> CachedSamples | None:
        """Cache all samples of these segments since a time; only new segments are read.

        `needed`: names of the columns to cache. A foreign segment may have others, of any size.

        Returns the samples. None: there are too many values, overlong names, or columns of types that no recorder
        writes. Raises duckdb.Error for a damaged segment.
        """
        if kind in self._not_cached:
            return None
        read = self._read.get(kind, set())
        new = [segment for segment in segments if not _is_cached(segment, read)]
        samples = self._samples.get(kind)
        if not (_is_complete(segments, read) and _is_disjoint(new, read)):
            samples = None
        if samples is not None and new:
            samples = _concatenate(samples, self._fetch(new, needed))
        if samples is None:
            samples = self._fetch(segments, needed)
        if samples is not None and samples.values > MAX_VALUES:
            samples = _select_since(samples, since_us)
        if samples is None or samples.values > MAX_VALUES:
            self._not_cached.add(kind)
            self._samples.pop(kind, None)
            return None
        self._samples[kind], self._read[kind] = samples, set(segments)
        return samples

    def _fetch(self, segments: Sequence[Segment], needed: Collection[str]) -> CachedSamples | None:
        """Read segments. None: they have columns of types that no recorder writes, or overlong names."""
        urls = ", ".join(literal(self._store.url(segment.name)) for segment in segments)
        texts = ", ".join(f"left({name}::VARCHAR, {_MAX_NAME_LENGTH + 1}) AS {name}" for name in TEXTS)
        # A lambda over the names, and a union of one segment, would each cost half as much as the reading.
        metrics = literal(f"^({'|'.join(name for name in needed if name not in TEXTS)})$")
        union = "union_by_name = true, " if len(segments) > 1 else ""
        query = f"SELECT {texts}, COLUMNS({metrics}) FROM read_parquet([{urls}], {union}{PARQUET})"  # noqa: S608 - quoted
        cursor = self._database.execute(query)
        types = {name: str(column_type) for name, column_type, *_ in cursor.description or []}
        metric_types = {types[name] for name in types if name not in _FIXED_TYPES}
        if not _FIXED_TYPES.items() <= types.items() or not metric_types <= NUMBERS:
            return None
        fetched = cursor.fetchnumpy()
        if any(np.ma.getmaskarray(fetched[name]).any() for name in TEXTS):
            return None
        texts_of_rows = {name: np.ma.getdata(fetched[name]).tolist() for name in TEXTS}
        names = list(dict.fromkeys(text for name in TEXTS for text in dict.fromkeys(texts_of_rows[name])))
        if max(map(len, names), default=0) > _MAX_NAME_LENGTH:
            return None
        indices = {name: number for number, name in enumerate(names)}
        columns = {name: Values.from_column(fetched[name]) for name in types if name not in TEXTS}
        for name, row_texts in texts_of_rows.items():
            numbers_of_rows = np.fromiter(map(indices.__getitem__, row_texts), np.int64, len(row_texts))
            columns[name] = Values(numbers_of_rows, None)
        return CachedSamples(types, indices, columns)


def _concatenate(samples: CachedSamples, added: CachedSamples | None) -> CachedSamples | None:
    """Return samples followed by later ones. None: a column of `added` would change the type of all samples."""
    if added is None or not added.types.items() <= samples.types.items():
        return None
    names = dict(samples.names)
    renumbered = np.array([names.setdefault(name, len(names)) for name in added.names], dtype=np.int64)
    count = len(added.columns["seen"].numbers)
    columns = {}
    for name, column in samples.columns.items():
        later = added.columns.get(name)
        if later is None:
            later = Values(np.zeros(count, column.numbers.dtype), np.zeros(count, dtype=bool))
        numbers = renumbered[later.numbers] if name in TEXTS else later.numbers
        columns[name] = Values(np.concatenate((column.numbers, numbers)), _known_in_both(column, later))
    return CachedSamples(samples.types, names, columns)


def _known_in_both(column: Values, later: Values) -> Mask | None:
    if column.known is None and later.known is None:
        return None
    return np.concatenate((column.is_known(), later.is_known()))


def _select_since(samples: CachedSamples, since_us: int) -> CachedSamples:
    """Return the samples since a time."""
    recent = samples.columns["seen"].numbers >= since_us
    columns = {name: column[recent] for name, column in samples.columns.items()}
    return CachedSamples(samples.types, samples.names, columns)


def _is_complete(segments: Sequence[Segment], read: set[Segment]) -> bool:
    """Return whether every cached row is in a segment that still exists."""
    return all(any(_covers(listed, segment) for listed in segments) for segment in read)


def _is_disjoint(new: Sequence[Segment], read: set[Segment]) -> bool:
    """Return whether no new segment contains a row that is cached."""
    return not any(_covers(added, segment) for added in new for segment in read)


def _covers(wide: Segment, narrow: Segment) -> bool:
    """Return whether one segment contains all flushes of another."""
    return wide.writer == narrow.writer and wide.first <= narrow.first and narrow.last <= wide.last


def _is_cached(segment: Segment, read: set[Segment]) -> bool:
    """Return whether every flush of a segment is cached: the segment may be a compaction of cached segments."""
    if segment in read:
        return True
    inside = sorted(cached.first for cached in read if _covers(segment, cached))
    lasts = sorted(cached.last for cached in read if _covers(segment, cached))
    return bool(inside) and inside[0] == segment.first and lasts[-1] == segment.last

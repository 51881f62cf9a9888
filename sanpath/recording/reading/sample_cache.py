"""Caches the samples of a recording in memory, so that each segment is read once by all queries.

A query over some dozen segments opens all of them each time, which costs more than the query itself. Cached samples
are the same rows with the same columns; a query does not notice the difference. The cache of a growing recording
lasts from one reading to the next: then only new segments are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import duckdb

from sanpath.recording.format.layout import Segment
from sanpath.recording.storage.duck import PARQUET, literal, quoted, separate
from sanpath.recording.storage.store import Store

ResultT = TypeVar("ResultT")

MOST_VALUES = 1_500_000
"""The most values (rows times columns) of a kind that are cached.

Above it, a query over the segments is faster than a scan of the cache, thanks to the statistics of compacted segments
(5,000 ports, 30 polls, measured).
"""
_LONGEST_NAME = 1000
"""Bytes of the longest entity name with which samples are cached: readers fetch the name with each sample."""
_numbers = count()
"""Numbers of the caches of this process, which may share a database."""


@dataclass(slots=True)
class _Table:
    """A cached table. `columns`: name → type; `read`: the segments whose rows it holds."""

    columns: dict[str, str]
    read: set[Segment] = field(default_factory=set)
    rows: int = 0


class SampleCache:
    """Caches the samples of one recording, and results that follow from it, for one reader after another.

    `connection`: to a database that can read the recording and may be shared; it has the cached tables in a schema of
    their own. None: a separate database.
    """

    def __init__(self, store: Store, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        self._store = store
        self._database = separate(1, store.roots(), store.files) if connection is None else connection
        self._schema = quoted(f"cache_{next(_numbers)}")
        self._database.execute(f"CREATE SCHEMA {self._schema}")
        self._tables: dict[str, _Table] = {}
        self._too_large: set[str] = set()
        self._results: dict[str, tuple[object, Any]] = {}

    def remembered(self, name: str, key: object, compute: Callable[[], ResultT]) -> ResultT:
        """Return the last result of this name if its key was the same, else compute it."""
        last = self._results.get(name)
        if last is None or last[0] != key:
            last = self._results[name] = key, compute()
        result: ResultT = last[1]
        return result

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the cached tables that can also read the recording's files. The caller closes it."""
        return self._database.cursor()

    def close(self) -> None:
        """Drop the cache."""
        with suppress(duckdb.ConnectionException):  # At exit a shared database is closed before its caches.
            self._database.execute(f"DROP SCHEMA {self._schema} CASCADE")
            self._database.close()

    def fill(
        self, kind: str, segments: Sequence[Segment], since_us: int, needed: Collection[str]
    ) -> tuple[str, dict[str, str]] | None:
        """Cache all samples of these segments from a time on; only new segments are read.

        `needed`: names of the columns to cache. A foreign segment may have others, of any size.

        Returns the quoted name of the table, and its columns with their types; None: there are too many values, or
        names longer than any device's. Raises duckdb.Error for a damaged segment.
        """
        if kind in self._too_large:
            return None
        table = self._tables.get(kind)
        new = [segment for segment in segments if table is None or not _is_cached(segment, table.read)]
        if table is None or not self._can_append(table, segments, new, needed):
            table = self._reload(kind, segments, needed)
        elif new:
            self._add(kind, table, new, needed)
        table.read = set(segments)
        name = self._name(kind)
        if table.rows * len(table.columns) > MOST_VALUES:
            self._database.execute(f"DELETE FROM {name} WHERE seen < {since_us}")  # noqa: S608 - quoted, and a number
            ((table.rows,),) = self._database.execute(f"SELECT count(*) FROM {name}").fetchall()  # noqa: S608 - quoted
        if table.rows * len(table.columns) > MOST_VALUES or (new and self._longest_name(kind) > _LONGEST_NAME):
            self._too_large.add(kind)
            self._drop(kind)
            return None
        return name, table.columns

    def _can_append(
        self, table: _Table, segments: Sequence[Segment], new: Sequence[Segment], needed: Collection[str]
    ) -> bool:
        """Return whether the cached and the new segments together hold every row exactly once."""
        complete = all(any(_covers(listed, segment) for listed in segments) for segment in table.read)
        disjoint = not any(_covers(added, segment) for added in new for segment in table.read)
        return (
            complete
            and disjoint
            and all(
                self._columns(self._select([segment], needed)).items() <= table.columns.items() for segment in new
            )
        )

    def _columns(self, query: str) -> dict[str, str]:
        """Return the columns of a query with their types; nothing is read."""
        relation = self._database.sql(query)
        return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def _reload(self, kind: str, segments: Sequence[Segment], needed: Collection[str]) -> _Table:
        self._tables.pop(kind, None)
        name, selected = self._name(kind), self._select(segments, needed)
        ((rows,),) = self._database.execute(f"CREATE OR REPLACE TABLE {name} AS {selected}").fetchall()
        table = self._tables[kind] = _Table(self._columns(f"SELECT * FROM {name}"), rows=rows)  # noqa: S608 - quoted
        return table

    def _add(self, kind: str, table: _Table, new: Sequence[Segment], needed: Collection[str]) -> None:
        added = f"INSERT INTO {self._name(kind)} BY NAME {self._select(new, needed)}"
        ((rows,),) = self._database.execute(added).fetchall()
        table.rows += rows

    def _select(self, segments: Sequence[Segment], needed: Collection[str]) -> str:
        """Return SQL of the needed columns that segments have."""
        names = ", ".join(map(literal, needed))
        return f"SELECT COLUMNS([name FOR name IN (*) IF name IN ({names})]) FROM {self._files(segments)}"  # noqa: S608 - quoted

    def _longest_name(self, kind: str) -> int:
        """Return the length of the longest entity name in bytes."""
        query = f"SELECT max(strlen(entity::VARCHAR)) FROM {self._name(kind)}"  # noqa: S608 - quoted
        ((longest,),) = self._database.execute(query).fetchall()
        return longest or 0

    def _name(self, kind: str) -> str:
        return f"{self._schema}.{quoted(kind)}"

    def _drop(self, kind: str) -> None:
        self._tables.pop(kind, None)
        self._database.execute(f"DROP TABLE IF EXISTS {self._name(kind)}")

    def _files(self, segments: Sequence[Segment]) -> str:
        urls = ", ".join(literal(self._store.url(segment.name)) for segment in segments)
        return f"read_parquet([{urls}], union_by_name = true, {PARQUET})"


def _covers(wide: Segment, narrow: Segment) -> bool:
    """Return whether one segment holds all flushes of another."""
    return wide.writer == narrow.writer and wide.first <= narrow.first and narrow.last <= wide.last


def _is_cached(segment: Segment, read: set[Segment]) -> bool:
    """Return whether every flush of a segment is cached: it is cached segments, compacted into one."""
    if segment in read:
        return True
    inside = sorted(cached.first for cached in read if _covers(segment, cached))
    lasts = sorted(cached.last for cached in read if _covers(segment, cached))
    return bool(inside) and inside[0] == segment.first and lasts[-1] == segment.last

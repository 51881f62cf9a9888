"""Reads the newest flushes of a writer, each row once: for viewers that the recorder does not serve directly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import duckdb

from sanpath.model import Poll, Rows, Table
from sanpath.recording.format import layout, rows
from sanpath.recording.format.documents import Declaration
from sanpath.recording.format.layout import Segment
from sanpath.recording.storage.duck import PARQUET, connect, connect_separately, quoted
from sanpath.recording.storage.store import Store
from sanpath.recording.viewer_protocol import LiveItem

_FLUSHES = 4
"""Number of latest flushes of samples for the first reading: older ones are not new."""
_WINDOW_US = 30 * 10**6
"""Microseconds from the end of a compacted segment for the first reading."""
_MAX_ROWS = 400_000
"""Maximum rows of one table per reading."""
ROUND_US = 300_000
"""Samples of one source within this time belong to the same poll round."""
_FIXED = ("source", "entity", "seen", "device_time")


class FlushReader:
    """Reads new flushes of a writer since the last reading. `metrics`: kind → metrics to read of its samples."""

    def __init__(
        self, store: Store, writer: str, sources: Sequence[Declaration], metrics: Mapping[str, frozenset[str]]
    ) -> None:
        self._store, self._writer, self._sources, self._metrics = store, writer, sources, metrics
        self._read: dict[str, int] = {}

    def new(self) -> list[tuple[str, LiveItem]]:
        """Return (source, item) for everything since the last call; the first call returns the newest and all events.

        Damaged rows are skipped: a diagnosis reports them. Raises OSError if the store cannot be read.
        """
        roots, files = self._store.roots(), self._store.files
        items: list[tuple[str, LiveItem]] = []
        with connect(1, roots) if files is None else connect_separately(1, roots, files) as connection:
            for row in self._rows(connection, "events", ("source", "seen", "name", "detail")):
                with suppress(*rows.MALFORMED):
                    items.append((row["source"], rows.event(row)))
            for kind, metrics in self._metrics.items():
                items += self._samples(kind, self._rows(connection, f"samples/{kind}", (*_FIXED, *sorted(metrics))))
            for row in self._rows(connection, "polls", tuple(Poll.__slots__)):
                with suppress(*rows.MALFORMED):
                    items.append((row["source"], rows.poll(row)))
        return items

    def _rows(
        self, connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Return the given columns of the rows flushed since the last call, by time."""
        urls = [self._store.url(segment.name) for segment in self._segments(table)]
        if not urls:
            return []
        read, parameters = f"read_parquet($files, union_by_name = true, {PARQUET})", {"files": urls}
        time_column = "ended" if table == "polls" else "seen"
        newest = f"(SELECT max({time_column}) FROM {read})"  # noqa: S608 - ours
        since = f"WHERE {time_column} > {newest} - {_WINDOW_US}" if table != "events" else ""
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {read}", parameters).fetchall()  # noqa: S608 - ours
            names = [name for name in columns if name in {column[0] for column in described}]
            query = f"SELECT {', '.join(map(quoted, names))} FROM {read} {since}"  # noqa: S608 - quoted
            fetched = connection.execute(f"{query} ORDER BY {time_column} LIMIT {_MAX_ROWS}", parameters).fetchall()
        except duckdb.Error:
            return []
        return [dict(zip(names, row, strict=True)) for row in fetched]

    def _segments(self, table: str) -> list[Segment]:
        segments = [segment for segment in layout.segments(self._store, table) if segment.writer == self._writer]
        last = max((segment.last for segment in segments), default=0)
        last_read = self._read.get(table, 0 if table == "events" else last - _FLUSHES)
        self._read[table] = max(last, self._read.get(table, 0))
        return [segment for segment in segments if segment.last > last_read]

    def _samples(self, kind: str, sample_rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Rows]]:
        """Yield (source, rows) for each poll round among the samples of a kind."""
        declared = {source.name: merge_tables(source.tables, kind) for source in self._sources}
        pending: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        newest: dict[str, int] = {}
        for row in sample_rows:
            source, entity, seen = row["source"], row["entity"], row["seen"]
            if seen - newest.get(source, seen) > ROUND_US or entity in pending[source]:
                yield from _poll_rows(source, declared, list(pending.pop(source).values()))
            pending[source][entity], newest[source] = row, seen
        for source, pending_rows in pending.items():
            yield from _poll_rows(source, declared, list(pending_rows.values()))


def merge_tables(tables: Iterable[Table], kind: str) -> Table:
    """Return all columns that a source declares for a kind as one table.

    A source may declare several tables for a kind; each poll yields one of them.
    """
    columns = {column.metric: column for table in tables if table.kind == kind for column in table.columns}
    return Table(kind, tuple(columns.values()))


def _poll_rows(
    source: str, declared: Mapping[str, Table], sample_rows: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Rows]]:
    if source not in declared or not sample_rows:
        return
    columns = tuple(column for column in declared[source].columns if column.metric in sample_rows[0])
    device_times = [row["device_time"] for row in sample_rows]
    yield (
        source,
        Rows(
            replace(declared[source], columns=columns),
            [row["entity"] for row in sample_rows],
            [row["seen"] for row in sample_rows],
            {column.metric: [row[column.metric] for row in sample_rows] for column in columns},
            None if None in device_times else device_times,
        ),
    )

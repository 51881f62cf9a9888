"""The newest that a writer has flushed, each thing once: for who watches a recording without its recorder's hand."""

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
from sanpath.recording.handover import Handed
from sanpath.recording.storage.duck import PARQUET, connect, quoted, separate
from sanpath.recording.storage.store import Store

_FLUSHES = 4
"""Of the samples that were there before so many flushes are read: what is older is not new."""
_SECONDS = 30 * 10**6
"""And so many microseconds of the end of a segment that has been compacted."""
_MOST_ROWS = 400_000
ROUND_US = 300_000
"""Samples of one source that were seen closer together than this belong to one poll round."""
_FIXED = ("source", "entity", "seen", "device_time")


class Flushed:
    """Reads on where it left off. `metrics`: kind → the metrics that are wanted of its samples."""

    def __init__(
        self, store: Store, writer: str, sources: Sequence[Declaration], metrics: Mapping[str, frozenset[str]]
    ) -> None:
        self._store, self._writer, self._sources, self._metrics = store, writer, sources, metrics
        self._read: dict[str, int] = {}

    def new(self) -> list[tuple[str, Handed]]:
        """(source, what it said) since the last call; at the first one the newest, and all events. What is damaged is
        passed over: a diagnosis names it. Raises OSError when the store cannot be read."""
        roots, files = self._store.roots(), self._store.files
        found: list[tuple[str, Handed]] = []
        with connect(1, roots) if files is None else separate(1, roots, files) as connection:
            for row in self._rows(connection, "events", ("source", "seen", "name", "detail")):
                with suppress(*rows.MALFORMED):
                    found.append((row["source"], rows.event(row)))
            for kind, metrics in self._metrics.items():
                found += self._samples(kind, self._rows(connection, f"samples/{kind}", (*_FIXED, *sorted(metrics))))
            for row in self._rows(connection, "polls", tuple(Poll.__slots__)):
                with suppress(*rows.MALFORMED):
                    found.append((row["source"], rows.poll(row)))
        return found

    def _rows(self, connection: duckdb.DuckDBPyConnection, table: str, wanted: Sequence[str]) -> list[dict[str, Any]]:
        """These columns of what has been flushed since the last call, by time."""
        urls = [self._store.url(segment.name) for segment in self._segments(table)]
        if not urls:
            return []
        read, told = f"read_parquet($files, union_by_name = true, {PARQUET})", {"files": urls}
        moment = "ended" if table == "polls" else "seen"
        since = f"WHERE {moment} > (SELECT max({moment}) FROM {read}) - {_SECONDS}" if table != "events" else ""  # noqa: S608 - ours
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {read}", told).fetchall()  # noqa: S608 - ours
            names = [name for name in wanted if name in {column[0] for column in described}]
            query = f"SELECT {', '.join(map(quoted, names))} FROM {read} {since}"  # noqa: S608 - quoted
            fetched = connection.execute(f"{query} ORDER BY {moment} LIMIT {_MOST_ROWS}", told).fetchall()
        except duckdb.Error:
            return []
        return [dict(zip(names, row, strict=True)) for row in fetched]

    def _segments(self, table: str) -> list[Segment]:
        there = [s for s in layout.segments(self._store, table) if s.writer == self._writer]
        last = max((segment.last for segment in there), default=0)
        known = self._read.get(table, 0 if table == "events" else last - _FLUSHES)
        self._read[table] = max(last, self._read.get(table, 0))
        return [segment for segment in there if segment.last > known]

    def _samples(self, kind: str, told: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Rows]]:
        """The poll rounds among samples of a kind, each as its source gave it."""
        declared = {source.name: merged(source.tables, kind) for source in self._sources}
        together: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
        newest: dict[str, int] = {}
        for row in told:
            source, entity, seen = row["source"], row["entity"], row["seen"]
            if seen - newest.get(source, seen) > ROUND_US or entity in together[source]:
                yield from _made(source, declared, list(together.pop(source).values()))
            together[source][entity], newest[source] = row, seen
        for source, rest in together.items():
            yield from _made(source, declared, list(rest.values()))


def merged(tables: Iterable[Table], kind: str) -> Table:
    """All that a source may tell of a kind as one table: it may have several, of which each poll yields one."""
    columns = {column.metric: column for table in tables if table.kind == kind for column in table.columns}
    return Table(kind, tuple(columns.values()))


def _made(
    source: str, declared: Mapping[str, Table], told: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Rows]]:
    if source not in declared or not told:
        return
    columns = tuple(column for column in declared[source].columns if column.metric in told[0])
    dated = [row["device_time"] for row in told]
    yield (
        source,
        Rows(
            replace(declared[source], columns=columns),
            [row["entity"] for row in told],
            [row["seen"] for row in told],
            {column.metric: [row[column.metric] for row in told] for column in columns},
            None if None in dated else dated,
        ),
    )

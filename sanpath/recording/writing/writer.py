"""The writer of a recording: collects rows and flushes them as immutable Parquet segments."""

from __future__ import annotations

import contextlib
import json
import platform
import time
from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sanpath import __version__
from sanpath.model import Event, Poll, Rows, SourceEntity, SourceLink
from sanpath.recording.format import layout, tables
from sanpath.recording.format.compaction import (
    DROPPED,
    SEGMENTS_PER_RETENTION,
    Retention,
    SegmentLevels,
    TrackedSegment,
    merged_segment,
)
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.format.layout import RECORDER, Segment
from sanpath.recording.storage import checksum
from sanpath.recording.storage.duck import PARQUET, connect_separately, literal, quoted
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.previous_starts import PreviousStarts

KEEP_SECONDS = 60.0
"""How long compacted segments are retained.

A reader that has listed them may still be reading, and the system may not have written the new segment to the disk
yet (Linux: within 30 s).
"""

_COPY = (
    "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 20480, "
    "USE_TMP_FILE false, {})"
)
"""Level 1 takes a fifth less time than level 3, and 1 % more space (segments of 50,000 rows of counters)."""

_NEVER_EXPIRED = ("inventory", "events")
"""Tables that never expire: without them the remaining samples could not be read."""
_BEFORE_SAMPLES = ("inventory", "events")
"""Tables that a flush writes first: a reader must never see I/O of a load without the marks of its steps."""

_SELECT = 'SELECT {} FROM flush, (SELECT {} AS "?")'
_LIST = "from_json($1, '[\"VARCHAR\"]')"
"""The list of a segment's texts, as JSON: for texts in Python's memory DuckDB needs Python's lock, and would wait for
it while a reader runs; before 2.0 it also looks for pandas at each of them."""
_ROWS_OF_ENUM = 1000
"""Rows per text from which an ENUM of the texts is written faster: its type costs some 10 us for each text, and a row
takes 60 ns less, because it is written as an index of the dictionary (measured)."""

_Arrays = dict[str, NDArray[Any]]


class Writer:
    """Appends to one recording. Not thread-safe: one caller at a time.

    `name` distinguishes this writer's segments from those of other writers of the recording. `keep_seconds`: how long
    compacted segments are retained. `compacts` False: segments are never compacted, for callers that write large
    ones. `retention` limits the age of its samples and of those of its recorder's earlier starts; None: no limit.
    """

    def __init__(
        self,
        folder: Location,
        name: str,
        keep_seconds: float = KEEP_SECONDS,
        compacts: bool = True,
        retention: Retention | None = None,
    ) -> None:
        self.folder, self.name = folder, name
        self.rows_waiting = 0
        self._store = store_at(folder)
        # A second thread only helps compaction: writing a segment takes as long, and a fifth more processor time.
        self._connection = connect_separately(1, self._store.roots(), self._store.files)
        self._compacting: duckdb.DuckDBPyConnection | None = None
        # (kind, columns) → the samples of each pending poll, with indices for their texts.
        self._samples: dict[tuple[str, frozenset[str]], list[_Arrays]] = defaultdict(list)
        self._texts = _Texts()
        self._records: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        # Table → number of the last flush, and its segments.
        self._written: dict[str, int] = defaultdict(int)
        self._levels: dict[str, SegmentLevels] = {}
        self._keep_seconds, self._compacts, self._retention = keep_seconds, compacts, retention
        self._previous_starts: PreviousStarts | None = None
        self._has_expired = False
        # (monotonic time of deletion, segment) of superseded and expired segments.
        self._to_delete: deque[tuple[float, Segment]] = deque()

    def header(self, content: Header | Mapping[str, Any]) -> None:
        """Write `writers/<name>.json`. Raises FileExistsError when another writer uses this name."""
        header = Header.model_validate(content)
        layout.put_new(self._store, f"writers/{self.name}.json", header)
        if self._retention is not None and header.recorder:
            self._previous_starts = PreviousStarts(self._store, self.name, header.recorder)

    def begin(self, run_id: str, started_us: int, sources: Iterable[Declaration] = ()) -> None:
        """Write the header of a writer that is no recorder, such as an import."""
        self.header(
            Header(
                writer=self.name,
                run_id=run_id,
                tool_version=__version__,
                host=platform.node(),
                started_us=started_us,
                sources=tuple(sources),
            )
        )

    def samples(self, source: str, rows: Rows) -> None:
        """Take the samples of one poll, all or none of them.

        Raises ValueError, TypeError or OverflowError for undeclared columns, columns of different length, or values
        that are not numbers of their column's type.
        """
        count = len(rows.entity)
        if undeclared := rows.values.keys() - {column.metric for column in rows.table.columns}:
            raise ValueError(f"table {rows.table.kind} does not declare {', '.join(sorted(undeclared))}")
        columns: dict[str, Sequence[Any]] = {
            "seen": rows.seen,
            "device_time": rows.device_time or [None] * count,
            "covers_seconds": rows.covers_seconds or [None] * count,
            **rows.values,
        }
        if uneven := [name for name, values in columns.items() if len(values) != count]:
            raise ValueError(f"{count} entities, but another number of values of {', '.join(uneven)}")
        arrays: _Arrays = {
            "source": np.full(count, self._texts[source], np.int32),
            "entity": self._texts.indices(rows.entity),
        }
        arrays |= _arrays(
            columns, frozenset(column.metric for column in rows.table.columns if column.bits), self._texts
        )
        self._samples[rows.table.kind, frozenset(rows.values)].append(arrays)
        self.rows_waiting += count

    def inventory(self, source: str, seen: int, item: SourceEntity | SourceLink) -> None:
        """Take an entity or link as a source reported it; `seen` in microseconds of the recorder's clock."""
        row: dict[str, Any] = {"source": source, "seen": seen}
        if isinstance(item, SourceEntity):
            row |= {"kind": item.kind, "local_id": item.local_id, "label": item.label}
            row |= {"ids": _json(item.ids), "attributes": _json(item.attributes)}
            row |= dict.fromkeys(("relation", "from_kind", "from_id", "to_kind", "to_id", "evidence"))
        else:
            row |= dict.fromkeys(("kind", "local_id", "label", "ids", "attributes"))
            row |= {"relation": item.relation, "evidence": item.evidence}
            row |= {"from_kind": item.from_end[0], "from_id": item.from_end[1]}
            row |= {"to_kind": item.to_end[0], "to_id": item.to_end[1]}
        self._record("inventory", row)

    def event(self, source: str, event: Event) -> None:
        """Take an event. Raises ValueError when its time is invalid."""
        if not isinstance(event.seen, int) or abs(event.seen) >= 2**63:
            raise ValueError(f"event {event.name}: {event.seen!r} is not a time in microseconds")
        detail = _json(event.detail)
        self._record("events", {"source": source, "seen": event.seen, "name": event.name, "detail": detail})

    def poll(self, poll: Poll) -> None:
        """Take the record of one poll."""
        self._record("polls", {name: getattr(poll, name) for name in Poll.__slots__})

    def flush(self) -> None:
        """Write pending rows. Raises OSError or duckdb.Error (disk full); then the rows remain pending."""
        for table in _BEFORE_SAMPLES:
            self._flush_records(table)
        for key in list(self._samples):
            kind, _ = key
            self._segment(f"samples/{kind}", _concatenate_polls(self._samples[key]), self._texts.texts)
            del self._samples[key]
        self._texts = _Texts()
        for table in list(self._records):
            self._flush_records(table)
        self.rows_waiting = 0
        if self._compacts:
            compacted = [table for table, levels in self._levels.items() if self._compact(table, levels)]
            self._delete_superseded()
            # Segments expire at the first flush, too: a recorder that is killed repeatedly may never compact.
            if self._retention is not None and (compacted or not self._has_expired):
                self._has_expired = True
                self._expire(self._retention)

    def _flush_records(self, table: str) -> None:
        if table in self._records:
            texts = _Texts()
            self._segment(table, _arrays(self._records[table], frozenset(), texts), texts.texts)
            del self._records[table]

    def end(self, content: Ending | Mapping[str, Any]) -> None:
        """Flush, and record that the writer ended normally."""
        self.flush()
        keep_seconds = self._retention.seconds if self._retention is not None else None
        ending = Ending.model_validate(content).model_copy(
            update={"written": dict(self._written), "keep_seconds": keep_seconds}
        )
        self._store.put(f"writers/{self.name}.end.json", ending.encoded())
        self.close()

    def close(self) -> None:
        """Close the connection; rows not flushed are lost."""
        self._connection.close()
        if self._compacting is not None:
            self._compacting.close()

    def _record(self, table: str, row: dict[str, Any]) -> None:
        for column, value in row.items():
            self._records[table][column].append(value)
        self.rows_waiting += 1

    def _segment(self, table: str, arrays: _Arrays, texts: Sequence[str | None]) -> None:
        """Write a segment. `texts`: its distinct texts, into which the arrays of its text columns are indices."""
        number = self._written[table] + 1
        segment = Segment(table, self.name, number, number)
        registered, columns = _without_masks(arrays)
        listed = _enum(texts) if len(arrays["source"]) >= _ROWS_OF_ENUM * len(texts) else _LIST
        columns |= {name: f'"?"[{name} + 1]' for name in _TEXTS & arrays.keys()}
        selected = ", ".join(f"{expression} AS {quoted(name)}" for name, expression in columns.items())
        query = _SELECT.format(selected, listed)
        self._connection.register("flush", registered)
        try:
            self._copy(self._connection, query, segment, [json.dumps(texts, ensure_ascii=False)])
        finally:
            self._connection.unregister("flush")
        self._written[table] = number
        now = self._retention.now_us() if self._retention is not None else 0
        values = sum(len(column) for column in arrays.values())
        if self._compacts:
            self._levels_of(table).add(TrackedSegment(segment, values, now, now))

    def _levels_of(self, table: str) -> SegmentLevels:
        if table not in self._levels:
            widest_us = (
                self._retention.seconds * 1e6 / SEGMENTS_PER_RETENTION if self._retention is not None else None
            )
            self._levels[table] = SegmentLevels(None if table in _NEVER_EXPIRED else widest_us)
        return self._levels[table]

    def _compact(self, table: str, levels: SegmentLevels) -> bool:
        """Merge segments that are due; returns whether any were.

        A failure is harmless: the segments stay as they are.
        """
        tried = False
        for level, small_segments in levels.due():
            tried, merged = True, merged_segment(small_segments)
            files = ", ".join(literal(self._store.url(segment.segment.name)) for segment in small_segments)
            try:
                read = f"read_parquet([{files}], {tables.IN_ORDER}, {PARQUET})"
                self._copy(self._compactor(), tables.rows(table, read), merged.segment)
            except (OSError, duckdb.Error):
                levels.failed(level)
                continue
            self._schedule_deletion(small_segments)
            levels.done(level, merged)
        return tried

    def _compactor(self) -> duckdb.DuckDBPyConnection:
        if self._compacting is None:
            self._compacting = connect_separately(2, self._store.roots(), self._store.files)
        return self._compacting

    def _expire(self, retention: Retention) -> None:
        """Schedule the deletion of expired segments; the next flush first writes an event about it."""
        before_us = retention.now_us() - round(retention.seconds * 1e6)
        expired = [
            segment
            for table, levels in self._levels.items()
            if table not in _NEVER_EXPIRED
            for segment in levels.expired(before_us)
        ]
        if self._previous_starts is not None:
            with contextlib.suppress(OSError):  # Segments that cannot be listed now only take space.
                expired += self._previous_starts.expired(retention)
        if expired:
            until_us = max(segment.last_us for segment in expired)
            self.event(RECORDER, Event(until_us, DROPPED, {"before": until_us, "keep_seconds": retention.seconds}))
            self._schedule_deletion(expired)

    def _schedule_deletion(self, segments: Sequence[TrackedSegment]) -> None:
        due = time.monotonic() + self._keep_seconds
        self._to_delete += [(due, segment.segment) for segment in segments]

    def _delete_superseded(self) -> None:
        """Delete the oldest first, and superseded segments before wider ones: otherwise readers would use them."""
        while self._to_delete and self._to_delete[0][0] <= time.monotonic():
            try:
                self._store.delete(self._to_delete[0][1].name)
            except FileNotFoundError:
                pass  # Another program has deleted it.
            except OSError:
                return  # The segment only takes space. The next flush tries again.
            self._to_delete.popleft()

    def _copy(
        self,
        connection: duckdb.DuckDBPyConnection,
        query: str,
        segment: Segment,
        parameters: Sequence[Any] | None = None,
    ) -> None:
        with self._store.writing(segment.name) as url:
            connection.execute(_COPY.format(query, literal(url), checksum.OPTION), parameters)
            self._store.seal(url)


def _without_masks(arrays: _Arrays) -> tuple[_Arrays, dict[str, str]]:
    """Return the arrays to register, and the expression of each column over them: before 2.0 DuckDB ignores masks."""
    registered: _Arrays = {}
    columns: dict[str, str] = {}
    for name, values in arrays.items():
        registered[name] = np.ma.getdata(values)
        columns[name] = quoted(name)
        if isinstance(values, np.ma.MaskedArray):
            missing = f"?{name}"
            registered[missing] = np.ma.getmaskarray(values)
            columns[name] = f"if({quoted(missing)}, NULL, {quoted(name)})"
    return registered, columns


def _enum(texts: Sequence[str | None]) -> str:
    """Return the list of texts as values of an ENUM; its columns are texts in the segment.

    A literal with a null character ends a query before DuckDB 2.0; then the texts stay texts.
    """
    members = [text for text in dict.fromkeys(texts) if text is not None]
    if not members or any("\0" in text for text in members):
        return _LIST
    return f"({_LIST}::ENUM({', '.join(map(literal, members))})[])"


def _json(mapping: Mapping[str, Any]) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False)


class _Texts(dict[Any, int]):
    """The index of each text in `texts`; a new text gets the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str | None] = []

    def __missing__(self, value: Any) -> int:
        self.texts.append(_text(value))
        number = self[value] = len(self)
        return number

    def indices(self, values: Sequence[Any]) -> NDArray[np.int32]:
        """Return the index of each value."""
        return np.fromiter(map(self.__getitem__, values), np.int32, len(values))


def _concatenate_polls(polls: Sequence[_Arrays]) -> _Arrays:
    return {name: _concatenate([poll[name] for poll in polls]) for name in polls[0]}


def _concatenate(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if any(isinstance(values, np.ma.MaskedArray) for values in arrays):
        return np.ma.concatenate(arrays)  # type: ignore[no-any-return, no-untyped-call] # numpy's stubs
    return np.concatenate(arrays)


def _arrays(columns: Mapping[str, Sequence[Any]], counters: frozenset[str], texts: _Texts) -> _Arrays:
    return {
        name: texts.indices(values) if name in _TEXTS else _array(name, values, name in counters)
        for name, values in columns.items()
    }


_INTEGERS = frozenset({"seen", "device_time", "due", "started", "ended", "rows", "requests", "bytes_in"})
_TEXTS = frozenset(
    (
        *("source", "entity", "name", "detail", "outcome", "failure", "message", "kind", "local_id", "label", "ids"),
        *("attributes", "relation", "from_kind", "from_id", "to_kind", "to_id", "evidence"),
    )
)


def _array(name: str, values: Sequence[Any], counter: bool) -> NDArray[Any]:
    """Return a NumPy array: counters keep all 64 bits, gauges are doubles; None and non-finite numbers are masked."""
    dtype = np.uint64 if counter else np.int64 if name in _INTEGERS else np.float64
    if isinstance(values, array) and np.dtype(values.typecode) != dtype:
        values = values.tolist()  # NumPy does not check the range of numbers when it converts arrays.
    if len(values) and values[0] is None and list(values).count(None) == len(values):
        return np.ma.masked_array(np.zeros(len(values), dtype=dtype), mask=True)
    missing: np.bool_ | NDArray[np.bool_] = np.ma.nomask
    try:
        numbers = np.asarray(values, dtype=dtype)  # Doubles: NumPy itself reads None as NaN.
    except TypeError:
        numbers = np.array([0 if value is None else value for value in values], dtype=dtype)
        missing = np.array([value is None for value in values])
    if numbers.ndim != 1:
        raise ValueError(f"{name}: lists instead of numbers")
    if dtype == np.float64 and not (finite := np.isfinite(numbers)).all():
        missing = missing | ~finite
    return numbers if missing is np.ma.nomask else np.ma.masked_array(numbers, mask=missing)


def _text(value: object) -> str | None:
    """Return a text that can be written as UTF-8: devices may report half of a surrogate pair."""
    if value is None:
        return None
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

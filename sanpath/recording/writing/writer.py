"""The writer of a recording: collects rows and flushes them as immutable Parquet segments."""

from __future__ import annotations

import contextlib
import json
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sanpath.model import Event, Poll, Rows, SourceEntity, SourceLink
from sanpath.recording.format import layout, tables
from sanpath.recording.format.compaction import DROPPED, PARTS_OF_RETENTION, Part, Parts, Retention, joined
from sanpath.recording.format.documents import Ending, Header
from sanpath.recording.format.layout import RECORDER, Segment
from sanpath.recording.storage import checksum
from sanpath.recording.storage.duck import PARQUET, literal, separate
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.previous_starts import Earlier

KEEP_SECONDS = 60.0
"""How long segments stay after they have been compacted: a reader that has listed them is still reading them, and
the system has not written the new one to the disk yet (Linux: within 30 s)."""

_COPY = "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480, USE_TMP_FILE false, {})"

_FOR_EVER = ("inventory", "events")
"""Tables without which nothing that is left could be read."""

_Arrays = dict[str, NDArray[Any]]


class Writer:
    """Appends to one recording. Not thread-safe: one writer, one caller at a time.

    `name` tells this writer's segments from those of other writers of the same recording. `keep_seconds`: how long
    segments stay after they have been compacted; `compacts` False: they never are, for whoever writes large ones.
    `retention`: what it drops again of its own, and of what earlier starts of its recorder have left; None: nothing.
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
        self._connection = separate(folders=self._store.roots(), store=self._store.files)
        # By kind and set of columns: the samples of each poll that wait for the next flush.
        self._samples: dict[tuple[str, frozenset[str]], list[_Arrays]] = defaultdict(list)
        self._records: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        # By table: the last flush that was written, and the segments that are there.
        self._written: dict[str, int] = defaultdict(int)
        self._parts: dict[str, Parts] = {}
        self._keep_seconds, self._compacts, self._retention = keep_seconds, compacts, retention
        self._earlier: Earlier | None = None
        self._looked = False
        # Segments that a wider one holds, or that are too old, with the monotonic time at which they may go.
        self._leaving: deque[tuple[float, Segment]] = deque()

    def header(self, content: Header | Mapping[str, Any]) -> None:
        """Write `writers/<name>.json`: what was started, with which tables, by which clock. Raises FileExistsError
        when another one writes under this name."""
        told = Header.model_validate(content)
        layout.put_new(self._store, f"writers/{self.name}.json", told)
        if self._retention is not None and told.recorder:
            self._earlier = Earlier(self._store, self.name, told.recorder)

    def samples(self, source: str, rows: Rows) -> None:
        """Take the samples of one poll, all or none of them.

        Raises ValueError, TypeError or OverflowError: undeclared columns, columns of different length, or values that
        are no numbers of their column's type.
        """
        count = len(rows.entity)
        if undeclared := rows.values.keys() - {c.metric for c in rows.table.columns}:
            raise ValueError(f"table {rows.table.kind} does not declare {', '.join(sorted(undeclared))}")
        columns: dict[str, Sequence[Any]] = {
            "source": [source] * count,
            "entity": rows.entity,
            "seen": rows.seen,
            "device_time": rows.device_time or [None] * count,
            "covers_seconds": rows.covers_seconds or [None] * count,
            **rows.values,
        }
        if uneven := [name for name, values in columns.items() if len(values) != count]:
            raise ValueError(f"{count} entities, but another number of values of {', '.join(uneven)}")
        arrays = _arrays(columns, frozenset(c.metric for c in rows.table.columns if c.bits))
        self._samples[rows.table.kind, frozenset(rows.values)].append(arrays)
        self.rows_waiting += count

    def inventory(self, source: str, seen: int, item: SourceEntity | SourceLink) -> None:
        """Take one thing or link as a source saw it."""
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
        """Take an event. Raises ValueError when its time is none."""
        if not isinstance(event.seen, int) or abs(event.seen) >= 2**63:
            raise ValueError(f"event {event.name}: {event.seen!r} is no time in microseconds")
        detail = _json(event.detail)
        self._record("events", {"source": source, "seen": event.seen, "name": event.name, "detail": detail})

    def poll(self, poll: Poll) -> None:
        """Take the account of one poll."""
        self._record("polls", {name: getattr(poll, name) for name in Poll.__slots__})

    def flush(self) -> None:
        """Write what waits. Raises OSError or duckdb.Error (disk full) with nothing lost: the rows wait on."""
        for key in list(self._samples):
            kind, _ = key
            self._segment(f"samples/{kind}", _joined(self._samples[key]))
            del self._samples[key]
        for table in list(self._records):
            self._segment(table, _arrays(self._records[table], frozenset()))
            del self._records[table]
        self.rows_waiting = 0
        if self._compacts:
            compacted = [table for table, parts in self._parts.items() if self._compact(table, parts)]
            self._delete_leaving()
            # At once too: a recorder that is killed again and again may never come to compact.
            if self._retention is not None and (compacted or not self._looked):
                self._looked = True
                self._expire(self._retention)

    def end(self, content: Ending | Mapping[str, Any]) -> None:
        """Flush, and say that the writer ended as it should."""
        self.flush()
        keeps = self._retention.seconds if self._retention is not None else None
        told = Ending.model_validate(content).model_copy(
            update={"written": dict(self._written), "keep_seconds": keeps}
        )
        self._store.put(f"writers/{self.name}.end.json", told.encoded())
        self.close()

    def close(self) -> None:
        """Free the connection; what was not flushed is lost."""
        self._connection.close()

    def _record(self, table: str, row: dict[str, Any]) -> None:
        for column, value in row.items():
            self._records[table][column].append(value)
        self.rows_waiting += 1

    def _segment(self, table: str, arrays: _Arrays) -> None:
        number = self._written[table] + 1
        segment = Segment(table, self.name, number, number)
        self._connection.register("flush", arrays)
        try:
            self._copy("SELECT * FROM flush", segment)
        finally:
            self._connection.unregister("flush")
        self._written[table] = number
        now = self._retention.now_us() if self._retention is not None else 0
        values = sum(len(column) for column in arrays.values())
        if self._compacts:
            self._parts_of(table).add(Part(segment, values, now, now))

    def _parts_of(self, table: str) -> Parts:
        if table not in self._parts:
            widest_us = self._retention.seconds * 1e6 / PARTS_OF_RETENTION if self._retention is not None else None
            self._parts[table] = Parts(None if table in _FOR_EVER else widest_us)
        return self._parts[table]

    def _compact(self, table: str, parts: Parts) -> bool:
        """Write some segments into one. Should it fail, they stay as they are: nothing depends on it."""
        tried = False
        for level, small in parts.due():
            tried, merged = True, joined(small)
            files = ", ".join(literal(self._store.url(part.segment.name)) for part in small)
            try:
                segments = f"read_parquet([{files}], {tables.IN_ORDER}, {PARQUET})"
                self._copy(tables.rows(table, segments), merged.segment)
            except (OSError, duckdb.Error):
                parts.failed(level)
                continue
            self._leave(small)
            parts.done(level, merged)
        return tried

    def _expire(self, retention: Retention) -> None:
        """Drop what is too old, and say so: it leaves after the next flush, which writes that it has left."""
        before_us = retention.now_us() - round(retention.seconds * 1e6)
        gone = [
            part
            for table, parts in self._parts.items()
            if table not in _FOR_EVER
            for part in parts.expired(before_us)
        ]
        if self._earlier is not None:
            with contextlib.suppress(OSError):  # What cannot be looked at now costs space, no more.
                gone += self._earlier.expired(retention)
        if gone:
            until_us = max(part.last_us for part in gone)
            self.event(RECORDER, Event(until_us, DROPPED, {"before": until_us, "keep_seconds": retention.seconds}))
            self._leave(gone)

    def _leave(self, parts: Sequence[Part]) -> None:
        due = time.monotonic() + self._keep_seconds
        self._leaving += [(due, part.segment) for part in parts]

    def _delete_leaving(self) -> None:
        """Oldest first, and none before those that it holds: they would be read again."""
        while self._leaving and self._leaving[0][0] <= time.monotonic():
            try:
                self._store.delete(self._leaving[0][1].name)
            except FileNotFoundError:
                pass  # Somebody has tidied up.
            except OSError:
                return  # It is read by nobody: it costs space, no more. The next flush tries again.
            self._leaving.popleft()

    def _copy(self, query: str, segment: Segment) -> None:
        with self._store.writing(segment.name) as url:
            self._connection.execute(_COPY.format(query, literal(url), checksum.OPTION))
            self._store.seal(url)


def _json(mapping: Mapping[str, Any]) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False)


def _joined(polls: Sequence[_Arrays]) -> _Arrays:
    return {
        name: np.concatenate([poll[name] for poll in polls])
        if name in _TEXTS
        else np.ma.concatenate([poll[name] for poll in polls])  # type: ignore[no-untyped-call] # numpy's stubs
        for name in polls[0]
    }


def _arrays(columns: Mapping[str, Sequence[Any]], counters: frozenset[str]) -> _Arrays:
    return {name: _array(name, values, name in counters) for name, values in columns.items()}


_INTEGERS = frozenset({"seen", "device_time", "due", "started", "ended", "rows", "requests", "bytes_in"})
_TEXTS = frozenset(
    (
        *("source", "entity", "name", "detail", "outcome", "failure", "message", "kind", "local_id", "label", "ids"),
        *("attributes", "relation", "from_kind", "from_id", "to_kind", "to_id", "evidence"),
    )
)


def _array(name: str, values: Sequence[Any], counter: bool) -> NDArray[Any]:
    """Counters keep all 64 bits; gauges are doubles; None and what is no finite number are masked."""
    if name in _TEXTS:
        return np.array([_text(value) for value in values], dtype=object)
    dtype = np.uint64 if counter else np.int64 if name in _INTEGERS else np.float64
    numbers = np.array([0 if v is None else v for v in values], dtype=dtype)
    if numbers.ndim != 1:
        raise ValueError(f"{name}: lists instead of numbers")
    return np.ma.masked_array(numbers, mask=[v is None for v in values] | ~np.isfinite(numbers))


def _text(value: object) -> str | None:
    """Devices name things in broken encodings: half a surrogate pair cannot be written as UTF-8."""
    if value is None:
        return None
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

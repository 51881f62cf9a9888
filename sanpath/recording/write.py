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

from sanpath.model import Event, Poll, Rows, Thing, Tie
from sanpath.recording import layout
from sanpath.recording.documents import Ending, Header
from sanpath.recording.duck import connect
from sanpath.recording.layout import Segment
from sanpath.recording.store import Location, store_at

COMPACTED_SEGMENTS = 60
"""So many segments of a table become one: an hour of flushes leaves 12 files a table."""
KEEP_SECONDS = 60.0
"""How long segments stay after they have been compacted: a reader that has listed them is still reading them, and
the system has not written the new one to the disk yet (Linux: within 30 s)."""

_COPY = "COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480, USE_TMP_FILE false)"
_TOGETHER = """
    SELECT * EXCLUDE (filename, file_row_number)
    FROM read_parquet([{files}], union_by_name = true, filename = true, file_row_number = true)
    ORDER BY {order}, filename, file_row_number
"""
_ORDERS = {"inventory": "seen", "events": "seen", "polls": "started"}
_SAMPLE_ORDER = "source, entity, seen"

_Arrays = dict[str, NDArray[Any]]


class Writer:
    """Appends to one recording. Not thread-safe: one writer, one caller at a time.

    `name` tells this writer's segments from those of other writers of the same recording. `keep_seconds`: how long
    segments stay after they have been compacted; `compacts` False: they never are, for whoever writes large ones.
    """

    def __init__(
        self, folder: Location, name: str, keep_seconds: float = KEEP_SECONDS, compacts: bool = True
    ) -> None:
        self.folder, self.name = folder, name
        self.rows_waiting = 0
        self._store = store_at(folder)
        self._connection = connect()
        self._store.lend(self._connection)
        # By kind and set of columns: the samples of each poll that wait for the next flush.
        self._samples: dict[tuple[str, frozenset[str]], list[_Arrays]] = defaultdict(list)
        self._records: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        # By table: the last flush that was written, and the last that was looked at for compaction.
        self._written: dict[str, int] = defaultdict(int)
        self._compacted: dict[str, int] = defaultdict(int)
        self._keep_seconds, self._compacts = keep_seconds, compacts
        # Segments that a wider one holds, with the monotonic time at which they may go.
        self._superseded: deque[tuple[float, list[Segment]]] = deque()

    def header(self, content: Header | Mapping[str, Any]) -> None:
        """Write `writers/<name>.json`: what was started, with which tables, by which clock."""
        layout.put(self._store, f"writers/{self.name}.json", Header.model_validate(content))

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

    def inventory(self, source: str, seen: int, item: Thing | Tie) -> None:
        """Take one thing or link as a source saw it."""
        row: dict[str, Any] = {"source": source, "seen": seen}
        if isinstance(item, Thing):
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
        for table, last in self._written.items():
            while self._compacts and last - self._compacted[table] >= COMPACTED_SEGMENTS:
                self._compact(table, self._compacted[table] + 1, self._compacted[table] + COMPACTED_SEGMENTS)
        self._delete_superseded()

    def end(self, content: Ending | Mapping[str, Any]) -> None:
        """Flush, and say that the writer ended as it should."""
        self.flush()
        layout.put(self._store, f"writers/{self.name}.end.json", Ending.model_validate(content))
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
        self._connection.register("flush", arrays)
        try:
            self._copy("SELECT * FROM flush", Segment(table, self.name, number, number))
        finally:
            self._connection.unregister("flush")
        self._written[table] = number

    def _compact(self, table: str, first: int, last: int) -> None:
        """Write the rows of some segments into one. Should it fail, they stay as they are: nothing depends on it."""
        small = [Segment(table, self.name, number, number) for number in range(first, last + 1)]
        files = ", ".join(_quoted(self._store.url(segment.name)) for segment in small)
        query = _TOGETHER.format(files=files, order=_ORDERS.get(table, _SAMPLE_ORDER))
        with contextlib.suppress(OSError, duckdb.Error):
            self._copy(query, Segment(table, self.name, first, last))
            self._superseded.append((time.monotonic() + self._keep_seconds, small))
        self._compacted[table] = last

    def _delete_superseded(self) -> None:
        while self._superseded and self._superseded[0][0] <= time.monotonic():
            for segment in self._superseded.popleft()[1]:
                with contextlib.suppress(OSError):  # It is read by nobody: it costs space, no more.
                    self._store.delete(segment.name)

    def _copy(self, query: str, segment: Segment) -> None:
        with self._store.writing(segment.name) as url:
            self._connection.execute(_COPY.format(query, _quoted(url)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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

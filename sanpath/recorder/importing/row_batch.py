"""Combines the samples of many polls, because writing a thousand rows costs little more than writing one."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from sanpath.model import Rows

_BATCH_ROWS = 4_000
"""Rows that are handed to the writer together."""


class Batch:
    """Collects samples with the same table and columns into larger batches."""

    def __init__(self) -> None:
        self._pending: dict[tuple[object, ...], _PendingBatch] = {}

    def add(self, rows: Rows) -> Iterator[Rows]:
        """Add samples. Yields the batch that they complete, if any. Large groups of samples are yielded unchanged."""
        key = (id(rows.table), *rows.values, *map(type, (rows.device_time, rows.covers_seconds, rows.seen)))
        if isinstance(rows.seen, array):  # The values may be arrays as well.
            key += tuple(map(type, rows.values.values()))
        if len(rows.entity) >= _BATCH_ROWS:
            if key in self._pending:
                yield self._pending.pop(key).rows()
            yield rows
            return
        if key not in self._pending:
            self._pending[key] = _PendingBatch(rows)
        pending = self._pending[key]
        pending.add(rows)
        if len(pending.entity) >= _BATCH_ROWS:
            yield self._pending.pop(key).rows()

    def remaining(self) -> Iterator[Rows]:
        """Yield the incomplete batches."""
        batches, self._pending = self._pending, {}
        yield from (pending.rows() for pending in batches.values())


class _PendingBatch:
    """An incomplete batch of samples with the columns of `first`. Columns that are arrays stay arrays."""

    def __init__(self, first: Rows) -> None:
        self._table = first.table
        self.entity: list[str] = []
        self._seen = _empty_like(first.seen)
        self._values = {name: _empty_like(column) for name, column in first.values.items()}
        self._device_time = None if first.device_time is None else _empty_like(first.device_time)
        self._covers_seconds = None if first.covers_seconds is None else _empty_like(first.covers_seconds)

    def add(self, rows: Rows) -> None:
        """Append samples."""
        self.entity += rows.entity
        self._seen += rows.seen
        if self._device_time is not None and rows.device_time is not None:
            self._device_time += rows.device_time
        if self._covers_seconds is not None and rows.covers_seconds is not None:
            self._covers_seconds += rows.covers_seconds
        for name, column in rows.values.items():
            self._values[name] += column

    def rows(self) -> Rows:
        """Return the batch."""
        return Rows(self._table, self.entity, self._seen, dict(self._values), self._device_time, self._covers_seconds)


def _empty_like(column: Any) -> Any:
    """Return an empty column of the same type."""
    return array(column.typecode) if isinstance(column, array) else []


def single_rows(rows: Rows) -> Iterator[Rows]:
    """Yield samples one row at a time."""
    for row in range(len(rows.entity)):
        yield Rows(
            rows.table,
            rows.entity[row : row + 1],
            rows.seen[row : row + 1],
            {name: column[row : row + 1] for name, column in rows.values.items()},
            rows.device_time and rows.device_time[row : row + 1],
            rows.covers_seconds and rows.covers_seconds[row : row + 1],
        )

"""Combines samples of many polls: writing a thousand rows costs little more than writing one."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.model import Rows

_BATCH_ROWS = 4_000


class Batch:
    """Collects samples with the same table and columns into larger batches."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[object, ...], tuple[Rows, dict[str, list[int | float | None]]]] = {}

    def add(self, rows: Rows) -> Iterator[Rows]:
        """Add samples. Yields the batch that they complete, if any; large ones are yielded as they are."""
        key = (id(rows.table), *rows.values, rows.device_time is None, rows.covers_seconds is None)
        if len(rows.entity) >= _BATCH_ROWS:
            if key in self._waiting:
                yield self._waiting.pop(key)[0]
            yield rows
            return
        if key not in self._waiting:
            values: dict[str, list[int | float | None]] = {name: [] for name in rows.values}
            times: list[int] | None = None if rows.device_time is None else []
            covers: list[float] | None = None if rows.covers_seconds is None else []
            self._waiting[key] = (Rows(rows.table, [], [], {**values}, times, covers), values)
        batch, values = self._waiting[key]
        batch.entity += rows.entity
        batch.seen += rows.seen
        if batch.device_time is not None and rows.device_time is not None:
            batch.device_time += rows.device_time
        if batch.covers_seconds is not None and rows.covers_seconds is not None:
            batch.covers_seconds += rows.covers_seconds
        for name, column in rows.values.items():
            values[name] += column
        if len(batch.entity) >= _BATCH_ROWS:
            del self._waiting[key]
            yield batch

    def remaining(self) -> Iterator[Rows]:
        """Yield the incomplete batches."""
        batches, self._waiting = self._waiting, {}
        yield from (rows for rows, _ in batches.values())


def single(rows: Rows) -> Iterator[Rows]:
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

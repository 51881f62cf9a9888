"""Samples of many polls put together: the writer takes a thousand rows for little more than one."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.model import Rows

_ROWS = 4_000


class Batch:
    """Collects samples of one table and one set of columns into larger ones."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[object, ...], tuple[Rows, dict[str, list[int | float | None]]]] = {}

    def add(self, rows: Rows) -> Iterator[Rows]:
        """Take samples. Yields them with those before, once they are many."""
        key = (id(rows.table), *rows.values, rows.device_time is None, rows.covers_seconds is None)
        if key not in self._waiting:
            values: dict[str, list[int | float | None]] = {name: [] for name in rows.values}
            times: list[int] | None = None if rows.device_time is None else []
            covers: list[float] | None = None if rows.covers_seconds is None else []
            self._waiting[key] = (Rows(rows.table, [], [], {**values}, times, covers), values)
        held, values = self._waiting[key]
        held.entity += rows.entity
        held.seen += rows.seen
        if held.device_time is not None and rows.device_time is not None:
            held.device_time += rows.device_time
        if held.covers_seconds is not None and rows.covers_seconds is not None:
            held.covers_seconds += rows.covers_seconds
        for name, told in rows.values.items():
            values[name] += told
        if len(held.entity) >= _ROWS:
            del self._waiting[key]
            yield held

    def rest(self) -> Iterator[Rows]:
        """What waits."""
        held, self._waiting = self._waiting, {}
        yield from (rows for rows, _ in held.values())


def single(rows: Rows) -> Iterator[Rows]:
    """Samples one by one."""
    for at in range(len(rows.entity)):
        yield Rows(
            rows.table,
            rows.entity[at : at + 1],
            rows.seen[at : at + 1],
            {name: told[at : at + 1] for name, told in rows.values.items()},
            rows.device_time and rows.device_time[at : at + 1],
            rows.covers_seconds and rows.covers_seconds[at : at + 1],
        )

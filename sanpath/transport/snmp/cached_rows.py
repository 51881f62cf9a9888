"""Rereading the rows of a table by GET after a walk has found them, with the values of a row in one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sanpath.plugin import SnmpValue
from sanpath.transport.snmp.pages import Row, rows_per_answer, split_rows
from sanpath.transport.snmp.walk import format_oid, parse_oid

_READS_PER_CHECK = 100
"""Reads between checks of all columns, which detect new rows that are missing in the index column."""

_PROBE = 1


class ChangedError(Exception):
    """The table has other rows, or its rows have other columns, than during the walk."""


class UnclearError(Exception):
    """An answer that pysnmp must read instead."""


class SilentError(Exception):
    """No answer to a request and its repetitions."""


class Getter(Protocol):
    """The client that reads a table. Raises UnclearError and SilentError."""

    async def get(self, oids: list[str]) -> dict[str, SnmpValue]:
        """Read the objects; those that do not exist are left out."""
        ...

    async def indexes(self, column: str, limit: int, max_repetitions: int) -> list[str]:
        """Read the index suffixes of a column, in the agent's order."""
        ...


class CachedRows:
    """The rows of some columns in the order in which a walk found them.

    `alongside`: the scalar that every request includes. `index_column`: a column that all rows have.
    """

    def __init__(
        self, rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None, index_column: str
    ) -> None:
        self._columns, self._alongside = columns, alongside
        self._index_column, self._order = index_column, list(rows)
        cells = {column: {index: row[column] for index, row in rows.items() if column in row} for column in columns}
        self._rows_per_answer = {column: rows_per_answer(column, values) for column, values in cells.items()}
        present = [column for column in columns if cells[column]]
        absent = [column for column in columns if column not in present]
        pages_with_holes, pages_without_holes = (
            split_rows(rows, columns, alongside),
            split_rows(rows, present, alongside),
        )
        # A column that no row has is requested in every row, or in a large table by a separate request.
        holes_cost_less = len(pages_with_holes) <= len(pages_without_holes) + len(absent)
        self._pages, self._absent = (pages_with_holes, []) if holes_cost_less else (pages_without_holes, absent)
        self._reads = 0

    @classmethod
    def from_walk(
        cls, rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None, max_rows: int
    ) -> CachedRows | None:
        """Cache the rows of a walk.

        None: rereading could differ from a walk, because the walk reached `max_rows`, no column has all rows, or an
        OID is not in canonical form.
        """
        unusual = any(format_oid(parse_oid(oid)) != oid for oid in (*columns, *([alongside] if alongside else [])))
        index_column = next((c for c in columns if rows and all(c in row for row in rows.values())), None)
        if unusual or index_column is None or len(rows) >= max_rows:
            return None
        return cls(rows, columns, alongside, index_column)

    async def read(self, agent: Getter, now_us: Callable[[], int]) -> dict[str, dict[str, SnmpValue]]:
        """Read the rows again, as `plugin.Snmp.columns` returns them. Raises ChangedError."""
        self._reads += 1
        if self._reads % _READS_PER_CHECK == 0:
            await self._check_every_column(agent)
        if self._order != await self._indexes(agent, self._index_column, len(self._order)):
            raise ChangedError
        for column in self._absent:
            if await agent.indexes(column, _PROBE, _PROBE):
                raise ChangedError
        rows: dict[str, dict[str, SnmpValue]] = {}
        for page in self._pages:
            answer = await agent.get(page.oids)
            seen_us = now_us()
            if not page.holes.isdisjoint(answer):
                raise ChangedError
            try:
                for index, cells in page.rows:
                    rows[index] = row = {column: answer[oid] for column, oid in cells}
                    row["seen"] = seen_us
                    if self._alongside is not None:
                        row["alongside"] = answer.get(self._alongside)
            except KeyError as missing:
                raise ChangedError from missing
        return rows

    async def _check_every_column(self, agent: Getter) -> None:
        cached: dict[str, set[str]] = {column: set() for column in self._columns}
        for page in self._pages:
            for index, cells in page.rows:
                for column, _ in cells:
                    cached[column].add(index)
        for column, indexes in cached.items():
            if set(await self._indexes(agent, column, len(indexes))) != indexes:
                raise ChangedError

    async def _indexes(self, agent: Getter, column: str, row_count: int) -> list[str]:
        return await agent.indexes(column, row_count + 1, self._rows_per_answer[column])

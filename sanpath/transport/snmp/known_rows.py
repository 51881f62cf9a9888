"""Reading the rows of a table again by GET, once a walk has found them: the values of one row in one answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sanpath.plugin import SnmpValue
from sanpath.transport.snmp.pages import Row, pages, rows_an_answer
from sanpath.transport.snmp.walk import format_oid, parse_oid

_READS = 100
"""Reads from one look at every column to the next: a new row that the index column does not have is seen by it."""

_PROBE = 1


class ChangedError(Exception):
    """The table has other rows, or rows with other columns, than the walk has found."""


class UnclearError(Exception):
    """An answer that has to be read by pysnmp."""


class SilentError(Exception):
    """No answer, as often as was asked."""


class Getter(Protocol):
    """What a table is read with. Raises UnclearError and SilentError."""

    async def get(self, oids: list[str]) -> dict[str, SnmpValue]:
        """Those of these objects that there are."""
        ...

    async def indexes(self, column: str, limit: int, max_repetitions: int) -> list[str]:
        """Index suffixes of a column, in the agent's order."""
        ...


class KnownRows:
    """The rows of some columns, as a walk has found them and in its order.

    `alongside`: the scalar that is asked in every answer.
    """

    def __init__(
        self, rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None, index_column: str
    ) -> None:
        self._columns, self._alongside = columns, alongside
        self._index_column, self._order = index_column, list(rows)
        held = {column: {index: row[column] for index, row in rows.items() if column in row} for column in columns}
        self._rows_an_answer = {column: rows_an_answer(column, values) for column, values in held.items()}
        present = [column for column in columns if held[column]]
        absent = [column for column in columns if column not in present]
        with_holes, without = pages(rows, columns, alongside), pages(rows, present, alongside)
        # A column that no row has is looked for in every row, or by a request of its own in a table that is large.
        holes_cost_less = len(with_holes) <= len(without) + len(absent)
        self._pages, self._absent = (with_holes, []) if holes_cost_less else (without, absent)
        self._reads = 0

    @classmethod
    def of(
        cls, rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None, max_rows: int
    ) -> KnownRows | None:
        """None where reading again would not tell what a walk does: too many rows, or no column that has all."""
        unusual = any(format_oid(parse_oid(oid)) != oid for oid in (*columns, *([alongside] if alongside else [])))
        index_column = next((c for c in columns if rows and all(c in row for row in rows.values())), None)
        if unusual or index_column is None or len(rows) >= max_rows:
            return None
        return cls(rows, columns, alongside, index_column)

    async def read(self, agent: Getter, now_us: Callable[[], int]) -> dict[str, dict[str, SnmpValue]]:
        """The rows as `plugin.Snmp.columns` gives them. Raises ChangedError."""
        self._reads += 1
        if self._reads % _READS == 0:
            await self._look_at_every_column(agent)
        if self._order != await self._indexes(agent, self._index_column, len(self._order)):
            raise ChangedError
        for column in self._absent:
            if await agent.indexes(column, _PROBE, _PROBE):
                raise ChangedError
        rows: dict[str, dict[str, SnmpValue]] = {}
        for page in self._pages:
            answer = await agent.get(page.oids)
            seen = now_us()
            if not page.holes.isdisjoint(answer):
                raise ChangedError
            try:
                for index, cells in page.rows:
                    rows[index] = row = {column: answer[oid] for column, oid in cells}
                    row["seen"] = seen
                    if self._alongside is not None:
                        row["alongside"] = answer.get(self._alongside)
            except KeyError as gone:
                raise ChangedError from gone
        return rows

    async def _look_at_every_column(self, agent: Getter) -> None:
        held: dict[str, set[str]] = {column: set() for column in self._columns}
        for page in self._pages:
            for index, cells in page.rows:
                for column, _ in cells:
                    held[column].add(index)
        for column, known in held.items():
            if set(await self._indexes(agent, column, len(known))) != known:
                raise ChangedError

    async def _indexes(self, agent: Getter, column: str, known: int) -> list[str]:
        return await agent.indexes(column, known + 1, self._rows_an_answer[column])

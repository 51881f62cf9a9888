"""The first walk of a table, one column after the other, by a client that can request only one at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from sanpath.plugin import SnmpValue
from sanpath.transport.snmp.cached_rows import UnclearError
from sanpath.transport.snmp.pages import rows_per_answer
from sanpath.transport.snmp.walk import Oid, VarBind, parse_oid

_FIRST_ROWS = 10
"""Rows of a column's first answer, whose size determines the rows per answer; strings of 100 octets still fit."""

Following = Callable[[Sequence[Oid]], Awaitable[Sequence[VarBind]]]
"""Reads the object after each OID; raises CollectorError if the agent answers with an error."""


class Walker(Protocol):
    """The client that reads a column. Raises UnclearError and SilentError."""

    async def values(self, column: str, limit: int, max_repetitions: int) -> tuple[dict[str, SnmpValue], bool]:
        """Read at most `limit` values by index. The second value: whether these are certainly all of them."""
        ...


async def walk_separately(
    agent: Walker, following: Following, columns: Sequence[str], max_rows: int
) -> dict[str, dict[str, SnmpValue]]:
    """Read the values of each column by index, at most `max_rows`.

    `following` checks the end of columns whose last answer may have been an error. Raises CollectorError,
    UnclearError and SilentError.
    """
    walked: dict[str, dict[str, SnmpValue]] = {}
    last_oids: dict[Oid, Oid] = {}
    for column in columns:
        walked[column], complete = await _walk_column(agent, column, max_rows)
        if not complete:
            last = next(reversed(walked[column]), "")
            last_oids[parse_oid(column)] = parse_oid(f"{column}.{last}")
    if last_oids:
        following_objects = await following(list(last_oids.values()))
        if len(following_objects) < len(last_oids):
            raise UnclearError
        for root, (oid, value) in zip(last_oids, following_objects, strict=True):
            if value is not None and oid[: len(root)] == root:
                raise UnclearError
    return walked


async def _walk_column(agent: Walker, column: str, max_rows: int) -> tuple[dict[str, SnmpValue], bool]:
    first_rows = min(max_rows, _FIRST_ROWS)
    values, complete = await agent.values(column, first_rows, first_rows)
    if len(values) < first_rows or first_rows == max_rows:
        return values, complete
    return await agent.values(column, max_rows, rows_per_answer(column, values))


def join_columns(walked: Mapping[str, Mapping[str, SnmpValue]], seen_us: int) -> dict[str, dict[str, SnmpValue]]:
    """Join columns into rows, as `plugin.Snmp.columns` returns them.

    Raises UnclearError if no column has all rows, because their order is then unknown.
    """
    indexes = {index for values in walked.values() for index in values}
    order = next((values for values in walked.values() if len(values) == len(indexes)), None)
    if order is None:
        raise UnclearError
    rows: dict[str, dict[str, SnmpValue]] = {index: {} for index in order}
    for column, values in walked.items():
        for index, value in values.items():
            rows[index][column] = value
    for row in rows.values():
        row["seen"] = seen_us
    return rows

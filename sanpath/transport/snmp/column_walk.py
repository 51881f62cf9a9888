"""Finding the rows of a table for the first time, a column after the other, by a client that asks for one at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from sanpath.plugin import SnmpValue
from sanpath.transport.snmp.known_rows import UnclearError
from sanpath.transport.snmp.pages import rows_an_answer
from sanpath.transport.snmp.walk import Oid, VarBind, parse_oid

_FIRST_ROWS = 10
"""Of a column, from which is reckoned how many rows one answer holds: strings of 100 octets each still fit it."""

Following = Callable[[Sequence[Oid]], Awaitable[Sequence[VarBind]]]
"""The objects behind some others; raises CollectorError where the agent answers with an error."""


class Walker(Protocol):
    """What a column is read with. Raises UnclearError and SilentError."""

    async def values(self, column: str, limit: int, max_repetitions: int) -> tuple[dict[str, SnmpValue], bool]:
        """By index, at most `limit`; whether these are sure to be all."""
        ...


async def walk_apart(
    agent: Walker, following: Following, columns: Sequence[str], max_rows: int
) -> dict[str, dict[str, SnmpValue]]:
    """Values of each column by index, at most `max_rows`. Raises CollectorError, UnclearError and SilentError."""
    found: dict[str, dict[str, SnmpValue]] = {}
    unsure: dict[Oid, Oid] = {}
    for column in columns:
        found[column], sure = await _column(agent, column, max_rows)
        if not sure:
            last = next(reversed(found[column]), "")
            unsure[parse_oid(column)] = parse_oid(f"{column}.{last}")
    if unsure:
        behind = await following(list(unsure.values()))
        if len(behind) < len(unsure):
            raise UnclearError
        for root, (oid, value) in zip(unsure, behind, strict=True):
            if value is not None and oid[: len(root)] == root:
                raise UnclearError
    return found


async def _column(agent: Walker, column: str, max_rows: int) -> tuple[dict[str, SnmpValue], bool]:
    few = min(max_rows, _FIRST_ROWS)
    values, sure = await agent.values(column, few, few)
    if len(values) < few or few == max_rows:
        return values, sure
    return await agent.values(column, max_rows, rows_an_answer(column, values))


def rows_of(walked: Mapping[str, Mapping[str, SnmpValue]], seen: int) -> dict[str, dict[str, SnmpValue]]:
    """The rows as `plugin.Snmp.columns` gives them. Raises UnclearError where no column has all of them."""
    indexes = {index for values in walked.values() for index in values}
    order = next((values for values in walked.values() if len(values) == len(indexes)), None)
    if order is None:
        raise UnclearError
    rows: dict[str, dict[str, SnmpValue]] = {index: {} for index in order}
    for column, values in walked.items():
        for index, value in values.items():
            rows[index][column] = value
    for row in rows.values():
        row["seen"] = seen
    return rows

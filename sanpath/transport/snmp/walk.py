"""Reading columns of an SNMP table by GETBULK so that the values of one row come from one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from itertools import islice

from sanpath.plugin import CollectorError, Failure, SnmpValue

Oid = tuple[int, ...]
VarBind = tuple[Oid, SnmpValue]
Bulk = Callable[[Sequence[Oid], int], Awaitable[Sequence[VarBind]]]
"""One GETBULK: OIDs and max-repetitions → variable bindings, by repetition; a value None: end of the MIB view."""

_FRAME_BYTES = 1_400  # the size of an Ethernet frame: agents drop or fragment larger UDP answers
_HEADER_BYTES = 60  # message, community and PDU header
ANSWER_BYTES = _FRAME_BYTES - _HEADER_BYTES
"""Size limit of the variable bindings in one answer."""

_BINDING_BYTES = 32  # ifXEntry OID with a five-octet ifIndex (17) and a full Counter64 (11), with its sequence
_MAX_REPETITIONS = 25


@lru_cache(maxsize=4096)
def parse_oid(text: str) -> Oid:
    """Parse dotted text, with or without a leading dot."""
    return tuple(int(number) for number in text.strip(".").split(".") if number)


def format_oid(oid: Oid) -> str:
    """Format an OID as dotted text."""
    return ".".join(map(str, oid))


def repetitions(columns: int) -> int:
    """Return the number of rows to request in one GETBULK so that the answer fits one datagram."""
    return max(1, min(_MAX_REPETITIONS, ANSWER_BYTES // (_BINDING_BYTES * columns)))


async def walk_columns(
    bulk: Bulk,
    now_us: Callable[[], int],
    oids: Sequence[str],
    max_rows: int,
    alongside: Callable[[], SnmpValue] | None = None,
) -> dict[str, dict[str, SnmpValue]]:
    """Read the rows of some columns, as `plugin.Snmp.columns` describes them.

    `alongside` returns the scalar in the last answer. The rows are in the agent's order: that of the first column
    that has all of them. Every request asks for all columns from the same row, the last one that all of them have
    reached: in a table with holes, a column that is ahead is requested again, so that a row stays together. A row
    index from which a request has already started ends the walk: some agents answer out of order, some in a loop.
    """
    column_names = {parse_oid(oid): oid for oid in oids}
    rows: dict[str, dict[str, SnmpValue]] = {}
    orders: dict[Oid, dict[str, None]] = {column: {} for column in column_names}
    running = list(column_names)
    requested_cursors: set[Oid] = set()
    cursor: Oid = ()
    while running and cursor not in requested_cursors and len(rows) < max_rows:
        requested_cursors.add(cursor)
        max_repetitions = min(repetitions(len(running)), max_rows - len(rows))
        answer = await bulk([column + cursor for column in running], max_repetitions)
        seen_us = now_us()
        complete_bindings = len(answer) - len(answer) % len(running)
        if not complete_bindings:
            raise CollectorError(Failure.UNREADABLE, f"agent answered {len(answer)} of {len(running)} columns")
        reached: dict[Oid, Oid] = {}
        ended: set[Oid] = set()
        suffix: Oid | None = None
        for number, (oid, value) in enumerate(answer[:complete_bindings]):
            column = running[number % len(running)]
            if column in ended:
                continue
            if oid[: len(column)] != column or value is None:
                ended.add(column)
                continue
            reached[column] = oid[len(column) :]
            if reached[column] != suffix:  # The columns of a row are adjacent.
                suffix = reached[column]
                index = format_oid(suffix)
            orders[column][index] = None
            row = rows.setdefault(index, {})
            row[column_names[column]] = value
            row["seen"] = seen_us
            if alongside is not None:
                row["alongside"] = alongside()
        continuing = [reached[column] for column in running if column not in ended]
        if not continuing:
            break
        cursor = min(continuing)
        running = [c for c in running if c not in ended or reached.get(c, ()) > cursor]
    order = next((order for order in orders.values() if len(order) == len(rows)), rows)
    return {index: rows[index] for index in islice(order, max_rows)}

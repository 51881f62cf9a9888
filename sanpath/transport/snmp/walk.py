"""Reading columns of an SNMP table by GETBULK so that the values of one row come from one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from sanpath.plugin import CollectorError, Failure, SnmpValue

Oid = tuple[int, ...]
VarBind = tuple[Oid, SnmpValue]
Bulk = Callable[[Sequence[Oid], int], Awaitable[Sequence[VarBind]]]
"""One GETBULK: OIDs and max-repetitions → variable bindings, repetition by repetition; None: end of the MIB view."""

_FRAME_BYTES = 1_400  # an Ethernet frame's worth: agents drop or fragment larger UDP answers
_HEADER_BYTES = 60  # message, community and PDU header
ANSWER_BYTES = _FRAME_BYTES - _HEADER_BYTES
"""Of variable bindings in one answer."""

_BINDING_BYTES = 32  # ifXEntry OID with a five-octet ifIndex (17) and a full Counter64 (11), with its sequence
_MAX_REPETITIONS = 25


def parse_oid(text: str) -> Oid:
    """Dotted text, with or without the leading dot, as numbers."""
    return tuple(int(part) for part in text.strip(".").split(".") if part)


def format_oid(oid: Oid) -> str:
    """Numbers as dotted text."""
    return ".".join(map(str, oid))


def repetitions(columns: int) -> int:
    """Rows to ask for in one GETBULK so that the answer fits one datagram."""
    return max(1, min(_MAX_REPETITIONS, ANSWER_BYTES // (_BINDING_BYTES * columns)))


async def walk_columns(
    bulk: Bulk,
    now_us: Callable[[], int],
    oids: Sequence[str],
    max_rows: int,
    alongside: Callable[[], SnmpValue] | None = None,
) -> dict[str, dict[str, SnmpValue]]:
    """Rows of the columns, as `plugin.Snmp.columns` describes them. `alongside`: the scalar of the last answer.

    They come in the order of the first column that has all of them, which is the agent's.
    Every request asks all columns from the same row, the last one that all of them have reached: in a table with
    holes a column that ran ahead is asked again rather than read apart from its row. A row index that was already
    asked from ends the walk, whatever the order of the rows: some agents answer out of order, some in circles.
    """
    names = {parse_oid(oid): oid for oid in oids}
    rows: dict[str, dict[str, SnmpValue]] = {}
    orders: dict[Oid, dict[str, None]] = {column: {} for column in names}
    running = list(names)
    asked: set[Oid] = set()
    cursor: Oid = ()
    while running and cursor not in asked and len(rows) < max_rows:
        asked.add(cursor)
        wanted = min(repetitions(len(running)), max_rows - len(rows))
        answer = await bulk([column + cursor for column in running], wanted)
        seen = now_us()
        whole = len(answer) - len(answer) % len(running)
        if not whole:
            raise CollectorError(Failure.UNREADABLE, f"agent answered {len(answer)} of {len(running)} columns")
        reached: dict[Oid, Oid] = {}
        ended: set[Oid] = set()
        for number, (oid, value) in enumerate(answer[:whole]):
            column = running[number % len(running)]
            if column in ended:
                continue
            if oid[: len(column)] != column or value is None:
                ended.add(column)
                continue
            reached[column] = oid[len(column) :]
            index = format_oid(reached[column])
            orders[column][index] = None
            row = rows.setdefault(index, {})
            row[names[column]] = value
            row["seen"] = seen
            if alongside is not None:
                row["alongside"] = alongside()
        going = [reached[column] for column in running if column not in ended]
        if not going:
            break
        cursor = min(going)
        running = [c for c in running if c not in ended or reached.get(c, ()) > cursor]
    order = next((order for order in orders.values() if len(order) == len(rows)), rows)
    return {index: rows[index] for index in islice(order, max_rows)}

"""Sharing the known rows of a table out to GETs, so that each answer fits one datagram and holds whole rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sanpath.plugin import SnmpValue
from sanpath.transport.snmp.walk import ANSWER_BYTES, repetitions

Row = Mapping[str, SnmpValue]

_AROUND_BYTES = 6  # tag and length of a binding, of its OID and of its value
_NUMBER_BYTES = 9  # a full Counter64


class Page(NamedTuple):
    """One GET: its objects, (column, object) of the cells of each row, and the objects that were not there."""

    oids: list[str]
    rows: list[tuple[str, list[tuple[str, str]]]]
    holes: frozenset[str]


def pages(rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None) -> list[Page]:
    """All cells of these rows, in their order, each page with the scalar `alongside` in front."""
    return [_page(part, columns, alongside) for part in _fitting(rows, columns, alongside)]


def _fitting(rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None) -> Iterator[dict[str, Row]]:
    """As many rows together as one answer holds, at least one."""
    column_octets = {column: _octets(column) + _AROUND_BYTES for column in columns}
    first = used = 0 if alongside is None else _octets(alongside) + _AROUND_BYTES + _NUMBER_BYTES
    part: dict[str, Row] = {}
    for index, row in rows.items():
        index_octets = _octets(index)
        needed = sum(column_octets[c] + index_octets + _value_octets(row.get(c)) for c in columns)
        if part and used + needed > ANSWER_BYTES:
            yield part
            part, used = {}, first
        part[index] = row
        used += needed
    if part:
        yield part


def _page(rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None) -> Page:
    cells = [
        (index, [(column, f"{column}.{index}") for column in columns if column in row]) for index, row in rows.items()
    ]
    holes = [f"{column}.{index}" for index, row in rows.items() for column in columns if column not in row]
    oids = [oid for _, row in cells for _, oid in row]
    return Page([*([alongside] if alongside else []), *oids, *holes], cells, frozenset(holes))


def rows_an_answer(column: str, values: Mapping[str, SnmpValue]) -> int:
    """Rows to ask for in a GETBULK of one column with values as large as these, by index, so that they fit."""
    largest = max((_octets(index) + _value_octets(value) for index, value in values.items()), default=0)
    return max(1, min(repetitions(1), ANSWER_BYTES // (_octets(column) + _AROUND_BYTES + largest)))


def _octets(oid: str) -> int:
    """Of the coded OID: seven bits of each number in an octet."""
    return sum(1 + (int(number).bit_length() - 1) // 7 if number != "0" else 1 for number in oid.split("."))


def _value_octets(value: SnmpValue) -> int:
    return len(value) if isinstance(value, (bytes, str)) else _NUMBER_BYTES

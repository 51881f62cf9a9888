"""Dividing the known rows of a table into GETs, so that each answer fits one datagram and has complete rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sanpath.plugin import SnmpValue
from sanpath.transport.snmp.walk import ANSWER_BYTES, repetitions

Row = Mapping[str, SnmpValue]

_TLV_BYTES = 6  # tag and length of a binding, of its OID and of its value
_NUMBER_BYTES = 9  # a full Counter64


class Page(NamedTuple):
    """One GET: its OIDs, the (column, OID) pairs of each row by index, and the OIDs of cells that did not exist."""

    oids: list[str]
    rows: list[tuple[str, list[tuple[str, str]]]]
    holes: frozenset[str]


def split_rows(rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None) -> list[Page]:
    """Divide the cells of these rows, in their order, into pages that begin with the scalar `alongside`."""
    return [_page(page_rows, columns, alongside) for page_rows in _split(rows, columns, alongside)]


def _split(rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None) -> Iterator[dict[str, Row]]:
    """Group the rows, as many as fit one answer, but at least one."""
    column_octets = {column: _octets(column) + _TLV_BYTES for column in columns}
    fixed_bytes = used_bytes = 0 if alongside is None else _octets(alongside) + _TLV_BYTES + _NUMBER_BYTES
    page_rows: dict[str, Row] = {}
    for index, row in rows.items():
        index_octets = _octets(index)
        row_bytes = sum(column_octets[c] + index_octets + _value_octets(row.get(c)) for c in columns)
        if page_rows and used_bytes + row_bytes > ANSWER_BYTES:
            yield page_rows
            page_rows, used_bytes = {}, fixed_bytes
        page_rows[index] = row
        used_bytes += row_bytes
    if page_rows:
        yield page_rows


def _page(rows: Mapping[str, Row], columns: Sequence[str], alongside: str | None) -> Page:
    cells = [
        (index, [(column, f"{column}.{index}") for column in columns if column in row]) for index, row in rows.items()
    ]
    holes = [f"{column}.{index}" for index, row in rows.items() for column in columns if column not in row]
    oids = [oid for _, row in cells for _, oid in row]
    return Page([*([alongside] if alongside else []), *oids, *holes], cells, frozenset(holes))


def rows_per_answer(column: str, values: Mapping[str, SnmpValue]) -> int:
    """Return the number of rows to request in a GETBULK of one column so that the answer fits one datagram.

    `values`: earlier values of the column by row index, whose size is taken as typical.
    """
    largest = max((_octets(index) + _value_octets(value) for index, value in values.items()), default=0)
    return max(1, min(repetitions(1), ANSWER_BYTES // (_octets(column) + _TLV_BYTES + largest)))


def _octets(oid: str) -> int:
    """Return the length of an encoded OID: each octet has seven bits of a number."""
    return sum(1 + (int(number).bit_length() - 1) // 7 if number != "0" else 1 for number in oid.split("."))


def _value_octets(value: SnmpValue) -> int:
    return len(value) if isinstance(value, (bytes, str)) else _NUMBER_BYTES

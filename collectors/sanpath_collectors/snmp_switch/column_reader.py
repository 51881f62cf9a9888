"""Reading columns with a common index, a few at a time so that the values of a row come in one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from sanpath.plugin import CollectorError, Failure, Snmp, SnmpValue
from sanpath_collectors.snmp_switch.profile import Profile

COLUMNS_TOGETHER = 10
"""Columns of one walk: the values of four ports fit one answer."""

_T = TypeVar("_T")

SYS_DESCR = "1.3.6.1.2.1.1.1.0"
SYS_OBJECT_ID = "1.3.6.1.2.1.1.2.0"
SYS_UPTIME = "1.3.6.1.2.1.1.3.0"
SYS_NAME = "1.3.6.1.2.1.1.5.0"


class Cell(NamedTuple):
    """A value, the time in microseconds when its answer arrived, and the agent's uptime in the same answer.

    `uptime_ticks`: sysUpTime in hundredths of a second; None: it was not requested.
    """

    value: SnmpValue
    seen_us: int
    uptime_ticks: int | None


Cells = dict[str, dict[str, Cell]]
"""Index of the row → OID of the column → cell."""


def sub_identifiers(index: str) -> list[int]:
    """Return the numbers of a row's index; empty if an agent answers a column without an index."""
    return [int(number) for number in index.split(".") if number]


async def read(snmp: Snmp, oids: Sequence[str], alongside: str | None = None, row_per_pdu: bool = True) -> Cells:
    """Read columns with a common index, in the order given; see `plugin.Snmp.columns`. Raises CollectorError."""
    cells_by_row: Cells = {}
    for first in range(0, len(oids), COLUMNS_TOGETHER):
        requested = oids[first : first + COLUMNS_TOGETHER]
        for index, row in (await snmp.columns(requested, alongside=alongside, row_per_pdu=row_per_pdu)).items():
            seen_us, uptime_ticks = row.get("seen"), row.get("alongside")
            cells = cells_by_row.setdefault(index, {})
            for oid in requested:
                if oid in row:
                    arrival_us = seen_us if isinstance(seen_us, int) else 0
                    cells[oid] = Cell(row[oid], arrival_us, uptime_ticks if isinstance(uptime_ticks, int) else None)
    return cells_by_row


async def read_if_allowed(snmp: Snmp, oids: Sequence[str]) -> Cells:
    """Read columns whose values seldom change. Empty: the agent refuses them or its answer is malformed.

    Raises CollectorError if the agent does not answer.
    """
    return await _if_allowed(read(snmp, oids, row_per_pdu=False), {})


async def get_if_allowed(snmp: Snmp, oids: Sequence[str]) -> dict[str, SnmpValue]:
    """Read scalars; None if the agent lacks or refuses them. Raises CollectorError if it does not answer."""
    return await _if_allowed(snmp.get(oids), dict.fromkeys(oids)) if oids else {}


async def _if_allowed(requested: Awaitable[_T], default: _T) -> _T:
    try:
        return await requested
    except CollectorError as error:
        if error.failure is Failure.UNREACHABLE:
            raise
        return default


@dataclass(frozen=True, slots=True)
class Family:
    """The profiles of a switch: `applicable` ones, and `unanswered` ones that should apply but have no table rows."""

    applicable: tuple[Profile, ...]
    unanswered: tuple[Profile, ...]


def _below(object_id: str, roots: Sequence[str]) -> bool:
    return any(f"{object_id}.".startswith(f"{root}.") for root in roots)


async def family(snmp: Snmp, object_id: str, profiles: Sequence[Profile]) -> Family:
    """Find the profiles of a switch by its sysObjectID ("": unknown) and by the tables that it answers."""
    applicable: list[Profile] = []
    unanswered: list[Profile] = []
    for profile in profiles:
        if profile.detect.object_ids and not _below(object_id, profile.detect.object_ids):
            continue
        has_answer = False
        for oid in profile.detect.answers:
            has_answer = has_answer or await _has_rows(snmp, oid)
        (applicable if has_answer else unanswered).append(profile)
    return Family(tuple(applicable), tuple(unanswered))


async def _has_rows(snmp: Snmp, oid: str) -> bool:
    return bool(await _if_allowed(snmp.columns([oid], max_rows=1, row_per_pdu=False), {}))

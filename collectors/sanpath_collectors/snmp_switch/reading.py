"""Reading columns that belong together, a few at a time so that the values of a row come in one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from sanpath.plugin import CollectorError, Failure, Snmp, SnmpValue
from sanpath_collectors.snmp_switch.profile import Profile

COLUMNS_TOGETHER = 10
"""Columns of one walk: their values of four ports fit one answer."""

_T = TypeVar("_T")

SYS_DESCR = "1.3.6.1.2.1.1.1.0"
SYS_OBJECT_ID = "1.3.6.1.2.1.1.2.0"
SYS_UPTIME = "1.3.6.1.2.1.1.3.0"
SYS_NAME = "1.3.6.1.2.1.1.5.0"


class Cell(NamedTuple):
    """A value, when its answer arrived, and the agent's uptime in that answer (None: not asked)."""

    value: SnmpValue
    seen: int
    ticks: int | None


Cells = dict[str, dict[str, Cell]]
"""Index of the row → OID of the column → cell."""


def sub_identifiers(index: str) -> list[int]:
    """The numbers of a row's index; none where an agent answers a column without one."""
    return [int(part) for part in index.split(".") if part]


async def read(snmp: Snmp, oids: Sequence[str], alongside: str | None = None, row_per_pdu: bool = True) -> Cells:
    """Columns with one index, in the order given; for the rest see `plugin.Snmp.columns`. Raises CollectorError."""
    found: Cells = {}
    for first in range(0, len(oids), COLUMNS_TOGETHER):
        asked = oids[first : first + COLUMNS_TOGETHER]
        for index, row in (await snmp.columns(asked, alongside=alongside, row_per_pdu=row_per_pdu)).items():
            seen, ticks = row.get("seen"), row.get("alongside")
            cells = found.setdefault(index, {})
            for oid in asked:
                if oid in row:
                    moment = seen if isinstance(seen, int) else 0
                    cells[oid] = Cell(row[oid], moment, ticks if isinstance(ticks, int) else None)
    return found


async def read_if_allowed(snmp: Snmp, oids: Sequence[str]) -> Cells:
    """What stands still; nothing where the agent refuses or garbles it. Raises CollectorError when it is silent."""
    return await _if_allowed(read(snmp, oids, row_per_pdu=False), {})


async def get_if_allowed(snmp: Snmp, oids: Sequence[str]) -> dict[str, SnmpValue]:
    """Scalars, None where the agent has none or refuses them. Raises CollectorError when it is silent."""
    return await _if_allowed(snmp.get(oids), dict.fromkeys(oids)) if oids else {}


async def _if_allowed(asked: Awaitable[_T], otherwise: _T) -> _T:
    try:
        return await asked
    except CollectorError as error:
        if error.failure is Failure.UNREACHABLE:
            raise
        return otherwise


@dataclass(frozen=True, slots=True)
class Family:
    """What a switch turned out to be: the profiles that apply, and those that should but whose tables are silent."""

    applicable: tuple[Profile, ...]
    silent: tuple[Profile, ...]


def _below(object_id: str, roots: Sequence[str]) -> bool:
    return any(f"{object_id}.".startswith(f"{root}.") for root in roots)


async def family(snmp: Snmp, object_id: str, profiles: Sequence[Profile]) -> Family:
    """What applies to a switch with this sysObjectID ("": not told) that answers these tables."""
    applicable: list[Profile] = []
    silent: list[Profile] = []
    for profile in profiles:
        if profile.detect.object_ids and not _below(object_id, profile.detect.object_ids):
            continue
        answers = False
        for oid in profile.detect.answers:
            answers = answers or await _has_rows(snmp, oid)
        (applicable if answers else silent).append(profile)
    return Family(tuple(applicable), tuple(silent))


async def _has_rows(snmp: Snmp, oid: str) -> bool:
    return bool(await _if_allowed(snmp.columns([oid], max_rows=1, row_per_pdu=False), {}))

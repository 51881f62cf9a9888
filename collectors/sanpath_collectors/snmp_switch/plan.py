"""Which column tells a metric of a port: the first in the order of the profiles that has answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.plugin import Snmp
from sanpath_collectors.snmp_switch.ports import Port, place
from sanpath_collectors.snmp_switch.profile import Counter, Profile
from sanpath_collectors.snmp_switch.reading import Cell, Cells, read_if_allowed
from sanpath_collectors.snmp_switch.values import counted, decoded

Bits = Literal[0, 32, 63, 64]
_WIDTHS: dict[int, Bits] = {0: 0, 32: 32, 63: 63, 64: 64}
PortCells = dict[str, dict[str, Cell]]
"""Local id of a port → OID → cell."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A column, and the width that its values turned out to have."""

    counter: Counter
    bits: Bits


class Plan:
    """What to ask of which port. A choice stays until the switch restarts: another counter would look reset."""

    def __init__(self) -> None:
        self.chosen: dict[str, dict[str, Chosen]] = {}
        self._tried: dict[str, bool] = {}

    async def learn(
        self, snmp: Snmp, profiles: Sequence[Profile], ports: Mapping[str, Port], interfaces: Mapping[str, object]
    ) -> None:
        """Ask for what no source is known of yet, of ports that are new or have come up. Raises CollectorError when
        the agent falls silent."""
        fresh = [p for p in ports.values() if not self._tried.get(p.local_id, False)]
        fresh = [p for p in fresh if p.local_id not in self._tried or p.attributes.get("up")]
        for profile in profiles:
            asked = list(dict.fromkeys(c.oid for c in profile.counters if not c.always and self._missing(c, fresh)))
            rows = by_port(profile, await read_if_allowed(snmp, asked), interfaces) if asked else {}
            for counter in profile.counters:
                for port in fresh:
                    self._choose(counter, port, rows.get(port.local_id, {}), interfaces)
        self._tried |= {port.local_id: bool(port.attributes.get("up")) for port in fresh}

    def _missing(self, counter: Counter, ports: Sequence[Port]) -> bool:
        return any(
            _applies(counter, port) and counter.metric not in self.chosen.get(port.local_id, {}) for port in ports
        )

    def _choose(
        self, counter: Counter, port: Port, cells: Mapping[str, Cell], interfaces: Mapping[str, object]
    ) -> None:
        chosen = self.chosen.setdefault(port.local_id, {})
        if counter.metric in chosen or not _applies(counter, port):
            return
        if counter.always:
            if port.local_id in interfaces:
                chosen[counter.metric] = Chosen(counter, counter.bits)
        elif counter.oid in cells and (bits := width(counter, cells[counter.oid])) is not None:
            chosen[counter.metric] = Chosen(counter, bits)

    def columns(self, profile: Profile) -> list[str]:
        """The columns of a profile that any port needs."""
        used = {chosen.counter.oid for by_metric in self.chosen.values() for chosen in by_metric.values()}
        return list(dict.fromkeys(c.oid for c in profile.counters if c.oid in used))

    def counting(self) -> Iterator[str]:
        """Ports of which anything is counted."""
        for port, by_metric in self.chosen.items():
            if any(chosen.bits for chosen in by_metric.values()):
                yield port


def by_port(profile: Profile, rows: Cells, interfaces: Mapping[str, object]) -> PortCells:
    """Rows by port instead of by index."""
    placed = ((place(profile.index, row, interfaces), cells) for row, cells in rows.items())
    return {port: cells for port, cells in placed if port is not None}


def width(counter: Counter, cell: Cell) -> Bits | None:
    """How wide the values of a column are, 0 for a gauge. None: it does not answer with values."""
    if not counter.bits:
        return None if decoded(counter, cell.value) is None else 0
    found = counted(cell.value, counter.bits)
    return None if found is None else _WIDTHS[found[1]]


def _applies(counter: Counter, port: Port) -> bool:
    return port.carries and counter.technology in (None, port.technology)

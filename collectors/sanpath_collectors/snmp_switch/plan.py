"""The columns to poll: for each metric of a port, the first column in the order of the profiles that answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.plugin import Snmp
from sanpath_collectors.snmp_switch.ports import Port, port_of_index
from sanpath_collectors.snmp_switch.profile import Counter, Profile
from sanpath_collectors.snmp_switch.reading import Cell, Cells, read_if_allowed
from sanpath_collectors.snmp_switch.values import counted, decoded

Bits = Literal[0, 32, 63, 64]
_WIDTHS: dict[int, Bits] = {0: 0, 32: 32, 63: 63, 64: 64}
PortCells = dict[str, dict[str, Cell]]
"""Local id of a port → OID → cell."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A column that was chosen for a metric, and the width in bits of its values."""

    counter: Counter
    bits: Bits


class Plan:
    """The chosen columns of each port: `chosen` is {port: {metric: column}}.

    A choice is valid until the switch restarts, because a change of columns would look like a counter reset.
    """

    def __init__(self) -> None:
        self.chosen: dict[str, dict[str, Chosen]] = {}
        self._was_up: dict[str, bool] = {}

    async def choose_columns(
        self, snmp: Snmp, profiles: Sequence[Profile], ports: Mapping[str, Port], interfaces: Mapping[str, object]
    ) -> None:
        """Choose the columns of ports that are new or have come up, for metrics that have none yet.

        Raises CollectorError when the agent stops answering.
        """
        fresh = [p for p in ports.values() if not self._was_up.get(p.local_id, False)]
        fresh = [p for p in fresh if p.local_id not in self._was_up or p.attributes.get("up")]
        for profile in profiles:
            columns = list(
                dict.fromkeys(c.oid for c in profile.counters if not c.always and self._is_needed(c, fresh))
            )
            rows = by_port(profile, await read_if_allowed(snmp, columns), interfaces) if columns else {}
            for counter in profile.counters:
                for port in fresh:
                    self._choose(counter, port, rows.get(port.local_id, {}), interfaces)
        self._was_up |= {port.local_id: bool(port.attributes.get("up")) for port in fresh}

    def _is_needed(self, counter: Counter, ports: Sequence[Port]) -> bool:
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
        """Return the columns of a profile that were chosen for any port."""
        used = {chosen.counter.oid for by_metric in self.chosen.values() for chosen in by_metric.values()}
        return list(dict.fromkeys(c.oid for c in profile.counters if c.oid in used))

    def counted_ports(self) -> Iterator[str]:
        """Yield the ports that have at least one counter."""
        for port, by_metric in self.chosen.items():
            if any(chosen.bits for chosen in by_metric.values()):
                yield port


def by_port(profile: Profile, rows: Cells, interfaces: Mapping[str, object]) -> PortCells:
    """Return the rows by port instead of by index."""
    rows_by_port = ((port_of_index(profile.index, row, interfaces), cells) for row, cells in rows.items())
    return {port: cells for port, cells in rows_by_port if port is not None}


def width(counter: Counter, cell: Cell) -> Bits | None:
    """Return the width in bits of a column's values, 0 for a gauge. None: the cell has no valid value."""
    if not counter.bits:
        return None if decoded(counter, cell.value) is None else 0
    counter_value = counted(cell.value, counter.bits)
    return None if counter_value is None else _WIDTHS[counter_value[1]]


def _applies(counter: Counter, port: Port) -> bool:
    return port.carries and counter.technology in (None, port.technology)

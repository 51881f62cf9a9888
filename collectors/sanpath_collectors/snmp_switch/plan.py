"""The columns to poll and their rows: for each metric of a port, the first column that answers in any profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.plugin import Rows, Snmp, Table
from sanpath_collectors.snmp_switch.column_reader import Cell, Cells, read_if_allowed
from sanpath_collectors.snmp_switch.parse import TICK_US, decode_value, parse_counter
from sanpath_collectors.snmp_switch.ports import Port, port_of_index
from sanpath_collectors.snmp_switch.profile import Counter, Profile
from sanpath_collectors.snmp_switch.tables import Bits, port_table

_WIDTHS: dict[int, Bits] = {0: 0, 32: 32, 63: 63, 64: 64}
_BYTES = "bytes_rx_total"
_Number = int | float | None
PortCells = dict[str, dict[str, Cell]]
"""Local id of a port → OID → cell."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A column that was chosen for a metric, and the width of its values in bits."""

    counter: Counter
    bits: Bits


class Plan:
    """The chosen columns of each port: `chosen` is {port: {metric: column}}.

    The choice of a counter is valid until the switch restarts, because a change of columns would look like a counter
    reset.
    """

    def __init__(self) -> None:
        self.chosen: dict[str, dict[str, Chosen]] = {}
        self._was_up: dict[str, bool] = {}

    async def choose_columns(
        self, snmp: Snmp, profiles: Sequence[Profile], ports: Mapping[str, Port], interfaces: Mapping[str, object]
    ) -> None:
        """Choose the columns of ports that are new or have come up, for metrics that have none yet.

        Raises CollectorError if the agent stops answering.
        """
        fresh = [p for p in ports.values() if not self._was_up.get(p.local_id, False)]
        fresh = [p for p in fresh if p.local_id not in self._was_up or p.attributes.get("up")]
        for profile in profiles:
            columns = list(
                dict.fromkeys(c.oid for c in profile.counters if not c.always and self._is_needed(c, fresh))
            )
            rows = cells_by_port(profile, await read_if_allowed(snmp, columns), interfaces) if columns else {}
            unused = _unused(profile, [rows.get(port.local_id, {}) for port in ports.values() if port.carries])
            for counter in profile.counters:
                for port in fresh:
                    cells = rows.get(port.local_id, {})
                    if counter.oid not in unused or _count(counter, cells):
                        self._choose(counter, port, cells, interfaces)
        self._was_up |= {port.local_id: bool(port.attributes.get("up")) for port in fresh}

    def _is_needed(self, counter: Counter, ports: Sequence[Port]) -> bool:
        return any(_applies(counter, port) and self._is_open(counter, port) for port in ports)

    def _is_open(self, counter: Counter, port: Port) -> bool:
        """Whether the metric of a port has no column yet, or only an untested one that may be changed."""
        chosen = self.chosen.get(port.local_id, {}).get(counter.metric)
        return chosen is None or (chosen.counter.always and not chosen.bits and not counter.always)

    def _choose(
        self, counter: Counter, port: Port, cells: Mapping[str, Cell], interfaces: Mapping[str, object]
    ) -> None:
        chosen = self.chosen.setdefault(port.local_id, {})
        if not self._is_open(counter, port) or not _applies(counter, port):
            return
        if counter.always:
            if port.local_id in interfaces:
                chosen[counter.metric] = Chosen(counter, counter.bits)
        elif counter.oid in cells and (bits := width(counter, cells[counter.oid])) is not None:
            chosen[counter.metric] = Chosen(counter, bits)

    def columns(self, profile: Profile) -> list[str]:
        """Return the columns of a profile that were chosen for any port."""
        used = {chosen.counter.oid for chosen_columns in self.chosen.values() for chosen in chosen_columns.values()}
        return list(dict.fromkeys(c.oid for c in profile.counters if c.oid in used))

    def counted_ports(self) -> Iterator[str]:
        """Yield the ports that have at least one counter."""
        for port, chosen_columns in self.chosen.items():
            if any(chosen.bits for chosen in chosen_columns.values()):
                yield port

    def rows(self, ports: Sequence[str], cells: PortCells, started_us: int | None) -> Iterator[Rows]:
        """Yield rows of the ports that answered, one table for each combination of metrics and counter widths.

        The time of a row is that of the answer with its bytes; its other values arrive within the same poll.
        `started_us`: when the agent started, by the recorder's clock. With sysUpTime in that answer it gives the time
        at which the agent read its counters, without the delay of the answer. None: only the time of arrival is
        known.
        """
        groups: dict[Table, list[str]] = {}
        ports_by_widths: dict[tuple[tuple[str, Bits], ...], list[str]] = {}
        for port in ports:
            if port in cells:
                widths = tuple([(metric, choice.bits) for metric, choice in self.chosen[port].items()])
                if widths not in ports_by_widths:  # thousands of ports share a few tables, each looked up once
                    ports_by_widths[widths] = groups.setdefault(port_table(dict(widths)), [])
                ports_by_widths[widths].append(port)
        for table, members in groups.items():
            rows = [_row(self.chosen[port], cells[port]) for port in members]
            arrivals = [_arrival(self.chosen[port], cells[port]) for port in members]
            uptimes = [arrival.uptime_ticks for arrival in arrivals]
            device_time = None
            if started_us is not None and None not in uptimes:
                device_time = [started_us + ticks * TICK_US for ticks in uptimes if ticks is not None]
            values: dict[str, Sequence[_Number]] = {
                column.metric: [row[column.metric] for row in rows] for column in table.columns
            }
            yield Rows(table, members, [arrival.seen_us for arrival in arrivals], values, device_time)


def cells_by_port(profile: Profile, rows: Cells, interfaces: Mapping[str, object]) -> PortCells:
    """Return the rows by port instead of by index."""
    rows_by_port = ((port_of_index(profile.index, row, interfaces), cells) for row, cells in rows.items())
    return {port: cells for port, cells in rows_by_port if port is not None}


def _unused(profile: Profile, rows: Sequence[Mapping[str, Cell]]) -> set[str]:
    """Return the columns that the agent leaves at 0, as a narrower column of the same metric shows at some port."""
    return {
        wide.oid
        for wide in profile.counters
        for narrow in profile.counters
        if wide.metric == narrow.metric and wide.bits > narrow.bits > 0
        for cells in rows
        if _count(wide, cells) == 0 and _count(narrow, cells)
    }


def _count(counter: Counter, cells: Mapping[str, Cell]) -> int | None:
    counter_value = parse_counter(cells[counter.oid].value, counter.bits) if counter.oid in cells else None
    return None if counter_value is None else counter_value[0]


def width(counter: Counter, cell: Cell) -> Bits | None:
    """Return the width in bits of a column's values, 0 for a gauge. None: the cell has no valid value."""
    if not counter.bits:
        return None if decode_value(counter, cell.value) is None else 0
    counter_value = parse_counter(cell.value, counter.bits)
    return None if counter_value is None else _WIDTHS[counter_value[1]]


def _applies(counter: Counter, port: Port) -> bool:
    return port.carries and counter.technology in (None, port.technology)


def _arrival(chosen: Mapping[str, Chosen], cells: Mapping[str, Cell]) -> Cell:
    bytes_choice = chosen.get(_BYTES)
    return cells.get(bytes_choice.counter.oid if bytes_choice else "") or next(iter(cells.values()))


def _row(chosen: Mapping[str, Chosen], cells: Mapping[str, Cell]) -> dict[str, _Number]:
    row = {metric: _number(choice, cells.get(choice.counter.oid)) for metric, choice in chosen.items()}
    for metric, choice in chosen.items():
        if choice.counter.while_up and not row.get("link_up"):
            row[metric] = None
    return row


def _number(choice: Chosen, cell: Cell | None) -> _Number:
    if cell is None:
        return None
    if choice.bits:
        counter_value = parse_counter(cell.value, choice.bits)
        return counter_value[0] if counter_value else None
    value = decode_value(choice.counter, cell.value)
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) else None

"""Conversion of a poll's cells into rows of the ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.plugin import Rows, Table
from sanpath_collectors.snmp_switch.parse import TICK_US
from sanpath_collectors.snmp_switch.plan import Chosen, PortCells
from sanpath_collectors.snmp_switch.reading import Cell
from sanpath_collectors.snmp_switch.tables import Bits, port_table
from sanpath_collectors.snmp_switch.values import counted, decoded

_BYTES = "bytes_rx_total"
Number = int | float | None


def samples(
    ports: Sequence[str], chosen: Mapping[str, Mapping[str, Chosen]], cells: PortCells, started_us: int | None
) -> Iterator[Rows]:
    """Yield rows of the ports that answered, one table for each combination of metrics and counter widths.

    The time of a row is that of the answer with its bytes; its other values arrive within the same poll.
    `started_us`: when the agent started, by the recorder's clock. With sysUpTime in that answer it gives the time at
    which the agent read its counters, without the delay of the answer. None: only the time of arrival is known.
    """
    groups: dict[Table, list[str]] = {}
    ports_by_widths: dict[tuple[tuple[str, Bits], ...], list[str]] = {}
    for port in ports:
        if port in cells:
            widths = tuple([(metric, choice.bits) for metric, choice in chosen[port].items()])
            if widths not in ports_by_widths:  # thousands of ports share a few tables, each looked up once
                ports_by_widths[widths] = groups.setdefault(port_table(dict(widths)), [])
            ports_by_widths[widths].append(port)
    for table, members in groups.items():
        rows = [_row(chosen[port], cells[port]) for port in members]
        arrivals = [_arrival(chosen[port], cells[port]) for port in members]
        uptimes = [arrival.uptime_ticks for arrival in arrivals]
        device_time = None
        if started_us is not None and None not in uptimes:
            device_time = [started_us + ticks * TICK_US for ticks in uptimes if ticks is not None]
        values: dict[str, Sequence[Number]] = {
            column.metric: [row[column.metric] for row in rows] for column in table.columns
        }
        yield Rows(table, members, [arrival.seen_us for arrival in arrivals], values, device_time)


def _arrival(chosen: Mapping[str, Chosen], cells: Mapping[str, Cell]) -> Cell:
    bytes_choice = chosen.get(_BYTES)
    return cells.get(bytes_choice.counter.oid if bytes_choice else "") or next(iter(cells.values()))


def _row(chosen: Mapping[str, Chosen], cells: Mapping[str, Cell]) -> dict[str, Number]:
    row = {metric: _number(choice, cells.get(choice.counter.oid)) for metric, choice in chosen.items()}
    for metric, choice in chosen.items():
        if choice.counter.while_up and not row.get("link_up"):
            row[metric] = None
    return row


def _number(choice: Chosen, cell: Cell | None) -> Number:
    if cell is None:
        return None
    if choice.bits:
        counter_value = counted(cell.value, choice.bits)
        return counter_value[0] if counter_value else None
    value = decoded(choice.counter, cell.value)
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) else None

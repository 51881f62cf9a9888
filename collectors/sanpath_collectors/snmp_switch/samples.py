"""A poll's cells → rows of the ports."""

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
    """Rows of the ports that have answered, those with counters of one kind and width together.

    A row has the time of the answer with the bytes; other tables follow within the poll. `started_us`: when the agent
    started, by our clock. With sysUpTime in that answer it gives the time at which the agent read its counters,
    whatever the answer met on its way; None: only the time of arrival is known.
    """
    groups: dict[Table, list[str]] = {}
    alike: dict[tuple[tuple[str, Bits], ...], list[str]] = {}
    for port in ports:
        if port in cells:
            widths = tuple([(metric, how.bits) for metric, how in chosen[port].items()])
            if widths not in alike:  # a few are, among thousands of ports: their table is looked up once
                alike[widths] = groups.setdefault(port_table(dict(widths)), [])
            alike[widths].append(port)
    for table, members in groups.items():
        rows = [_row(chosen[port], cells[port]) for port in members]
        moments = [_moment(chosen[port], cells[port]) for port in members]
        ticks = [moment.ticks for moment in moments]
        device_time = None
        if started_us is not None and None not in ticks:
            device_time = [started_us + tick * TICK_US for tick in ticks if tick is not None]
        values: dict[str, Sequence[Number]] = {
            column.metric: [row[column.metric] for row in rows] for column in table.columns
        }
        yield Rows(table, members, [moment.seen for moment in moments], values, device_time)


def _moment(chosen: Mapping[str, Chosen], cells: Mapping[str, Cell]) -> Cell:
    told = chosen.get(_BYTES)
    return cells.get(told.counter.oid if told else "") or next(iter(cells.values()))


def _row(chosen: Mapping[str, Chosen], cells: Mapping[str, Cell]) -> dict[str, Number]:
    row = {metric: _number(how, cells.get(how.counter.oid)) for metric, how in chosen.items()}
    for metric, how in chosen.items():
        if how.counter.while_up and not row.get("link_up"):
            row[metric] = None
    return row


def _number(how: Chosen, cell: Cell | None) -> Number:
    if cell is None:
        return None
    if how.bits:
        found = counted(cell.value, how.bits)
        return found[0] if found else None
    told = decoded(how.counter, cell.value)
    if isinstance(told, bool):
        return int(told)
    return told if isinstance(told, int | float) else None

"""What one poll has read → rows. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import Column, Rows, Table
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.paths import HostPath, usable
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tables import DISKSTATS, FC_STATISTICS, HBA, HOST, LUN, NET_DEV, PATH

_WORD_BYTES = 4
Row = Mapping[str, int | None]


def luns(stats: Mapping[str, Sequence[int]], devices: Sequence[str], seen: int, device_time: int | None) -> Rows:
    """One row a block device. Fields that this kernel has not are not in the rows."""
    fields = min((len(stats[device]) for device in devices), default=0)
    counted = {metric: field for metric, field in DISKSTATS.items() if field <= fields}
    rows = {device: {metric: stats[device][field - 1] for metric, field in counted.items()} for device in devices}
    return _rows(LUN, rows, seen, device_time)


def host(now: Snapshot, name: str, seen: int, device_time: int | None) -> Rows | None:
    """The processors, all together; None where /proc/stat cannot be read."""
    times = parse.processor_times(now.content("/proc/stat"))
    if times is None:
        return None
    return _rows(HOST, {name: {**times, **parse.tcp_segments(now.content("/proc/net/snmp"))}}, seen, device_time)


def fibre_channel(now: Snapshot, ports: Collection[str], seen: int, device_time: int | None) -> Rows | None:
    """Fibre Channel ports that are there; None where there are none."""
    rows = {
        port: _fc_port(now, f"/sys/class/fc_host/{port}") for port in ports if now.has(f"/sys/class/fc_host/{port}")
    }
    return _rows(HBA, rows, seen, device_time) if rows else None


def _fc_port(now: Snapshot, place: str) -> Row:
    row = {metric: parse.statistic(now.text(f"{place}/statistics/{file}")) for metric, file in FC_STATISTICS.items()}
    for metric in ("bytes_rx_total", "bytes_tx_total"):
        words = row[metric]
        row[metric] = None if words is None else words * _WORD_BYTES
    speeds = parse.speeds(now.text(f"{place}/speed"))
    up = now.text(f"{place}/port_state") == "Online"
    return row | {"link_up": int(up), "link_speed_bits_per_second": speeds[0] if up and len(speeds) == 1 else None}


def network(now: Snapshot, interfaces: Collection[str], seen: int, device_time: int | None) -> Rows | None:
    """Network interfaces that are there; None where there are none."""
    counted = parse.net_dev(now.content("/proc/net/dev"))
    rows = {
        name: {metric: counted[name][field] for metric, field in NET_DEV.items()}
        | {"link_up": int(now.text(f"/sys/class/net/{name}/carrier") == "1")}
        for name in interfaces
        if name in counted
    }
    return _rows(HBA, rows, seen, device_time) if rows else None


def paths(states: Mapping[HostPath, str], seen: int, device_time: int | None) -> Rows:
    """Paths, those that are gone too."""
    works = {path.id: usable(state) for path, state in states.items()}
    rows = {path: {"path_usable": None if up is None else int(up)} for path, up in works.items()}
    return _rows(PATH, rows, seen, device_time)


def _rows(table: Table, rows: Mapping[str, Row], seen: int, device_time: int | None) -> Rows:
    """Columns in the order of the table; those that no row has were never asked."""
    asked: list[Column] = [column for column in table.columns if any(column.metric in row for row in rows.values())]
    return Rows(
        table,
        entity=list(rows),
        seen=[seen] * len(rows),
        values={column.metric: [row.get(column.metric) for row in rows.values()] for column in asked},
        device_time=None if device_time is None else [device_time] * len(rows),
    )

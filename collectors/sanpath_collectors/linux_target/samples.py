"""What one poll has read → rows. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import Rows, Table
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target.tables import (
    ARRAY,
    ARRAY_PORT,
    CONTROLLER,
    DISKSTATS,
    FC_STATISTICS,
    PORT_FIELDS,
    VOLUME,
)

_WORD_BYTES = 4
Row = Mapping[str, int | None]


def volumes(stats: Mapping[str, Sequence[int]], devices: Mapping[str, str], seen: int) -> Rows | None:
    """One row a volume whose backing device is there. `devices`: volume → device. None: there is none."""
    rows = {volume: _counters(stats[device]) for volume, device in devices.items() if device in stats}
    return _rows(VOLUME, rows, seen) if rows else None


def array(stats: Mapping[str, Sequence[int]], name: str, devices: Collection[str], seen: int) -> Rows | None:
    """The sums of the backing devices, None where one is gone: they would fall by all that it has counted."""
    if not devices or not all(device in stats for device in devices):
        return None
    counted = [_counters(stats[device]) for device in sorted(set(devices))]
    return _rows(ARRAY, {name: {metric: sum(row[metric] for row in counted) for metric in DISKSTATS}}, seen)


def controller(now: Snapshot, name: str, seen: int) -> Rows | None:
    """The server's processors, all together; None where /proc/stat cannot be read."""
    times = parse.processor_times(now.content("/proc/stat"))
    if times is None:
        return None
    told = {**times, **parse.tcp_segments(now.content("/proc/net/snmp"))}
    return _rows(CONTROLLER, {name: {column.metric: told[column.metric] for column in CONTROLLER.columns}}, seen)


def ports(now: Snapshot, interfaces: Collection[str], fc_hosts: Mapping[str, str], seen: int) -> list[Rows]:
    """One row a target port. `fc_hosts`: WWPN → fc_host."""
    counted = parse.net_dev(now.content("/proc/net/dev"))
    ethernet: dict[str, Row] = {
        name: {metric: counted[name][field] for metric, field in PORT_FIELDS.items()}
        for name in interfaces
        if name in counted
    }
    fibre_channel = {wwpn: _fc_port(now, host) for wwpn, host in fc_hosts.items()}
    return [_rows(ARRAY_PORT, rows, seen) for rows in (ethernet, fibre_channel) if rows]


def _fc_port(now: Snapshot, host: str) -> Row:
    place = f"/sys/class/fc_host/{host}/statistics"
    row = {metric: parse.statistic(now.text(f"{place}/{file}")) for metric, file in FC_STATISTICS.items()}
    for metric in ("bytes_rx_total", "bytes_tx_total"):
        words = row[metric]
        row[metric] = None if words is None else words * _WORD_BYTES
    return row


def _counters(fields: Sequence[int]) -> dict[str, int]:
    return {metric: fields[field - 1] for metric, field in DISKSTATS.items()}


def _rows(table: Table, rows: Mapping[str, Row], seen: int) -> Rows:
    metrics = list(next(iter(rows.values())))
    values: dict[str, Sequence[int | float | None]] = {m: [row[m] for row in rows.values()] for m in metrics}
    return Rows(table, entity=list(rows), seen=[seen] * len(rows), values=values)

"""Turns the files of one poll into rows. No I/O. `seen_us`: time of the poll on the recorder's clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sanpath.plugin import Rows, Table
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.samples import fc_counters, processors
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

Row = Mapping[str, int | float | None]


def volumes(stats: Mapping[str, Sequence[int]], devices: Mapping[str, str], seen_us: int) -> Rows | None:
    """One row for each volume whose backing device exists. `devices`: volume → device. None: there is none."""
    rows = {volume: _counters(stats[device]) for volume, device in devices.items() if device in stats}
    return _rows(VOLUME, rows, seen_us) if rows else None


def array(stats: Mapping[str, Sequence[int]], name: str, devices: Collection[str], seen_us: int) -> Rows | None:
    """Sums over the backing devices; None if one no longer exists, as the sums would decrease by its counters."""
    if not devices or not all(device in stats for device in devices):
        return None
    counters = [_counters(stats[device]) for device in sorted(set(devices))]
    return _rows(ARRAY, {name: {metric: sum(row[metric] for row in counters) for metric in DISKSTATS}}, seen_us)


def controller(snapshot: Snapshot, name: str, ratios: Mapping[str, float | None], seen_us: int) -> Rows | None:
    """One row for all processors of the server; None: no /proc/stat. `ratios`: metrics computed from two polls."""
    values = processors(snapshot, ratios)
    if values is None:
        return None
    read = {column.metric: values.get(column.metric) for column in CONTROLLER.columns}
    return _rows(CONTROLLER, {name: read}, seen_us)


def ports(snapshot: Snapshot, interfaces: Collection[str], fc_hosts: Mapping[str, str], seen_us: int) -> list[Rows]:
    """One row for each target port. `fc_hosts`: WWPN → fc_host."""
    values = parse.net_dev(snapshot.content("/proc/net/dev"))
    ethernet: dict[str, Row] = {
        name: {metric: values[name][field] for metric, field in PORT_FIELDS.items()}
        for name in interfaces
        if name in values
    }
    fibre_channel = {wwpn: fc_counters(snapshot, host, FC_STATISTICS) for wwpn, host in fc_hosts.items()}
    return [_rows(ARRAY_PORT, rows, seen_us) for rows in (ethernet, fibre_channel) if rows]


def _counters(fields: Sequence[int]) -> dict[str, int]:
    return {metric: fields[field - 1] for metric, field in DISKSTATS.items()}


def _rows(table: Table, rows: Mapping[str, Row], seen_us: int) -> Rows:
    metrics = list(next(iter(rows.values())))
    values: dict[str, Sequence[int | float | None]] = {m: [row[m] for row in rows.values()] for m in metrics}
    return Rows(table, entity=list(rows), seen=[seen_us] * len(rows), values=values)

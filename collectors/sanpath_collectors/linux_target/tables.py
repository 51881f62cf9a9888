"""Tables of a poll of a storage server, and the file and field of each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table
from sanpath_collectors.linux_host.tables import DISKSTATS as LUN_FIELDS
from sanpath_collectors.linux_host.tables import FC_STATISTICS as HBA_FILES
from sanpath_collectors.linux_host.tables import HOST, LUN, NET_DEV
from sanpath_collectors.linux_host.tcp import storage_connections

_BLOCK = tuple(f"{quantity}_{d}_total" for quantity in ("ops", "bytes", "latency_seconds") for d in ("read", "write"))
_PORT = (
    "bytes_rx_total",
    "bytes_tx_total",
    "errors_rx_total",
    "errors_tx_total",
    "discards_rx_total",
    "discards_tx_total",
)

DISKSTATS: Mapping[str, int] = {metric: LUN_FIELDS[metric] for metric in _BLOCK}
"""Metric of a volume → field of its backing device in /proc/diskstats, counted from 1."""

FC_STATISTICS: Mapping[str, str] = {metric: HBA_FILES[metric] for metric in _PORT if metric in HBA_FILES}
"""Metric of a Fibre Channel target port → file below /sys/class/fc_host/*/statistics."""

PORT_FIELDS: Mapping[str, int] = {metric: NET_DEV[metric] for metric in _PORT}
"""Metric of an Ethernet target port → field of its interface in /proc/net/dev, counted from 0."""

VOLUME = Table("volume", tuple(column for column in LUN.columns if column.metric in _BLOCK), plane="array")
"""With the widths of /proc/diskstats: milliseconds have 32 bits."""

ARRAY = Table("array", tuple(Column(c.metric, 64, c.scale) for c in VOLUME.columns), plane="array")
"""Sums over the backing devices, each counted once: when a counter wraps, the sum decreases as after a restart."""

_CONTROLLER_METRICS = (
    "cpu_busiest_core_ratio",
    "cpu_busy_seconds_total",
    "cpu_seconds_total",
    "tcp_segments_tx_total",
    "tcp_retransmits_total",
)
CONTROLLER = Table("controller", tuple(column for column in HOST.columns if column.metric in _CONTROLLER_METRICS))
"""The server's processors, which run the target and its cache, and its TCP retransmissions."""

ARRAY_PORT = Table("array_port", tuple(Column(metric, 64) for metric in _PORT))

TCP_CONNECTION = storage_connections.table(sends="read")
"""A target sends the data of reads, and receives the data of writes."""

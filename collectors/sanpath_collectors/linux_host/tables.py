"""Tables of a poll of a host, and the file and field of each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table
from sanpath_collectors.linux_host.cgroups.cpu_quotas import CPU_COUNTERS, QUOTA
from sanpath_collectors.linux_host.cgroups.files import COUNTERS, LIMITS, PRESSURE
from sanpath_collectors.linux_host.tcp import storage_connections

_MICROSECONDS, _MILLISECONDS = 1e-6, 1e-3
_SECTOR_BYTES = 512  # independent of the device's sector size (Documentation/admin-guide/iostats.rst)
_TICK_SECONDS = 1e-2  # USER_HZ is 100 on every architecture in use (man 5 proc)

DISKSTATS: Mapping[str, int] = {
    "ops_read_total": 1,
    "ops_merged_read_total": 2,
    "bytes_read_total": 3,
    "latency_seconds_read_total": 4,
    "ops_write_total": 5,
    "ops_merged_write_total": 6,
    "bytes_write_total": 7,
    "latency_seconds_write_total": 8,
    "in_flight": 9,
    "busy_seconds_total": 10,
    "in_flight_seconds_total": 11,
    "ops_discard_total": 12,
    "latency_seconds_discard_total": 15,
    "ops_flush_total": 16,
    "latency_seconds_flush_total": 17,
}
"""Metric → field, counted from 1 after the name. Fields 12 to 15 exist since Linux 4.18, the last two since 5.5."""

FC_PAYLOAD: Mapping[str, str] = {"bytes_rx_total": "fcp_input_megabytes", "bytes_tx_total": "fcp_output_megabytes"}
"""Metric → file with the same payload in units of 2^20 bytes, which shows the unit of `rx_words` and `tx_words`."""
FC_STATISTICS: Mapping[str, str] = {
    "bytes_rx_total": "rx_words",
    "bytes_tx_total": "tx_words",
    "errors_rx_total": "error_frames",
    "discards_rx_total": "dumped_frames",
    "link_failures_total": "link_failure_count",
    "loss_of_sync_total": "loss_of_sync_count",
    "loss_of_signal_total": "loss_of_signal_count",
    "invalid_words_total": "invalid_tx_word_count",
    "invalid_crc_total": "invalid_crc_count",
    "lost_credit_notices_total": "fpin_cn_lost_credit",
    "credit_stall_notices_total": "fpin_cn_credit_stall",
    "oversubscription_notices_total": "fpin_cn_oversubscription",
}
"""Metric → file below /sys/class/fc_host/*/statistics (Documentation/scsi/scsi_fc_transport.rst).

The fabric's notices exist since Linux 5.9, and count only where driver and switch support them.
"""

NET_DEV: Mapping[str, int] = {
    "bytes_rx_total": 0,
    "errors_rx_total": 2,
    "discards_rx_total": 3,
    "bytes_tx_total": 8,
    "errors_tx_total": 10,
    "discards_tx_total": 11,
}
"""Metric → field of /proc/net/dev, counted from 0 after the name."""


def _diskstats_column(metric: str) -> Column:
    if "_seconds_" in metric:  # printed as unsigned int: 32 bits on every machine (block/genhd.c)
        return Column(metric, bits=32, scale=_MILLISECONDS)
    if metric.startswith("bytes_"):
        return Column(metric, bits=64, scale=_SECTOR_BYTES)
    return Column(metric, bits=64) if metric.endswith("_total") else Column(metric)


LUN = Table("lun", tuple(map(_diskstats_column, DISKSTATS)), plane="guest_block")

HOST = Table(
    "host",
    (
        Column("cpu_busy_seconds_total", bits=64, scale=_TICK_SECONDS),
        Column("cpu_seconds_total", bits=64, scale=_TICK_SECONDS),
        Column("cpu_busiest_core_ratio"),
        Column("cpu_busiest_core_interrupt_ratio"),
        Column("load_thread_run_ratio"),
        Column("load_thread_wait_ratio"),
        Column("tcp_segments_tx_total", bits=64),
        Column("tcp_retransmits_total", bits=64),
        Column("interrupts_total", bits=64),
        Column("context_switches_total", bits=64),
    ),
)

HBA = Table(
    "hba",
    (
        *(Column(metric, bits=64) for metric in dict.fromkeys([*FC_STATISTICS, *NET_DEV])),
        Column("link_up"),
        Column("link_speed_bits_per_second"),
    ),
)
"""Fibre Channel ports count words of four bytes; they are recorded as bytes."""

PATH = Table("path", (Column("path_usable"),))

TCP_CONNECTION = storage_connections.table(sends="write")
"""An initiator sends the data of writes, and receives the data of reads."""

CGROUP = Table(
    "cgroup",
    (
        *(Column(metric, bits=64) for metric in COUNTERS),
        *(Column(metric) for metric in LIMITS),
        *(Column(metric, bits=64, scale=_MICROSECONDS) for metric in PRESSURE),
        Column(QUOTA),
        *(Column(m, bits=64, scale=_MICROSECONDS if "_seconds_" in m else 1) for m in CPU_COUNTERS),
    ),
)
"""A control group and one block device, or the processors. Pressure is that of the group on all devices."""

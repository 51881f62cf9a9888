"""The tables of a log of Windows' counters."""

from __future__ import annotations

from sanpath.plugin import Column, Table

NANOSECONDS = 1e9
"""Counters of seconds are recorded in nanoseconds."""


def _column(metric: str) -> Column:
    if not metric.endswith("_total"):
        return Column(metric)
    return Column(metric, 64, 1 / NANOSECONDS if "seconds" in metric else 1.0)


def _table(kind: str, *metrics: str, plane: str | None = None, averaged: bool = False) -> Table:
    return Table(kind, tuple(map(_column, metrics)), "average" if averaged else "instant", plane)


_BLOCK = tuple(f"{quantity}_{d}_total" for quantity in ("ops", "bytes", "latency_seconds") for d in ("read", "write"))
_PLACES = tuple(
    f"{quantity}_{place}_{d}_total"
    for quantity in ("ops", "bytes", "latency_seconds")
    for place in ("local", "remote")
    for d in ("read", "write")
)

DISK = _table("lun", *_BLOCK, "in_flight_seconds_total", "in_flight", plane="windows_disk")
CLUSTER_VOLUME = _table("lun", *_BLOCK, plane="file_system")
HOST = _table(
    "host",
    "cpu_busy_ratio",
    "cpu_busiest_core_ratio",
    "cpu_busy_seconds_total",
    "cpu_seconds_total",
    "interrupts_total",
    "context_switches_total",
    averaged=True,
)
MEDIA = _table(
    "media",
    "cache_hit_ops_read_total",
    "cache_miss_ops_read_total",
    "cache_hit_bytes_read_total",
    "cache_miss_bytes_read_total",
    "cache_bytes_write_total",
    "cache_populate_bytes_total",
    "direct_bytes_write_total",
    "destage_bytes_total",
    "ops_read_total",
    "ops_write_total",
    "bytes_read_total",
    "bytes_write_total",
    "cache_update_bytes_total",
    "cache_page_remaps_total",
    "cache_pages",
    "cache_dirty_pages",
    "cache_used_ratio",
)
CLUSTER_NODE = _table(
    "cluster_node",
    *_PLACES,
    "smb_direct_bytes_sent_total",
    "smb_direct_bytes_received_total",
    "smb_direct_bytes_rdma_read_total",
    "smb_direct_bytes_rdma_written_total",
    plane="storage_bus",
)
HBA = _table("hba", "bytes_rx_total", "bytes_tx_total", "link_speed_bits_per_second")

TABLES = (DISK, CLUSTER_VOLUME, HOST, MEDIA, CLUSTER_NODE, HBA)

"""The table of a poll, and the statistic of QEMU for each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table

_NANOSECONDS = 1e-9

STATISTICS: Mapping[str, str] = {
    "ops_read_total": "rd_operations",
    "ops_write_total": "wr_operations",
    "bytes_read_total": "rd_bytes",
    "bytes_write_total": "wr_bytes",
    "latency_seconds_read_total": "rd_total_time_ns",
    "latency_seconds_write_total": "wr_total_time_ns",
    "ops_merged_read_total": "rd_merged",
    "ops_merged_write_total": "wr_merged",
    "ops_failed_read_total": "failed_rd_operations",
    "ops_failed_write_total": "failed_wr_operations",
    "ops_flush_total": "flush_operations",
    "latency_seconds_flush_total": "flush_total_time_ns",
    "ops_discard_total": "unmap_operations",
    "latency_seconds_discard_total": "unmap_total_time_ns",
}
"""Metric → member of BlockDeviceStats (qapi/block-core.json). libvirt reports reads, writes and flushes."""

PERCENTILES: Mapping[str, str] = {
    "latency_seconds_p99_read": "rd_latency_histogram",
    "latency_seconds_p99_write": "wr_latency_histogram",
}
"""Metric → histogram, if a person has enabled histograms (block-latency-histogram-set)."""

IN_FLIGHT: Mapping[str, str] = {"in_flight_read": "avg_rd_queue_depth", "in_flight_write": "avg_wr_queue_depth"}
"""Metric → member of `timed_stats`, if the disk is configured with an interval for them."""

THREAD: tuple[str, str] = ("io_thread_busy_seconds_total", "io_thread_wait_seconds_total")


def _column(metric: str) -> Column:
    scale = _NANOSECONDS if "_seconds_" in metric else 1.0
    return Column(metric, 64 if metric.endswith("_total") else 0, scale)


VDISK = Table("vdisk", tuple(map(_column, (*STATISTICS, *PERCENTILES, *IN_FLIGHT, *THREAD))), plane="vscsi")
"""The clock starts when QEMU takes a request from the guest's queue. Waiting for a throttle is included, waiting in
the guest's queue is not (block_acct_start in hw/block/virtio-blk.c and hw/scsi/scsi-disk.c)."""

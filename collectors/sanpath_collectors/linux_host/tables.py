"""What a poll of the host yields, and which field of /proc/diskstats each column is."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table

_MILLISECONDS = 1e-3
_SECTOR_BYTES = 512  # whatever the device's own sectors are (Documentation/admin-guide/iostats.rst)

FIELDS: Mapping[str, int] = {
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
"""Metric → field, counted from 1 after the name. Linux 4.18 brought fields 12 to 15, Linux 5.5 the last two."""


def _column(metric: str) -> Column:
    if "_seconds_" in metric:  # printed as unsigned int: 32 bits on every machine (block/genhd.c)
        return Column(metric, bits=32, scale=_MILLISECONDS)
    if metric.startswith("bytes_"):
        return Column(metric, bits=64, scale=_SECTOR_BYTES)
    return Column(metric, bits=64) if metric.endswith("_total") else Column(metric)


LUN = Table("lun", tuple(map(_column, FIELDS)), plane="guest_block")

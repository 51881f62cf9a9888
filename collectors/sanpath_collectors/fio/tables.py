"""Tables of fio's statuses and logs."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, LOAD_PERCENTILES, Column, Table

_NS = 1e-9
_MS = 1e-3

LOAD = Table(
    "load",
    (*LOAD_COUNTERS, *LOAD_PERCENTILES, Column("in_flight_configured"), Column("cpu_ratio", 0, 0.01)),
    plane="load",
)

LOG = Table(
    "load",
    (
        *(Column(f"latency_seconds_mean_{direction}", 0, _NS) for direction in ("read", "write")),
        *(Column(f"submission_seconds_mean_{direction}", 0, _NS) for direction in ("read", "write")),
        *(Column(f"completion_seconds_mean_{direction}", 0, _NS) for direction in ("read", "write")),
    ),
    rollup="average",
    plane="load",
)
"""Means over the windows of a log."""

LUN = Table(
    "lun",
    (
        Column("ops_read_total", 64),
        Column("ops_write_total", 64),
        Column("latency_seconds_read_total", 64, _MS),
        Column("latency_seconds_write_total", 64, _MS),
        Column("in_flight_seconds_total", 64, _MS),
    ),
    plane="guest_block",
)

"""What a fio status document yields."""

from __future__ import annotations

from sanpath.plugin import Column, Table

_NS = 1e-9
_MS = 1e-3

LOAD = Table(
    "load",
    (
        Column("ops_read_total", 64),
        Column("ops_write_total", 64),
        Column("bytes_read_total", 64),
        Column("bytes_write_total", 64),
        Column("latency_seconds_read_total", 64, _NS),
        Column("latency_seconds_write_total", 64, _NS),
        Column("latency_seconds_max_read", 0, _NS),
        Column("latency_seconds_max_write", 0, _NS),
        Column("latency_seconds_p50_read", 0, _NS),
        Column("latency_seconds_p95_read", 0, _NS),
        Column("latency_seconds_p99_read", 0, _NS),
        Column("latency_seconds_p50_write", 0, _NS),
        Column("latency_seconds_p95_write", 0, _NS),
        Column("latency_seconds_p99_write", 0, _NS),
        Column("in_flight_configured"),
        Column("cpu_ratio", 0, 0.01),
    ),
    plane="load",
)

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

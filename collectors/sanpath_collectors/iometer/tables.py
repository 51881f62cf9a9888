"""The table of Iometer's tests and updates."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, Column, Table

_NS = 1e-9

LOAD = Table(
    "load",
    (
        *LOAD_COUNTERS,
        Column("latency_seconds_max_read", 0, _NS),
        Column("latency_seconds_max_write", 0, _NS),
        Column("ops_failed_total", 64),
        Column("in_flight_configured"),
    ),
    plane="load",
)

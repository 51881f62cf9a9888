"""The tables of a vdbench run."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, Column, Table

_NS = 1e-9

LOAD = Table(
    "load",
    (
        *LOAD_COUNTERS,
        Column("ops_metadata_total", 64),
        Column("latency_seconds_metadata_total", 64, _NS),
        Column("latency_seconds_max_read", 0, _NS),
        Column("latency_seconds_max_write", 0, _NS),
        Column("in_flight_configured"),
    ),
    plane="load",
)
HOST = Table("host", (Column("cpu_busy_ratio"),), "average")
"""The machine that runs vdbench, which its reports do not name."""

"""The table of a run of SQLIO."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, Column, Table

_MS = 1e-3

LOAD = Table(
    "load",
    (
        *LOAD_COUNTERS,
        # SQLIO rounds each latency down to milliseconds, and then their mean.
        Column("latency_seconds_mean_read", 0, _MS, resolution=2e-3),
        Column("latency_seconds_mean_write", 0, _MS, resolution=2e-3),
        Column("latency_seconds_max_read", 0, _MS, resolution=1e-3),
        Column("latency_seconds_max_write", 0, _MS, resolution=1e-3),
        Column("in_flight_configured"),
    ),
    plane="load",
)

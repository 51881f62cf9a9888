"""The tables of a timespan of a DiskSpd result."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, LOAD_PERCENTILES, Column, Table

LOAD = Table("load", (*LOAD_COUNTERS, *LOAD_PERCENTILES, Column("in_flight_configured")), plane="load")
HOST = Table("host", (Column("cpu_busy_ratio"), Column("cpu_busiest_core_ratio")), "average")

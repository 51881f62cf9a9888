"""The table of a timespan of a DiskSpd result."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, LOAD_PERCENTILES, Column, Table

LOAD = Table("load", (*LOAD_COUNTERS, *LOAD_PERCENTILES, Column("in_flight_configured")), plane="load")

"""The table of a database instance, and of its log files."""

from __future__ import annotations

from sanpath.plugin import LOAD_COUNTERS, Table

LOAD = Table("load", LOAD_COUNTERS, plane="load")

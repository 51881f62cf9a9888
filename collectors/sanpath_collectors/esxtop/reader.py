"""Reads a batch of esxtop, complete or while it grows."""

from __future__ import annotations

from sanpath.plugin import text_of
from sanpath_collectors.esxtop import parse
from sanpath_collectors.perfmon import pdh
from sanpath_collectors.perfmon.parse import Columns
from sanpath_collectors.perfmon.plan import Plan
from sanpath_collectors.perfmon.reader import CounterLog, FollowedCounterLog


class EsxtopLog(CounterLog):
    """Reads a batch of esxtop."""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """Whether a file is a batch of esxtop. It is recognised by a PDH header with names that only ESXi has."""
        text = text_of(head)[0].lstrip()
        return pdh.is_header(text[:64].encode()) and any(mark in text for mark in parse.ESXTOP_NAMES)

    def build_plan(self, header: Columns) -> Plan:
        """The plan for the columns of a header."""
        return parse.build_plan(header.names, self.load, self._host)

    @property
    def wanted_counters(self) -> str:
        """The columns that a diagnosis needs."""
        return "disk devices, adapters and virtual disks (esxtop -b -a)"


class EsxtopFile(FollowedCounterLog):
    """Follows a batch that resxtop writes, or esxtop over a share or a pipe."""

    reader = EsxtopLog

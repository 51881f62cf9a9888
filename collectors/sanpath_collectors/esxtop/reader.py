"""Reads a batch of esxtop, whole or while it grows."""

from __future__ import annotations

from sanpath.plugin import text_of
from sanpath_collectors.esxtop import parse
from sanpath_collectors.perfmon import pdh
from sanpath_collectors.perfmon.parse import Columns
from sanpath_collectors.perfmon.plan import Plan
from sanpath_collectors.perfmon.reader import CounterLog


class EsxtopLog(CounterLog):
    """A batch of esxtop. `host`: what the host is called; None: as esxtop says."""

    def __init__(self, load: str, host: str | None = None) -> None:
        super().__init__(load)
        self._host = host

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """By a header of PDH with the names that only ESXi has."""
        text = text_of(head)[0].lstrip()
        return pdh.is_header(text[:64].encode()) and any(mark in text for mark in parse.MARKS)

    def plan(self, header: Columns) -> Plan:
        """What the columns tell."""
        return parse.plan(header.names, self.load, self._host)

    @property
    def wanted_counters(self) -> str:
        """What a diagnosis reads."""
        return "disk devices, adapters and virtual disks (esxtop -b -a)"

"""summary.html, or the output on the screen: every interval of every run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import Item
from sanpath_collectors.vdbench.columns import Figures
from sanpath_collectors.vdbench.parse import (
    parse_averaged_intervals,
    parse_day,
    parse_interval,
    parse_time_of_day,
    parse_utc_offset_us,
)
from sanpath_collectors.vdbench.reports.report import Report
from sanpath_collectors.vdbench.run_header import RunHeader, RunSettings

_TITLE = b"Vdbench summary report, created"
_START = re.compile(rb"^\d\d:\d\d:\d\d[.,]\d{3} Starting RD=", re.MULTILINE)
_ROW = re.compile(
    rb"^[ \t]*\d\d:\d\d:\d\d[.,]\d{3}[ \t]*(?:\d{1,9}|avg_\d{1,9}-\d{1,9})[ \t]+[\d.,]+[ \t]", re.MULTILINE
)
_HEADER = re.compile(rb"^.{0,20}(?:\binterval\s+i/o\s|\.Interval\.\s+\.ReqstdOps)", re.MULTILINE)
_CREATED = re.compile(
    r"summary report, created (\d\d:\d\d:\d\d)([^(]*)(?:\((\d\d:\d\d:\d\d)([^)]*) UTC\))?", re.ASCII
)
_ROW_WITHOUT_TIME = re.compile(r"\s*(?:\d{1,9}|avg_\d{1,9}-\d{1,9})(?:\s+[\d.]+){3}", re.ASCII)
_UNNAMED = "run"
"""Name of a run whose beginning was not copied."""
_DAY_US = 86_400_000_000


class SummaryReader(Report):
    """Reads one summary.html, or what vdbench has written to the screen."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._is_listing = self._has_rows_without_time = self._has_begun = False
        self._undated: tuple[RunHeader, int] | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - its first line is enough
        """Recognise the file by the line with its time of creation, and the screen's output by its columns and a run,
        or rows of one if a copy lacks its beginning.

        Most other reports have the same lines, but they are HTML.
        """
        has_run = _START.search(head) is not None or _ROW.search(head) is not None
        return _TITLE in head or (b"<pre>" not in head and has_run and _HEADER.search(head) is not None)

    def finish(self) -> Iterable[Item]:
        """Yield the items at the end of the file. Raises CollectorError: no run has begun."""
        yield from super().finish()
        reason = "vdbench was interrupted before; look into errorlog.html"
        if self._has_rows_without_time:
            reason = "the time of day is missing at the beginning of its rows; copy whole lines"
        self._runs.require(f"it has no run: {reason}")

    def run_started(self, header: RunHeader, tick: int) -> Iterator[Item]:
        """Yield the items for the beginning of a run. If the date is not known yet, as on the screen, they are
        yielded with its first row."""
        self._has_begun = True
        self._undated = None if self._clock.has_date else (header, tick)
        return self._start(header, tick) if self._undated is None else iter(())

    def _start(self, header: RunHeader, tick: int) -> Iterator[Item]:
        return self._runs.start(header.run, self.clock_us(tick), header.settings, self.described)

    def row(self, label: str, tick: int, figures: Figures) -> Iterator[Item]:
        """Yield the items for an interval, or for the average of a run."""
        if self._undated is not None:
            yield from self._start(*self._undated)
            self._undated = None
        elif not self._has_begun:
            # A copy without the beginning of the run. Its first row shows when the next interval begins.
            self._has_begun = True
            yield from self._start(RunHeader(tick, _UNNAMED, RunSettings(has_rate_limit=None)), tick)
        clock_us = self.clock_us(tick)
        if (intervals := parse_averaged_intervals(label)) is not None:
            yield from self._runs.average(*intervals, clock_us, figures)
        elif (number := parse_interval(label)) is not None:
            yield from self._runs.interval(number, clock_us, figures)

    def other_line(self, line: str) -> None:
        """Read the time of creation, and count the links to reports of hosts and of SDs (eight in a line)."""
        if (created := _CREATED.search(line)) is not None:
            self._read_creation_time(created)
        self._has_rows_without_time |= _ROW_WITHOUT_TIME.match(line) is not None
        if line.startswith("Link to HOST reports:"):
            self._runs.has_several_hosts = line.count("<A HREF=") > 1
        self._is_listing = line.startswith("Link to SD reports:") or (self._is_listing and line.startswith(" " * 32))
        if self._is_listing:
            self.storage_definitions = (self.storage_definitions or 0) + line.count("<A HREF=")

    def _read_creation_time(self, created: re.Match[str]) -> None:
        """Read `09:42:35 Oct 09 2019 ICT (02:42:35 Oct 09 2019 UTC)`; UTC is included since 5.04.07."""
        local_day, time = parse_day(created[2]), parse_time_of_day(created[1])
        if local_day is None or time is None:
            return
        offset_us = parse_utc_offset_us(created[2].split()[-1])
        utc_day, utc_time = parse_day(created[4] or ""), parse_time_of_day(created[3] or "")
        if utc_day is not None and utc_time is not None:
            offset_us = (local_day - utc_day) * _DAY_US + time - utc_time
        self._clock.set_date(local_day, offset_us)
        self._clock.tick(time)

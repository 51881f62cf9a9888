"""flatfile.html: a row for every interval of every run, written line by line while vdbench runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import FollowedFile, Item, Lines, PrintedResult, ResultReader
from sanpath_collectors.vdbench.clock import ReportClock
from sanpath_collectors.vdbench.columns import Columns
from sanpath_collectors.vdbench.parse import (
    normalise_decimal_marks,
    parse_averaged_intervals,
    parse_interval,
    parse_time_of_day,
    parse_utc_offset_us,
    to_days_since_1970,
)
from sanpath_collectors.vdbench.runs import Runs

_HEADER = re.compile(rb"^[ \t]++tod\s.*\sRun[ \t]++Interval\s", re.MULTILINE)
_LEGEND = re.compile(rb"^\* Run +: Name of run from RD=", re.MULTILINE)
_TITLE = re.compile(rb"<title>Vdbench [^<\n]*flatfile\.html</title>")
_STAMP = re.compile(r"(\d\d)/(\d\d)/(\d{4})-[\d:]{8}-(\S+)", re.ASCII)


class FlatfileReader(ResultReader):
    """Reads one flatfile.html, complete or as it grows."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines, self._clock, self._runs = Lines(), ReportClock(), Runs(load)
        self._columns: Columns | None = None
        self._date_is_read = False

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Recognise it by its header or legend; before the first interval it contains only the title."""
        started = name == "flatfile.html" and head.strip() == b"<pre>"
        return started or any(pattern.search(head) for pattern in (_LEGEND, _HEADER, _TITLE))

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yield the items of the lines that are now complete."""
        for line in self._lines.feed(added):
            yield from self._read_line(line)

    def finish(self) -> Iterable[Item]:
        """Yield the items of the last line, which may be cut, and of a run without an end."""
        yield from self._read_line(self._lines.last_line())
        yield from self._runs.end()
        self._runs.require(
            "flatfile.html has no interval: the run was interrupted in its first one; look into errorlog.html"
        )

    def _read_line(self, line: str) -> Iterator[Item]:
        if line[:1] in ("*", "<", ""):
            return
        cells = line.split()
        if cells[:1] == ["tod"]:
            columns = Columns(cells)
            self._columns = columns if all(name in columns for name in ("run", "interval", "rate")) else None
        elif self._columns is not None and cells and (time := parse_time_of_day(cells[0])) is not None:
            if "," in line:
                figures_from = self._columns.positions["interval"] + 1
                cells = cells[:figures_from] + normalise_decimal_marks(cells[figures_from:])
            yield from self._read_row(self._columns, time, cells)

    def _read_row(self, columns: Columns, time: int, cells: list[str]) -> Iterator[Item]:
        if len(cells) == columns.width:
            label = columns.text(cells, "interval")
            figures, average, number = columns.figures(cells), parse_averaged_intervals(label), parse_interval(label)
            if figures is not None and (average or number):
                self._read_date(columns.text(cells, "timestamp"))
                seen_us = self._clock.to_clock(self._clock.tick(time))
                self.clock = self._clock.kind
                name = columns.text(cells, "run")
                if average:
                    yield from self._runs.average(*average, seen_us, figures)
                elif number:
                    if not self._runs.continues(name, number):
                        yield from self._start_run(name, seen_us, columns, cells)
                    yield from self._runs.interval(number, seen_us, figures)
                return
        if self._runs.has_runs:
            seen_us = self._clock.to_clock(self._clock.tick(time))
            yield from self._runs.damaged_row(seen_us, cells[0])

    def _start_run(self, name: str, seen_us: int, columns: Columns, cells: list[str]) -> Iterator[Item]:
        first = not self._runs.has_runs
        yield from self._runs.start(name, seen_us, columns.settings(cells), self.described)
        if first and self.clock == "elapsed":
            text = f"this version writes no dates: its times are counted from the first interval, {cells[0]} that day"
            yield from self._runs.warn(seen_us, "no-date", text)

    def _read_date(self, stamp: str) -> None:
        """Read the date, `10/09/2019-09:42:38-ICT`. Zones are ambiguous, except UTC and GMT+hh:mm."""
        if self._date_is_read:
            return
        self._date_is_read = True
        match = _STAMP.fullmatch(stamp)
        day = to_days_since_1970(int(match[3]), int(match[1]), int(match[2])) if match else None
        if match is not None and day is not None:
            self._clock.set_date(day, parse_utc_offset_us(match[4]))


class Vdbench(FollowedFile):
    """A running vdbench: it flushes flatfile.html line by line, its other reports only when a run has ended."""

    reader = FlatfileReader


class VdbenchLoad(PrintedResult):
    """vdbench as a load that sanpath starts: its command, such as that of `sanpath sweep`, prints flatfile.html."""

    reader = FlatfileReader
    name = "vdbench"

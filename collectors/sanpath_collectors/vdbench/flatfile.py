"""flatfile.html: every interval of every run, a column a figure; written line by line while vdbench runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item, Lines, ResultReader
from sanpath_collectors.vdbench.clock import ReportClock
from sanpath_collectors.vdbench.columns import Columns
from sanpath_collectors.vdbench.parse import ahead_of_utc, averaged, days_of, interval, time_of_day, unlocalised
from sanpath_collectors.vdbench.runs import Runs

_HEADER = re.compile(rb"^[ \t]++tod\s.*\sRun[ \t]++Interval\s", re.MULTILINE)
_REMARK = re.compile(rb"^\* Run +: Name of run from RD=", re.MULTILINE)
_TITLE = re.compile(rb"<title>Vdbench [^<\n]*flatfile\.html</title>")
_STAMP = re.compile(r"(\d\d)/(\d\d)/(\d{4})-[\d:]{8}-(\S+)", re.ASCII)


class FlatfileReader(ResultReader):
    """Reads one flatfile.html, whole or as it grows."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines, self._clock, self._runs = Lines(), ReportClock(), Runs(load)
        self._columns: Columns | None = None
        self._stamped = False

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """By its header or its remarks; before the first interval vdbench has written no more than the title."""
        begun = name == "flatfile.html" and head.strip() == b"<pre>"
        return begun or any(pattern.search(head) for pattern in (_REMARK, _HEADER, _TITLE))

    def feed(self, added: bytes) -> Iterable[Item]:
        """Items of the lines that are whole now."""
        for line in self._lines.feed(added):
            yield from self._line(line)

    def finish(self) -> Iterable[Item]:
        """The last line may have been cut; a run may not have ended."""
        yield from self._line(self._lines.last_line())
        yield from self._runs.end()
        if not self._runs.begun:
            raise CollectorError(
                Failure.UNREADABLE,
                "flatfile.html has no interval: the run was broken off in its first one; look into errorlog.html",
            )

    def _line(self, line: str) -> Iterator[Item]:
        if line[:1] in ("*", "<", ""):
            return
        cells = line.split()
        if cells[:1] == ["tod"]:
            columns = Columns(cells)
            self._columns = columns if all(name in columns for name in ("run", "interval", "rate")) else None
        elif self._columns is not None and cells and (time := time_of_day(cells[0])) is not None:
            if "," in line:
                figures_from = self._columns.place("interval") + 1
                cells = cells[:figures_from] + unlocalised(cells[figures_from:])
            yield from self._row(self._columns, time, cells)

    def _row(self, columns: Columns, time: int, cells: list[str]) -> Iterator[Item]:
        if len(cells) == columns.width:
            label = columns.text(cells, "interval")
            figures, span, number = columns.figures(cells), averaged(label), interval(label)
            if figures is not None and (span or number):
                self._date(columns.text(cells, "timestamp"))
                seen = self._clock.at(self._clock.tick(time))
                self.clock = self._clock.kind
                name = columns.text(cells, "run")
                if span:
                    yield from self._runs.average(*span, seen, figures)
                elif number:
                    if not self._runs.continues(name, number):
                        yield from self._begin(name, seen, columns, cells)
                    yield from self._runs.interval(number, seen, figures)
                return
        if self._runs.begun:
            seen = self._clock.at(self._clock.tick(time))
            yield from self._runs.warn(seen, "damaged-row", f"a row is damaged or cut and left out: {cells[0]} ...")

    def _begin(self, name: str, seen: int, columns: Columns, cells: list[str]) -> Iterator[Item]:
        first = not self._runs.begun
        yield from self._runs.start(name, seen, columns.told(cells))
        if first and self.clock == "elapsed":
            text = f"this version writes no dates: its times are counted from the first interval, {cells[0]} that day"
            yield from self._runs.warn(seen, "no-date", text)

    def _date(self, stamp: str) -> None:
        """`10/09/2019-09:42:38-ICT`: abbreviations of zones are ambiguous, but for UTC and what counts from it."""
        if self._stamped:
            return
        self._stamped = True
        match = _STAMP.fullmatch(stamp)
        day = days_of(int(match[3]), int(match[1]), int(match[2])) if match else None
        if match is not None and day is not None:
            self._clock.dated(day, ahead_of_utc(match[4]))

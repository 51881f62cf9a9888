"""summary.html: every interval of every run, as vdbench shows it on the screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item
from sanpath_collectors.vdbench.columns import Figures
from sanpath_collectors.vdbench.parse import ahead_of_utc, averaged, day, interval, time_of_day
from sanpath_collectors.vdbench.report import Report
from sanpath_collectors.vdbench.told import Start

_TITLE = b"Vdbench summary report, created"
_CREATED = re.compile(
    r"summary report, created (\d\d:\d\d:\d\d)([^(]*)(?:\((\d\d:\d\d:\d\d)([^)]*) UTC\))?", re.ASCII
)
_DAY_US = 86_400_000_000


class SummaryReader(Report):
    """Reads one summary.html."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._listing = False

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - its first line is enough
        """By the line that says when it was created."""
        return _TITLE in head

    def finish(self) -> Iterable[Item]:
        """Raises CollectorError: no run has begun."""
        yield from super().finish()
        if not self._runs.begun:
            raise CollectorError(
                Failure.UNREADABLE, "summary.html has no run: it was broken off before; look into errorlog.html"
            )

    def started(self, begun: Start, tick: int) -> Iterator[Item]:
        """A run begins."""
        return self._runs.start(begun.run, self.seen(tick), begun.told)

    def row(self, label: str, tick: int, figures: Figures) -> Iterator[Item]:
        """An interval, or the average of a run."""
        seen = self.seen(tick)
        if (span := averaged(label)) is not None:
            yield from self._runs.average(*span, seen, figures)
        elif (number := interval(label)) is not None:
            yield from self._runs.interval(number, seen, figures)

    def other(self, line: str) -> None:
        """When it was created, and the links to the reports of the SDs, eight a line."""
        if (created := _CREATED.search(line)) is not None:
            self._created(created)
        self._listing = line.startswith("Link to SD reports:") or (self._listing and line.startswith(" " * 32))
        if self._listing:
            self.storages = (self.storages or 0) + line.count("<A HREF=")

    def _created(self, created: re.Match[str]) -> None:
        """`09:42:35 Oct 09 2019 ICT (02:42:35 Oct 09 2019 UTC)`: since 5.04.07 it tells UTC too."""
        here, time = day(created[2]), time_of_day(created[1])
        if here is None or time is None:
            return
        ahead = ahead_of_utc(created[2].split()[-1])
        there, then = day(created[4] or ""), time_of_day(created[3] or "")
        if there is not None and then is not None:
            ahead = (here - there) * _DAY_US + time - then
        self._clock.dated(here, ahead)
        self._clock.tick(time)

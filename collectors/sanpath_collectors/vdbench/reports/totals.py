"""totals.html: one average for each run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import Item
from sanpath_collectors.vdbench.columns import Figures
from sanpath_collectors.vdbench.parse import parse_averaged_intervals
from sanpath_collectors.vdbench.reports.report import Report
from sanpath_collectors.vdbench.run_header import RunHeader

_TITLE = re.compile(rb"^Run totals[ \t\r]*+$", re.MULTILINE)
_RUNS = re.compile(rb"Link to Run Definitions:|Starting RD=")


class TotalsReader(Report):
    """Reads one totals.html. Its first column header, which has the date, follows the first run's header line."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._header: tuple[RunHeader, int] | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - its title is enough
        """Recognise it by its title and by its runs."""
        return _TITLE.search(head) is not None and _RUNS.search(head) is not None

    @property
    def expected_us(self) -> int:
        """Length of the run: its only row is the average at its end."""
        return round(1e6 * (self._header[0].settings.seconds or 0.0)) if self._header is not None else 0

    def finish(self) -> Iterable[Item]:
        """Yield the items at the end of the file. Raises CollectorError: no run has ended."""
        yield from super().finish()
        self._runs.require("totals.html has no run that has ended; import flatfile.html")

    def run_started(self, header: RunHeader, tick: int) -> Iterator[Item]:
        """Store the header of a run. Its items are yielded with its average."""
        self._header = header, tick
        return iter(())

    def row(self, label: str, tick: int, figures: Figures) -> Iterator[Item]:
        """Yield the items of a run's average."""
        header, self._header = self._header, None
        intervals = parse_averaged_intervals(label)
        if header is None or intervals is None:
            return
        clock_us = self.clock_us(tick)
        yield from self._runs.start(header[0].run, self.clock_us(header[1]), header[0].settings, self.described)
        yield from self._runs.summary(*intervals, clock_us, figures)

"""totals.html: one average a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item
from sanpath_collectors.vdbench.columns import Figures
from sanpath_collectors.vdbench.parse import averaged
from sanpath_collectors.vdbench.report import Report
from sanpath_collectors.vdbench.told import Start, is_preparation

_TITLE = re.compile(rb"^Run totals[ \t\r]*+$", re.MULTILINE)
_RUNS = re.compile(rb"Link to Run Definitions:|Starting RD=")


class TotalsReader(Report):
    """Reads one totals.html. Its first header, which has the date, comes after the first run has begun."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._begun: tuple[Start, int] | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - its title is enough
        """By its title, and that it speaks of runs."""
        return _TITLE.search(head) is not None and _RUNS.search(head) is not None

    def finish(self) -> Iterable[Item]:
        """Raises CollectorError: no run has ended."""
        yield from super().finish()
        if not self._runs.begun:
            raise CollectorError(Failure.UNREADABLE, "totals.html has no run that has ended; import flatfile.html")

    def started(self, begun: Start, tick: int) -> Iterator[Item]:
        """A run begins; it is told of when it ends."""
        self._begun = begun, tick
        return iter(())

    def row(self, label: str, tick: int, figures: Figures) -> Iterator[Item]:
        """The average of a run. Those that only prepare the test are left out: they are no steps."""
        begun, self._begun = self._begun, None
        span = averaged(label)
        if begun is None or span is None or is_preparation(begun[0].run):
            return
        seen = self.seen(tick)
        yield from self._runs.start(begun[0].run, self.seen(begun[1]), begun[0].told)
        yield from self._runs.summary(*span, seen, figures)

"""A report of vdbench, whichever of them it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultReader
from sanpath_collectors.vdbench.flatfile import FlatfileReader
from sanpath_collectors.vdbench.histogram import HistogramReader
from sanpath_collectors.vdbench.parmfile import ParmfileReader
from sanpath_collectors.vdbench.summary import SummaryReader
from sanpath_collectors.vdbench.totals import TotalsReader

_HEAD = 1 << 16
_REPORTS: tuple[type[ResultReader], ...] = (
    FlatfileReader,
    SummaryReader,
    TotalsReader,
    HistogramReader,
    ParmfileReader,
)


class VdbenchReader(ResultReader):
    """Hands a file to the reader of the report that its beginning shows it to be."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._head = b""
        self._report: ResultReader | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """One of the reports."""
        return any(report.recognises(head, name) for report in _REPORTS)

    def feed(self, added: bytes) -> Iterable[Item]:
        """Keeps the beginning until it is long enough to tell."""
        if self._report is None:
            self._head += added
            if len(self._head) < _HEAD:
                return
            added = self._head
        report = self._report or self._chosen()
        yield from self._timed(report, report.feed(added))

    def finish(self) -> Iterable[Item]:
        """Raises CollectorError: it is none of the reports, or an empty one."""
        if self._report is None:
            report = self._chosen()
            yield from self._timed(report, report.feed(self._head))
        report = self._chosen()
        yield from self._timed(report, report.finish())

    def _chosen(self) -> ResultReader:
        if self._report is None:
            found = next((report for report in _REPORTS if report.recognises(self._head[:_HEAD], "")), None)
            if found is None:
                raise CollectorError(
                    Failure.UNREADABLE,
                    "no report of vdbench that sanpath reads: import flatfile.html, summary.html, totals.html, "
                    "histogram.html or parmfile.html of its output folder",
                )
            self._report = found(self.load)
        return self._report

    def _timed(self, report: ResultReader, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self.clock = report.clock
            yield item
        self.clock = report.clock

"""The reader of any vdbench report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultReader
from sanpath_collectors.vdbench.reports.flatfile import FlatfileReader
from sanpath_collectors.vdbench.reports.histogram import HistogramReader
from sanpath_collectors.vdbench.reports.parmfile import ParmfileReader
from sanpath_collectors.vdbench.reports.summary import SummaryReader
from sanpath_collectors.vdbench.reports.totals import TotalsReader

_HEAD_BYTES = 1 << 16
"""What `recognises` gets of a file."""
_REPORTS: tuple[type[ResultReader], ...] = (
    FlatfileReader,
    TotalsReader,
    HistogramReader,
    SummaryReader,  # After those that have a title: it recognises the output on the screen, which has none.
    ParmfileReader,
)


def _report(head: bytes) -> type[ResultReader] | None:
    return next((report for report in _REPORTS if report.recognises(head[:_HEAD_BYTES], "")), None)


class VdbenchReader(ResultReader):
    """Recognises a report by its first bytes, and passes the file to the reader of that report."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._head = b""
        self._report: ResultReader | None = None

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Recognise any of the reports."""
        return any(report.recognises(head, name) for report in _REPORTS)

    @classmethod
    def report_of_run(cls, head: bytes) -> str:
        """Name the report: vdbench writes all of them of each run."""
        report = _report(head)
        return report.__name__ if report is not None else ""

    @classmethod
    def is_read_last(cls, name: str) -> bool:
        """Whether it is the file of parameters, by the name that vdbench gives it."""
        return name == "parmfile.html"

    @classmethod
    def has_only_settings(cls, head: bytes) -> bool:
        """Whether it is the file of parameters."""
        return _report(head) is ParmfileReader

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collect the first bytes until they suffice to recognise the report, then yield its items."""
        if self._report is None:
            self._head += added
            if len(self._head) < _HEAD_BYTES:
                return
            added = self._head
        report = self._report or self._selected_report()
        yield from self._with_clock(report, report.feed(added))

    def finish(self) -> Iterable[Item]:
        """Yield the remaining items. Raises CollectorError: the file is not a report, or an empty one."""
        if self._report is None:
            report = self._selected_report()
            yield from self._with_clock(report, report.feed(self._head))
        report = self._selected_report()
        yield from self._with_clock(report, report.finish())

    def _selected_report(self) -> ResultReader:
        if self._report is None:
            report_class = _report(self._head)
            if report_class is None:
                raise CollectorError(
                    Failure.UNREADABLE,
                    "no report of vdbench that sanpath reads: import flatfile.html, summary.html, totals.html, "
                    "histogram.html or parmfile.html of its output folder, or its output on the screen",
                )
            self._report = report_class(self.load)
        return self._report

    def _with_clock(self, report: ResultReader, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self.clock = report.clock
            yield item
        self.clock = report.clock

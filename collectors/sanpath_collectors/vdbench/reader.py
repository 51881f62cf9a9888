"""The reader of any vdbench report."""

from __future__ import annotations

from sanpath.plugin import SelectingReader
from sanpath_collectors.vdbench.reports.flatfile import FlatfileReader
from sanpath_collectors.vdbench.reports.histogram import HistogramReader
from sanpath_collectors.vdbench.reports.parmfile import ParmfileReader
from sanpath_collectors.vdbench.reports.summary import SummaryReader
from sanpath_collectors.vdbench.reports.totals import TotalsReader


class VdbenchReader(SelectingReader):
    """Recognises a report by its first bytes, and passes the file to the reader of that report."""

    readers = (
        FlatfileReader,
        TotalsReader,
        HistogramReader,
        SummaryReader,  # After those that have a title: it recognises the output on the screen, which has none.
        ParmfileReader,
    )
    nothing_read = (
        "no report of vdbench that sanpath reads: import flatfile.html, summary.html, totals.html, "
        "histogram.html or parmfile.html of its output folder, or its output on the screen"
    )

    @classmethod
    def report_of_run(cls, head: bytes) -> str:
        """The kind of the report. vdbench writes all kinds for each run."""
        report = cls.reader_of(head)
        return report.__name__ if report is not None else ""

    @classmethod
    def is_read_last(cls, name: str) -> bool:
        """Whether it is the file of parameters, by the name that vdbench gives it."""
        return name == "parmfile.html"

    @classmethod
    def has_only_settings(cls, head: bytes) -> bool:
        """Whether it is the file of parameters."""
        return cls.reader_of(head) is ParmfileReader

"""The reader of any vdbench report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.model import Event
from sanpath.plugin import CollectorError, Item, ResultFile, SelectingReader, warning
from sanpath_collectors.vdbench.reports.flatfile import FlatfileReader
from sanpath_collectors.vdbench.reports.histogram import HistogramReader
from sanpath_collectors.vdbench.reports.parmfile import ParmfileReader
from sanpath_collectors.vdbench.reports.summary import SummaryReader
from sanpath_collectors.vdbench.reports.totals import TotalsReader

_RUN = "run"
_HISTOGRAM = "histogram.html"


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
    def part_of(cls, name: str) -> str:
        """The run of the other reports in its folder, if it is the distribution of their latencies."""
        return _RUN if name == _HISTOGRAM else ""

    @classmethod
    def run_of_parts(cls, head: bytes) -> str:
        """The run whose latencies histogram.html has, if it is a report of intervals."""
        return _RUN if cls.reader_of(head) in (FlatfileReader, SummaryReader) else ""

    def read_parts(self, files: Sequence[ResultFile]) -> Iterator[Item]:
        """Reads a report, and the distributions of the latencies of its runs, which have no date: each belongs to the
        end of its run."""
        report, *distributions = files
        ends_us: dict[str, int] = {}
        loads: dict[object, str] = {}
        for item in self.read(report):
            if isinstance(item, Event) and item.name == "step-begin":
                loads[item.detail.get("step")] = str(item.detail.get("loads"))
            elif isinstance(item, Event) and item.name == "step-end":
                ends_us[loads.get(item.detail.get("step"), "")] = item.seen
            yield item
        for file in distributions:
            yield from self._read_distributions(file, ends_us)

    def _read_distributions(self, file: ResultFile, ends_us: Mapping[str, int]) -> Iterator[Item]:
        """`ends_us`: load of each run → when its step ended. A file with a run that the report lacks is of another
        test, and so may be all of it."""
        last_us = max(ends_us.values(), default=0)
        try:
            events = [item for item in HistogramReader(self.load).read(file) if isinstance(item, Event)]
        except CollectorError as error:
            yield warning(last_us, "no-distribution", str(error))
            return
        if not {str(each.detail["load"]) for each in events if "load" in each.detail} <= ends_us.keys():
            text = "histogram.html has runs that the report beside it lacks: it is of another test, and not read"
            yield warning(last_us, "no-distribution", text)
            return
        for event in events:
            if "load" in event.detail:
                yield replace(event, seen=ends_us[str(event.detail["load"])])
            elif event.detail.get("code") != "no-date":
                yield replace(event, seen=last_us)

    @classmethod
    def is_read_last(cls, name: str) -> bool:
        """Whether it is the file of parameters, by the name that vdbench gives it."""
        return name == "parmfile.html"

    @classmethod
    def has_only_settings(cls, head: bytes) -> bool:
        """Whether it is the file of parameters."""
        return cls.reader_of(head) is ParmfileReader

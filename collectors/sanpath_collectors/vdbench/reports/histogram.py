"""histogram.html: the latency distribution of reads and writes of each run.

Reads:
  min(ms) <     max(ms)        count       %%    cum%%  '+': Individual%; '+-': Cumulative%

    0.200 <       0.400          534  23.8393  23.8839  +++++++++++
    0.400 <       0.600        1,339  34.3750  58.2589  +++++++++++++++++-----------
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from sanpath.model import Direction
from sanpath.plugin import (
    CollectorError,
    Failure,
    Item,
    Lines,
    ResultReader,
    SourceEntity,
    SourceLink,
    histogram,
    warning,
)
from sanpath_collectors.vdbench.clock import ReportClock
from sanpath_collectors.vdbench.run_header import ENGINE, local_id, parse_run_header

_TITLE = re.compile(rb"^Total response time histogram\.", re.MULTILINE)
_RUNS = re.compile(rb"Link to Run Definitions:|Starting RD=")
_BLOCK = re.compile(
    r"^(?:(Reads and writes|Reads|Writes|Total of all requested operations)|"
    r"Only (reads|writes) done for this workload):\s*$"
)
"""Without any I/O of the other direction, up to 5.04.03, there is only one block, with a sentence as its title."""
_BUCKET = re.compile(
    r"^\s*[\d.,]+ <\s+(\d[\d.,]{0,15}|max)\s+(\d[\d.,'\s\u00a0\u202f]{0,20}?)\s+\d+[.,]\d{4}\s+\d+[.,]\d{4}(?:\s|$)",
    re.ASCII,
)
_DIRECTIONS: dict[str, Direction] = {"Reads": "read", "Writes": "write"}
_MAX_BUCKETS = 10_000
"""A file with more buckets is damaged: no version prints more."""


class HistogramReader(ResultReader):
    """Reads one histogram.html. It has times of day, but no date."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines, self._clock = Lines(), ReportClock()
        self._names: Counter[str] = Counter()
        self._run = ""
        self._run_end_us = 0
        self._reported_runs: set[str] = set()
        self._block = ""
        self._buckets: list[tuple[float | None, float]] = []
        self._counts: dict[str, float] = {}

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - its title is enough
        """Recognise it by its title. Histograms of one SD, WD or host, which are subsets, have other titles."""
        return _TITLE.search(head) is not None and _RUNS.search(head) is not None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yield the items of the lines that are now complete."""
        for line in self._lines.feed(added):
            yield from self._read_line(line)

    def finish(self) -> Iterable[Item]:
        """Yield the items of the last run. Raises CollectorError: there is no distribution of reads or of writes."""
        yield from self._read_line(self._lines.last_line())
        yield from self._end_run()
        if not self._reported_runs:
            raise CollectorError(
                Failure.UNREADABLE,
                "histogram.html has no distribution of reads or writes: no run has ended, or vdbench counted all "
                "operations on files (FSD) together; import flatfile.html",
            )

    def _read_line(self, line: str) -> Iterator[Item]:
        if (header := parse_run_header(line)) is not None:
            yield from self._end_run()
            self._names[header.run] += 1
            self._run = local_id(self.load, header.run, self._names[header.run])
            tick = self._clock.tick(header.time_of_day)
            self._run_end_us = self._clock.to_clock(tick) + round((header.settings.seconds or 0.0) * 1e6)
        elif (block := _BLOCK.match(line)) is not None:
            yield from self._end_block()
            self._block = block[1] or block[2].capitalize()
        elif self._block and (bucket := _BUCKET.match(line)) is not None and len(self._buckets) < _MAX_BUCKETS:
            # Bounds have three decimals after a point or comma. Counts have none, with any separator of thousands.
            upper = None if bucket[1] == "max" else float(re.sub(r"[.,](?=\d*[.,])", "", bucket[1]).replace(",", "."))
            self._buckets.append((None if upper is None else upper / 1000, float(re.sub(r"\D", "", bucket[2]))))

    def _end_block(self) -> Iterator[Item]:
        buckets, self._buckets = self._buckets, []
        total = sum(count for _, count in buckets)
        direction = _DIRECTIONS.get(self._block)
        self._counts[self._block], self._block = total, ""
        bounds = [bound for bound, _ in buckets if bound is not None]
        if not self._run or direction is None or not total or bounds != sorted(set(bounds)):
            return
        if not self._reported_runs:
            yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, ENGINE)
            text = "histogram.html has no dates: its times are counted from the beginning of its first run"
            yield warning(self._run_end_us, "no-date", text)
        if self._run not in self._reported_runs:
            self._reported_runs.add(self._run)
            yield SourceEntity("load", self._run, self._run, {"name": (self._run,)}, ENGINE)
            yield SourceLink("member_of", ("load", self._run), ("load", self.load), "RD in histogram.html")
        yield histogram(self._run_end_us, self._run, direction, [(bound, count / total) for bound, count in buckets])

    def _end_run(self) -> Iterator[Item]:
        yield from self._end_block()
        counts, self._counts = self._counts, {}
        combined = counts.get("Reads and writes")
        separate = counts.get("Reads", 0.0) + counts.get("Writes", 0.0)
        if combined and separate and combined != separate:
            text = (
                f"{self._run}: {combined:,.0f} reads and writes, but {separate:,.0f} when they are counted separately"
            )
            yield warning(self._run_end_us, "counts-disagree", text)

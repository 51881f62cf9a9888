"""DiskSpd's text (-Rtext, the default) → timespans. Pure: text in, outcomes out.

Input parameters and system information come first, then each timespan with three tables, whose columns are there or
not by -L and -D, and one of latencies:

    Results for timespan 1:
    actual test time:       30.01s
    thread count:           1

    Read IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
    ------------------------------------------------------------------------------------------------
         0 |       102645760 |        25060 |       3.26 |     834.98 |    0.272 |     0.185 | D:\\test.dat (1024MiB)
    ------------------------------------------------------------------------------------------------
    total:         102645760 |        25060 |       3.26 |     834.98 |    0.272 |     0.185

    Total latency distribution:
      %-ile |  Read (ms) | Write (ms) | Total (ms)
    ----------------------------------------------
        min |      0.036 |        N/A |      0.036
       50th |      0.232 |        N/A |      0.297

Before 2.2 the last title is "total:", and that of a single target's table its bare path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.diskspd.command_line import is_limited, options, span_of
from sanpath_collectors.diskspd.outcome import WHOLE, Figures, Head, SpanOutcome, TargetOutcome, both
from sanpath_collectors.diskspd.parse_settings import setting
from sanpath_collectors.diskspd.settings import Span
from sanpath_collectors.diskspd.values import count, number, size_bytes, time_us

_RESULTS = re.compile(r"Results for timespan (\d{1,6}):")
_FILE = re.compile(r"(.*) \(([^()]*)\)")
_TABLES: Mapping[str, Direction | None] = {"Total IO": None, "Read IO": "read", "Write IO": "write"}
_PERCENTS = {"min": 0.0, "max": 100.0} | {f"{n}-nines": round(100 - 10.0 ** (2 - n), n - 2) for n in range(3, 10)}
_RANK = re.compile(r"(\d{1,2})th")
_AFTER = ("Totals:", "Command Line:", "Input parameters:")
"""What follows the last timespan: the sum of all of them, or the next result."""
_LONGEST_LINE = 1 << 20
_MOST_NOTES = 20


class TextForm:
    """The whole text, line by line. `notes`: code and text of what a person should know of it.

    Several results may follow each other: `diskspd … >> results.txt`.
    """

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []
        self._head = Head()
        self._spans: list[Span] = []
        self._command_line = ""
        self._in_settings = False
        self._rest = ""
        self._span: _SpanText | None = None

    def feed(self, text: str) -> Iterator[SpanOutcome]:
        """The timespans that are complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            yield from self._line(line.strip())

    def finish(self) -> Iterator[SpanOutcome]:
        """The last one."""
        rest, self._rest = self._rest, ""
        yield from self._line(rest.strip())
        yield from self._closed()

    def _line(self, line: str) -> Iterator[SpanOutcome]:
        if results := _RESULTS.match(line):
            yield from self._closed()
            self._in_settings = False
            self._span = _SpanText(int(results[1]))
        elif self._span is not None and line.startswith(_AFTER):
            yield from self._closed()
            if line != "Totals:":
                self._head, self._spans, self._command_line = Head(), [], ""
                self._heading(line)
        elif line.startswith("*** Interrupted"):
            self._note("interrupted", "the test was interrupted: its results cover less time than was asked for")
        elif self._span is not None:
            self._span.line(line)
        else:
            self._heading(line)

    def _heading(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name in ("Input parameters", "System information"):
            self._in_settings = name == "Input parameters"
        elif name == "Command Line":
            self._command_line = value
        elif self._in_settings:
            setting(line, self._spans)
        elif name == "start time":
            self._head.started_us = time_us(value)
        elif name == "computer name":
            self._head.computer = value.strip() or None
        elif name in ("WARNING", "ERROR"):
            self._note("diskspd-says", line)

    def _closed(self) -> Iterator[SpanOutcome]:
        if self._span is None:
            return
        found, self._span = self._span.outcome, None
        found.head, found.settings = self._head, self._settings(found)
        yield found

    def _settings(self, found: SpanOutcome) -> Span:
        if not 1 <= found.number <= len(self._spans):
            if self._command_line:
                self._note(
                    "no-input-parameters",
                    "the section of input parameters is missing: the settings are those of the command line",
                )
            return span_of(self._command_line) if self._command_line else Span()
        span = self._spans[found.number - 1]
        if span.pool_threads is None and all(target.threads is None for target in span.targets):
            # Before 2.2 a pool of threads shows only in the results.
            span.pool_threads, span.pool_outstanding = found.stated_threads, found.stated_requests or None
        if is_limited(options(self._command_line)):  # which those versions do not repeat with the targets
            for target in span.targets:
                target.rate_limited = True
        return span

    def _note(self, code: str, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append((code, text))


class _SpanText:
    """The lines of one timespan."""

    def __init__(self, number: int) -> None:
        self._outcome = SpanOutcome(number, totals=both())
        self._table = ""
        self._columns: list[str] = []
        self._latencies: str | None = None
        self._title = ""
        self._closed: set[str] = set()

    @property
    def outcome(self) -> SpanOutcome:
        """What was read so far."""
        if not {"Read IO", "Write IO"} <= self._closed:
            self._outcome.cut = "figures"
        elif "AvgLat" in self._columns and "max" not in self._closed:
            self._outcome.cut = "latencies"
        return self._outcome

    def line(self, line: str) -> None:
        """Take in one line, without its indentation; what is not known is passed over."""
        if line in _TABLES:
            self._table, self._latencies = line, None
        elif line.startswith("thread |") and self._table:
            self._columns = [name.strip() for name in line.split("|")]
        elif line.startswith("total:") and self._table:
            self._total(line.removeprefix("total:"))
        elif line.startswith("%-ile"):
            self._latencies = _path_of(self._title)
        elif self._latencies is not None and self._percentile([cell.strip() for cell in line.split("|")]):
            return
        elif (direction := _TABLES.get(self._table)) and self._columns and "|" in line:
            self._row(line, direction)
        elif line and not line.startswith("---"):
            self._title = line
            self._statement(line)

    def _statement(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "actual test time":
            self._outcome.seconds = number(value.strip().removesuffix("s"))
        elif name == "thread count":
            self._outcome.stated_threads = count(value)
        elif name == "request count":
            self._outcome.stated_requests = count(value)
        elif "interrupted before the measurements began" in line:
            self._outcome.unmeasured = True

    def _row(self, line: str, direction: Direction) -> None:
        cells = dict(zip(self._columns, line.split("|", len(self._columns) - 1), strict=False))
        file = cells.get("file", "").strip()
        named = _FILE.fullmatch(file)
        path = named[1] if named else file
        target = self._outcome.targets.setdefault(path, TargetOutcome())
        target.size_bytes = size_bytes(named[2]) if named else None
        self._outcome.threads.add(cells.get("thread", "").strip())
        _add(target.figures[direction], cells)

    def _total(self, line: str) -> None:
        cells = dict(zip(self._columns[1:-1], line.split("|"), strict=False))
        direction, totals = _TABLES[self._table], self._outcome.totals
        if direction and totals is not None and not _add(totals[direction], cells):
            self._outcome.totals = None
        self._closed.add(self._table)
        self._table = ""

    def _percentile(self, cells: list[str]) -> bool:
        """False: the cells are none of a table of latencies."""
        rank = _RANK.fullmatch(cells[0])
        percent = float(rank[1]) if rank else _PERCENTS.get(cells[0])
        if percent is None or self._latencies is None:
            return False
        told = self._outcome.percentiles.setdefault(self._latencies, {})
        for direction, cell in zip(DIRECTIONS, cells[1:], strict=False):
            if (milliseconds := number(cell)) is not None:
                told.setdefault(direction, []).append((percent, milliseconds / 1e3))
        if self._latencies == WHOLE:
            self._closed.add(cells[0])
        return True


def _add(figures: Figures, cells: Mapping[str, str]) -> bool:
    """False: the cells are no counts."""
    ops, moved, latency = count(cells.get("I/Os")), count(cells.get("bytes")), number(cells.get("AvgLat"))
    if ops is None or moved is None:
        return False
    figures.add(ops, moved, None if latency is None else latency / 1e3)
    return True


def _path_of(title: str) -> str:
    if title in ("total:", "Total latency distribution:"):
        return WHOLE
    return title.removeprefix("Latency distribution:").strip()

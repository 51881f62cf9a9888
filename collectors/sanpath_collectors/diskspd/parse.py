"""Parses DiskSpd's text (-Rtext, the default) into timespans. Pure.

Input parameters and system information come first, then each timespan with three tables, whose columns depend on -L
and -D, and a table of latencies:

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

Before 2.2 the last title is "total:", and the title of a single target's table is only its path. DiskSpd for Linux
writes "job" for timespan, and percentiles of all targets together, without a title. Its percentiles of reads and
writes together are wrong, because it adds the I/Os of each thread twice, and are not used.

A file may also contain only the tables, if people copy no more, and the command above them. Each table occurs once in
a timespan.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import LineSplitter
from sanpath_collectors.diskspd.command_line import has_target, is_rate_limited, parse_command_line, parse_options
from sanpath_collectors.diskspd.outcome import (
    ALL_TARGETS,
    Directions,
    Figures,
    Head,
    SpanOutcome,
    TargetOutcome,
    empty_figures,
)
from sanpath_collectors.diskspd.parse_settings import read_setting
from sanpath_collectors.diskspd.settings import Span
from sanpath_collectors.diskspd.values import parse_count, parse_number, parse_ratio, parse_size_bytes, parse_time_us

_RESULTS = re.compile(r"Results for (timespan|job) (\d{1,6}):")
_PROCESSORS = re.compile(r"CPU\s*\|")
_FILE = re.compile(r"(.*) \(([^()]*)\)")
_TABLES: Mapping[str, Direction | None] = {"Total IO": None, "Read IO": "read", "Write IO": "write"}
_PERCENTS = {"min": 0.0, "max": 100.0} | {f"{n}-nines": round(100 - 10.0 ** (2 - n), n - 2) for n in range(3, 10)}
_RANK = re.compile(r"(\d{1,2})th")
_PROMPT = re.compile(
    r"(?:[^>$#]{0,200}[>$#]\s*|[.&]\s*)?(?:\S{0,200}[\\/])?diskspd(?:64)?(?:\.exe)?(\s+-[A-Za-z].*)", re.IGNORECASE
)
"""The line on which DiskSpd was called, as people copy it with the tables."""
_MORE_OPTIONS = re.compile(r"-[A-Za-z].*|[^\s|>]*[\\/#][^\s|>]*")
"""A line that continues it: options, or only a path."""
_CONTINUES = re.compile(r"\s[`^\\]$")
"""How a shell is told that the next line continues this one."""
_MAX_PROMPT_LENGTH = 8192
"""Windows accepts no longer commands."""
_SECTIONS_AFTER_SPANS = ("Totals:", "Command Line:", "Input parameters:")
"""Begins of lines after the last timespan: the sum of all timespans, or the next result."""
_LATENCY_ROUNDING_SECONDS = 0.5e-6
_ROUNDINGS = 20
"""The least that a difference of latencies must be, in roundings of both, to be used: 5 % of uncertainty."""
_MAX_DEVIATIONS = 10.0
"""Standard deviations by which the number of reads or writes may differ from the configured share."""
_MAX_IN_FLIGHT_RATIO = 1.5
"""Ratio of measured to configured outstanding I/Os above which a command is not that of the tables: the latencies of
I/Os that began in the warm-up are a little more. sanpath's own choice."""
_MAX_REMARKS = 20
"""Largest number of remarks about a damaged file."""


class TextParser:
    """Parses the text line by line. `remarks`: (code, text) of warnings about the file.

    A file may contain several results: `diskspd … >> results.txt`.
    """

    def __init__(self) -> None:
        self.remarks: list[tuple[str, str]] = []
        self._head = Head()
        self._spans: list[Span] = []
        self._command_line = ""
        self._is_prompt = self._may_continue = False
        self._in_settings = False
        self._lines = LineSplitter()
        self._span: _SpanText | None = None
        self._has_headings = False
        self._spans_without_heading = 0

    def feed(self, text: str) -> Iterator[SpanOutcome]:
        """Yields the timespans that are complete now."""
        for line in self._lines.feed(text):
            yield from self._read_line(line.strip())

    def finish(self) -> Iterator[SpanOutcome]:
        """Yields the last timespan."""
        yield from self._read_line(self._lines.last_line().strip())
        yield from self._end_span()

    def _read_line(self, line: str) -> Iterator[SpanOutcome]:
        if self._may_continue and self._span is None and _MORE_OPTIONS.fullmatch(line):
            self._command_line = f"{_CONTINUES.sub('', self._command_line)} {line}"
            self._may_continue = len(self._command_line) < _MAX_PROMPT_LENGTH
            return
        self._may_continue = False
        if (
            not self._has_headings
            and _begins_tables(line)
            and (self._span is None or self._span.is_of_next_span(line))
        ):
            yield from self._end_span()
            self._spans_without_heading += 1
            self._span = _SpanText(self._spans_without_heading, has_titles=True)
        if results := _RESULTS.match(line):
            yield from self._end_span()
            self._in_settings, self._has_headings = False, True
            self._span = _SpanText(int(results[2]), has_titles=results[1] == "timespan")
        elif self._span is not None and line.startswith(_SECTIONS_AFTER_SPANS):
            yield from self._end_span()
            self._has_headings = True
            if line != "Totals:":
                self._head, self._spans, self._command_line, self._is_prompt = Head(), [], "", False
                self._read_heading(line)
        elif prompt := _PROMPT.fullmatch(line):
            yield from self._end_span()
            self._head, self._spans, self._command_line = Head(), [], prompt[1]
            self._is_prompt = self._may_continue = True
        elif line.startswith("*** Interrupted"):
            self._add_remark("interrupted", "the test was interrupted: its results cover less time than requested")
        elif self._span is not None:
            self._span.read_line(line)
        else:
            self._read_heading(line)

    def _read_heading(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name in ("Input parameters", "System information"):
            self._in_settings = name == "Input parameters"
        elif name == "Command Line":
            self._command_line, self._is_prompt = value, False
        elif self._in_settings:
            read_setting(line, self._spans)
        elif name == "start time":
            self._head.started_us = parse_time_us(value)
        elif name == "computer name":
            self._head.computer = value.strip() or None
        elif name in ("WARNING", "ERROR"):
            self._add_remark("diskspd-says", line)

    def _end_span(self) -> Iterator[SpanOutcome]:
        if self._span is None:
            return
        span, self._span = self._span, None
        span.end_table()
        span.outcome.head, span.outcome.settings = self._head, self._settings_of(span)
        span.complete()
        yield span.outcome

    def _settings_of(self, span_text: _SpanText) -> Span:
        outcome = span_text.outcome
        if not 1 <= outcome.number <= len(self._spans):
            return self._settings_of_command(span_text) if self._command_line else Span()
        span = self._spans[outcome.number - 1]
        if span.pool_threads is None and all(target.threads is None for target in span.targets):
            # Before 2.2, only the results show a pool of threads.
            span.pool_threads, span.pool_outstanding = outcome.stated_threads, outcome.stated_requests or None
        if is_rate_limited(parse_options(self._command_line)):  # These versions do not print it for the targets.
            for target in span.targets:
                target.rate_limited = True
        return span

    def _settings_of_command(self, span_text: _SpanText) -> Span:
        """The settings of the command line. One that was copied may be incomplete, or that of another run."""
        settings, timespan = parse_command_line(self._command_line), f"timespan {span_text.outcome.number}"
        if self._is_prompt and not has_target(_CONTINUES.sub("", self._command_line)):
            text = f"{timespan}: the command above it has no target, so it is not complete: it is not used"
            self._add_remark("cut-command", text)
            return Span()
        if self._is_prompt and (difference := span_text.difference_from(settings)) is not None:
            text = f"{timespan}: the command above it is that of another run, because {difference}: it is not used"
            self._add_remark("other-command", text)
            return Span()
        text = "the section of input parameters is missing: the settings are those of the command line"
        self._add_remark("no-input-parameters", text)
        return settings

    def _add_remark(self, code: str, text: str) -> None:
        if len(self.remarks) < _MAX_REMARKS:
            self.remarks.append((code, text))


def _begins_tables(line: str) -> bool:
    return line in _TABLES or _PROCESSORS.match(line) is not None


class _SpanText:
    """Parses the lines of one timespan. `has_titles`: tables of percentiles have the name of their target.

    `outcome`: the results so far. After the last line, `end_table` ends the last table; then the settings can be
    chosen, and `complete` adds what follows from them.
    """

    def __init__(self, number: int, has_titles: bool) -> None:
        self._has_titles = has_titles
        self.outcome = SpanOutcome(number, totals=empty_figures())
        self._table = ""
        self._columns: list[str] = []
        self._usage_column: int | None = None
        self._latencies: str | None = None
        self._title = ""
        self._complete_sections: set[str] = set()
        self._sums: dict[str, Figures] = {}
        self._sum_of_targets = Figures()
        self._rows_by_thread: Counter[str] = Counter()
        self._rows_of_table: int | None = None
        self._files: set[str] = set()
        self._cut_tables: set[str] = set()

    def difference_from(self, settings: Span) -> str | None:
        """What the tables contradict in the settings of a command line. None: nothing.

        A closed loop never has more I/Os outstanding than configured (Little's law, N = X R). DiskSpd chooses the
        direction of each I/O by chance.
        """
        totals = self.outcome.totals or empty_figures()
        printed = [direction for name, direction in _TABLES.items() if direction and name in self._complete_sections]
        sums = self._sum_of_targets
        if "Total IO" not in self._complete_sections:
            sums = Figures()
            for direction in printed:
                sums.add(totals[direction].ops, totals[direction].bytes, totals[direction].mean_seconds)
        resolved = settings.with_targets_for(self.outcome.targets)
        profile = resolved.profile({target.path for target in resolved.targets}, None, {})
        reads, configured = profile.read_ratio or 0.0, profile.in_flight
        for direction in printed:
            share = reads if direction == "read" else 1 - reads
            deviation = math.sqrt(sums.ops * share * (1 - share))
            if abs(totals[direction].ops - sums.ops * share) > _MAX_DEVIATIONS * deviation:
                return f"{totals[direction].ops:,} of {sums.ops:,} I/Os are {direction}s"
        if configured and self.outcome.seconds and sums.latency_sum_seconds is not None:
            measured = sums.latency_sum_seconds / self.outcome.seconds
            if measured > _MAX_IN_FLIGHT_RATIO * configured:
                return f"{measured:,.0f} I/Os were outstanding where it has {configured:,.0f}"
        return None

    def complete(self) -> None:
        """Fills in the table of a direction that lacks rows, and says what is missing."""
        self._complete_directions(self.outcome.settings)
        has_begun_latencies = self._latencies is not None or bool(self.outcome.percentiles)
        ends_in_table = bool(self._cut_tables) or self.outcome.lacks_totals
        if self._complete_sections == {"Total IO"}:
            self.outcome.missing = "directions"
        elif len(self._complete_sections & {"Read IO", "Write IO"}) == 1 and not self._table:
            self.outcome.missing = "other direction"
        elif not {"Read IO", "Write IO"} <= self._complete_sections:
            self.outcome.missing = "figures"
        elif "AvgLat" not in self._columns or "max" in self._complete_sections:
            self.outcome.missing = ""
        elif has_begun_latencies or not ends_in_table:
            self.outcome.missing = "latencies"

    def _complete_directions(self, settings: Span) -> None:
        """Fills in the table of a direction that was not copied, or was cut: what the sums of both leave beside the
        other direction, or all of them if DiskSpd was told to do nothing else (-w0, -w100)."""
        totals = self.outcome.totals
        missing = {name: d for name, d in _TABLES.items() if d and name not in self._complete_sections}
        if "Total IO" not in self._complete_sections or totals is None or not missing:
            return
        if len(missing) == 2:
            ratios = {target.read_ratio for target in settings.targets}
            if ratios not in ({0.0}, {1.0}):
                return
            used: Direction = "read" if ratios == {1.0} else "write"
            for path in self._sums:
                self.outcome.targets[path].figures = empty_figures()
            totals.update(empty_figures())
        else:
            used = next(iter(missing.values()))
        for path, sums in self._sums.items():
            _add_rest(self.outcome.targets[path].figures, sums, used)
        _add_rest(totals, self._sum_of_targets, used)
        self.outcome.cut_table = next((name for name in missing if name in self._cut_tables), "")
        self._complete_sections |= {*missing}

    def is_of_next_span(self, line: str) -> bool:
        """Whether a table that begins with this line belongs to the next timespan: this timespan has this table, or a
        later one, already."""
        return line in self._complete_sections or (line not in _TABLES and bool(self._complete_sections))

    def read_line(self, line: str) -> None:
        """Parses one line without its indentation; unknown lines are ignored."""
        if line in _TABLES:
            self.end_table()
            self._table, self._latencies, self._usage_column = line, None, None
            self._rows_by_thread.clear()
        elif _PROCESSORS.search(line) and "Usage" in (columns := [name.strip() for name in line.split("|")]):
            self._usage_column = columns.index("Usage")
        elif self._usage_column is not None and "|" in line:
            self._read_processor_row([cell.strip() for cell in line.split("|")], self._usage_column)
        elif line.startswith("thread |") and self._table:
            self._columns = [name.strip().removesuffix("(ms)") for name in line.split("|")]
        elif line.startswith("total:") and self._table:
            self._read_total_row(line.removeprefix("total:"))
        elif line.startswith("%-ile"):
            self._latencies = _parse_path(self._title) if self._has_titles else ALL_TARGETS
        elif self._latencies is not None and self._read_percentile_row([cell.strip() for cell in line.split("|")]):
            return
        elif self._table and self._columns and "|" in line:
            self._read_row(line, _TABLES[self._table])
        elif line and not line.startswith("---"):
            self._title = line
            self._read_statement(line)

    def _read_statement(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name in ("actual test time", "test time"):
            self.outcome.seconds = parse_number(value.strip().removesuffix("s"))
        elif name == "thread count":
            self.outcome.stated_threads = parse_count(value)
        elif name == "request count":
            self.outcome.stated_requests = parse_count(value)
        elif "interrupted before the measurements began" in line:
            self.outcome.interrupted_early = True

    def _read_processor_row(self, cells: list[str], usage_column: int) -> None:
        """Reads a row of the table of processors. The last row, the average, has no cells for the processor's
        number."""
        if cells[0].startswith("avg"):
            self.outcome.busy_ratio = parse_ratio(cells[0][len("avg.") :] or cells[1])
        elif usage_column < len(cells) and (used := parse_ratio(cells[usage_column])) is not None:
            self.outcome.core_ratios.append(used)

    def _read_row(self, line: str, direction: Direction | None) -> None:
        """Reads the row of a thread and a target. One that the file cuts is none: what is last may be a part."""
        words = line.split("|", len(self._columns) - 1)
        cells = dict(zip(self._columns, words, strict=False))
        file = cells.get("file", "").strip()
        match = _FILE.fullmatch(file)
        has_part_of_file = match is None and any(known.startswith(file) for known in self._files)
        if len(words) < len(self._columns) or _counts_of(cells) is None or has_part_of_file:
            return
        self._files |= {file} if match else set()
        path = match[1] if match else file
        target = self.outcome.targets.setdefault(path, TargetOutcome())
        target.size_bytes = parse_size_bytes(match[2]) if match else None
        thread = cells.get("thread", "").strip()
        self.outcome.threads.add(thread)
        self._rows_by_thread[thread] += 1
        rate = parse_number(cells.get("I/O per s"))
        if self.outcome.row_seconds is None and rate and (ops := parse_count(cells.get("I/Os"))):
            self.outcome.row_seconds = ops / rate
        _add_row(target.figures[direction] if direction else self._sums.setdefault(path, Figures()), cells)

    def _read_total_row(self, line: str) -> None:
        names, words = self._columns[1:-1], line.split("|")
        if len(words) < len(names):
            return  # The file cuts it: its last number may lack digits.
        cells = dict(zip(names, words, strict=False))
        direction, totals = _TABLES[self._table], self.outcome.totals
        rate = parse_number(cells.get("I/O per s"))
        if self.outcome.seconds is None and rate and (ops := parse_count(cells.get("I/Os"))):
            self.outcome.seconds = ops / rate  # The duration is missing if only tables were copied.
        if direction and totals is not None and not _add_row(totals[direction], cells):
            self.outcome.totals = None
        if direction is None:
            _add_row(self._sum_of_targets, cells)
        self._close_table()

    def end_table(self) -> None:
        """Ends the table that was read last. If it lacks its total row, its rows are summed up, unless rows are
        missing as well."""
        if not self._table:
            return
        direction, totals = _TABLES[self._table], self.outcome.totals
        if not self._has_all_rows(direction):
            self._cut_tables.add(self._table)
            return
        if direction and totals is not None:
            totals[direction] = self.outcome.sums[direction]
        if direction is None:
            for figures in self._sums.values():
                self._sum_of_targets.add(figures.ops, figures.bytes, figures.mean_seconds)
        self.outcome.seconds = self.outcome.seconds or self.outcome.row_seconds
        self.outcome.lacks_totals = True
        self._close_table()

    def _close_table(self) -> None:
        self._rows_of_table = self._rows_of_table or self._rows_by_thread.total()
        self._complete_sections.add(self._table)
        self._table = ""

    def _has_all_rows(self, direction: Direction | None) -> bool:
        """Whether a table has a row of each thread and each of its targets: both directions add up to Total IO, or
        there are as many rows as in another table, or each of the threads that ran has as many rows."""
        rows, totals = self._rows_by_thread.total(), self.outcome.totals
        other: Direction = "write" if direction == "read" else "read"
        other_name = next(name for name, its_direction in _TABLES.items() if its_direction == other)
        if direction and totals is not None and {"Total IO", other_name} <= self._complete_sections:
            both, own = self._sum_of_targets, self.outcome.sums[direction]
            rest = (both.ops - totals[other].ops, both.bytes - totals[other].bytes)
            return rows > 0 and (own.ops, own.bytes) == rest
        if self._rows_of_table:
            return rows == self._rows_of_table
        threads = self.outcome.stated_threads
        most = max(self._rows_by_thread.values(), default=0)
        return rows > 0 and (threads is None or rows == threads * most)

    def _read_percentile_row(self, cells: list[str]) -> bool:
        """Adds a row of a table of latencies. Returns False for another row."""
        rank = _RANK.fullmatch(cells[0])
        percent = float(rank[1]) if rank else _PERCENTS.get(cells[0])
        if percent is None or self._latencies is None:
            return False
        percentiles = self.outcome.percentiles.setdefault(self._latencies, {})
        for direction, cell in zip(DIRECTIONS, cells[1:], strict=False):
            if (milliseconds := parse_number(cell)) is not None:
                percentiles.setdefault(direction, []).append((percent, milliseconds / 1e3))
        if self._latencies == ALL_TARGETS:
            self._complete_sections.add(cells[0])
        return True


def _add_row(figures: Figures, cells: Mapping[str, str]) -> bool:
    """Adds a row to figures. Returns False if it has no counts."""
    counts, latency = _counts_of(cells), parse_number(cells.get("AvgLat"))
    if counts is None:
        return False
    figures.add(*counts, None if latency is None else latency / 1e3)
    return True


def _counts_of(cells: Mapping[str, str]) -> tuple[int, int] | None:
    """Number of I/Os, and of bytes, in a row. None: it lacks one of them."""
    ops, bytes_moved = parse_count(cells.get("I/Os")), parse_count(cells.get("bytes"))
    return None if ops is None or bytes_moved is None else (ops, bytes_moved)


def _add_rest(figures: Directions, sums: Figures, used: Direction) -> None:
    """Adds to the direction `used` what the other one leaves of the sums of both."""
    other = figures["write" if used == "read" else "read"]
    ops, bytes_moved = sums.ops - other.ops, sums.bytes - other.bytes
    latency = None
    if ops > 0 and sums.latency_sum_seconds is not None and other.latency_sum_seconds is not None:
        rest = sums.latency_sum_seconds - other.latency_sum_seconds
        rounding = (sums.ops + other.ops) * _LATENCY_ROUNDING_SECONDS
        latency = rest / ops if rest >= _ROUNDINGS * rounding else None
    figures[used] = Figures()
    figures[used].add(max(ops, 0), max(bytes_moved, 0), latency)


def _parse_path(title: str) -> str:
    if title in ("total:", "Total latency distribution:"):
        return ALL_TARGETS
    return title.removeprefix("Latency distribution:").strip()

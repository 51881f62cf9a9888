"""Parses iostat's text output into reports. Pure.

    Linux 6.1.0-13-amd64 (db1)      11/20/2026      _x86_64_        (2 CPU)

    11/20/2026 02:55:16 AM
    avg-cpu:  %user   %nice %system %iowait  %steal   %idle
              13.20    0.00    8.05    0.21    0.21   78.33

    Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s ... aqu-sz  %util
    sda           4902.00  39216.00     0.00   0.00    0.15     8.00 2208.00  17664.00 ...   1.08  85.60

The columns depend on the version, and are identified by their names. With --pretty the device is the last column, and
a report has several tables. Numbers may have a decimal comma. Up to version 9.0 the title ends with the date, and
time stamps have no date:

    Linux 2.6.18-194.el5 (db1)      11/20/2008

    Time: 02:55:16 AM
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from sanpath.plugin import LineSplitter
from sanpath_collectors.iostat.directions import USED_COLUMNS
from sanpath_collectors.iostat.report import Report, impossible_remark, is_possible
from sanpath_collectors.iostat.tables import SOURCES
from sanpath_collectors.iostat.times import StampReader, split_line_time

TITLE = re.compile(
    r"\s*\w+ \S+ \(([^()]*+)\)\s+"
    r"(?:(\d{1,4}\D{1,2}\d{1,2}\D{1,2}\d{1,4}[^\d\s]?)(?:\s+_\w+_)?(?:\s+\(\d+ CPU\))?|\S.*\(\d+ CPU\))\s*$"
)
"""Groups: the host, and the date unless the month is a word."""
CORES = re.compile(r"\((\d{1,6}) CPU\)\s*$")
_USED_COLUMNS = USED_COLUMNS | {
    word for rates in SOURCES.values() for rate in rates for word in (rate.column, rate.multiplier)
}
_DECIMAL = re.compile(r"\d+[.,]\d+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SAR_HEADER = re.compile(r"\d{1,2}:\d\d:\d\d(?:\s+[^\s\d]\S*){4,}$")
_ABBREVIATED = re.compile(r"([\d.,]+)([sBkMGTPE]?)B?%?")
_UNIT_BYTES = {"s": 512.0, **{letter: 1024.0**power for power, letter in enumerate("BkMGTPE")}}
"""Suffix of an abbreviated number (-h, --human) → its unit in bytes. sysstat uses powers of 1024."""
_COLUMN_BYTES = (("MB", 1024.0**2), ("kB", 1024.0), ("q-sz", 1024.0))
"""Part of a column's name → its unit in bytes. Sizes are in KiB since 12.0, the first version that abbreviates."""
_BEGINS_TABLE = re.compile(r"\s*\w+ \S+ \([^()]*\)|\s*avg-cpu:|\s*Device\b")


def parse_header(line: str) -> list[str] | None:
    """The columns in the header of a table of devices; None: another line."""
    if "Device" not in line:
        return None
    words = split_line_time(line)[1].replace("Device:", "Device").split()
    has_device = len(words) > 2 and "Device" in (words[0], words[-1])
    return words if has_device and not _USED_COLUMNS.isdisjoint(words) else None


class TextReports:
    """Splits a growing text into reports. `remarks`: code → text of a warning about the file."""

    def __init__(self) -> None:
        self.remarks: dict[str, str] = {}
        self._lines = LineSplitter()
        self._node = ""
        self._is_first = True
        self._report: Report | None = None
        self._columns: list[str] = []
        self._used_columns: list[tuple[int, str]] = []
        self._indent = 0
        self._listed: set[str] = set()
        self._second_columns: list[str] = []
        self._halves: list[str] = []
        self._second_rows: list[list[str]] = []
        self._row_start: list[str] = []
        self._in_cpu = False
        self._states: list[str] = []
        self._processors: dict[str, float] = {}
        self._cores: int | None = None
        self._name = ""
        self._stamps = StampReader()
        self._has_line_times = False
        self._line_time: re.Match[str] | None = None

    def feed(self, text: str) -> Iterator[Report]:
        """Yields the reports that are complete now."""
        for line in self._lines.feed(text):
            yield from self._read_line(line.rstrip())

    def finish(self) -> Iterator[Report]:
        """Yields the last report."""
        last_line = self._lines.last_line().rstrip()
        if self._columns and last_line and not self._is_whole(last_line.split()):
            self.remarks["cut-file"] = "the file ends within a line: what follows was not written"
        else:
            yield from self._read_line(last_line)
        yield from self._end_report()

    def _read_line(self, line: str) -> Iterator[Report]:
        if not self._has_line_times:
            found, rest = split_line_time(line)
            self._has_line_times = found is not None and _BEGINS_TABLE.match(rest) is not None
        if self._has_line_times:
            self._line_time, line = split_line_time(line)
        if not line:
            self._in_cpu = False
            if self._columns and self._columns[0] == "Device":
                yield from self._end_report()
            self._columns = []
        elif "(" in line and (title := TITLE.match(line)):
            yield from self._end_report()
            self._node, self._is_first = title[1], True
            self._cores = int(cores[1]) if (cores := CORES.search(line)) else None
            self._stamps = StampReader(title[2] or "")
        elif self._columns and _SAR_HEADER.match(line):
            yield from self._end_report()  # A table of sar or mpstat follows.
        elif words := parse_header(line):
            if self._report is not None and not set(self._report.columns).isdisjoint(words):
                yield from self._end_report()
            self._report = self._report or self._new_report()
            self._report.processors = self._report.processors or self._processors
            self._columns, self._indent, self._name = words, len(line) - len(line.lstrip()), ""
            first = 1 if words[0] == "Device" else 0
            self._used_columns = [
                (index - first, column) for index, column in enumerate(words) if column in _USED_COLUMNS
            ]
            self._report.columns += tuple(column for _, column in self._used_columns)
            self._end_halves()
            self._listed, self._second_columns = set(), []
        elif self._columns:
            for row in self._join_row(line):
                yield from self._read_row(row)
        elif line.lstrip().startswith("avg-cpu:"):
            if self._report is not None and self._report.devices:
                yield from self._end_report()
            self._in_cpu, self._states = True, line.replace("%", "").split()[1:]
            self._processors = {}
        elif self._in_cpu and not self._processors:
            self._processors = _parse_processors(self._states, line)
        elif not self._in_cpu and (time := self._stamps.read(line)) is not None:
            yield from self._end_report()
            self._report = self._new_report()
            self._report.stamp = time

    def _new_report(self) -> Report:
        first, self._is_first = self._is_first, False
        stamp = self._stamps.read_line_time(self._line_time) if self._line_time is not None else None
        return Report(first, self._node, cores=self._cores, stamp=stamp)

    def _end_report(self) -> Iterator[Report]:
        self._end_halves()
        report, self._report, self._columns, self._processors = self._report, None, [], {}
        if report is not None:
            yield report

    def _next_report(self) -> Iterator[Report]:
        """Ends a report whose header is not repeated, as in `iostat 1 | grep sda`."""
        columns = self._columns
        yield from self._end_report()
        self._columns, self._report, self._listed = columns, self._new_report(), set()
        self._report.columns = tuple(column for _, column in self._used_columns)

    def _is_whole(self, words: list[str]) -> bool:
        """Returns whether the last line of a text can be a whole one."""
        if self._row_start or (self._second_columns and _NUMBER.fullmatch(words[0])):
            count = len(self._row_start) + len(words)
            return count >= len(self._second_columns) + (len(self._columns) if self._row_start else 0)
        return len(words) >= len(self._columns)

    def _join_row(self, line: str) -> list[str]:
        """Returns the lines that can be read now. A mail program breaks each line where it is too long, hence a row
        at another column than the header: such a row is broken where the header is."""
        count, words = len(self._columns), line.split()
        total = count + len(self._second_columns)
        if self._columns[0] != "Device" or self._name:
            return [line]
        start, self._row_start = self._row_start, []
        if start and len(start) + len(words) == total and _is_row(start + words):
            start, words = [], start + words
            line = " ".join(words)
        rest = [" ".join(start)] if start else []
        if len(words) == total != count and _is_row(words):
            return [*rest, " ".join(words[:count]), " ".join(words[count:])]
        if 1 < len(words) < total and len(words) != count and _is_row(words):
            self._row_start = words
            return rest
        return [*rest, line]

    def _read_row(self, line: str) -> Iterator[Report]:
        count = len(self._columns)
        if self._columns[0] != "Device":
            *words, name = line.split(None, count - 1)
        else:
            if self._name:  # With -h before 11.0, the name is on a separate line.
                line, self._name = f"{self._name} {line}", ""
            elif self._read_second_half(line.split()) or len(line) - len(line.lstrip()) > self._indent:
                return  # The latter is the sum of a group (-g).
            name, *words = line.rsplit(None, count - 1)
        if len(words) == count - 1 and self._report is not None:
            if name.strip() in self._listed:
                yield from self._next_report()
            self._listed.add(name.strip())
            if self._second_columns:
                self._end_halves()  # A terminal wraps each line: the second half follows the first.
            self._halves.append(name.strip())
            self._add_values(name.strip(), [(words[index], column) for index, column in self._used_columns])
        elif not words:
            self._name = name.strip()
        else:
            self._remark_damage(len(words), line)

    def _remark_damage(self, count: int, line: str) -> None:
        columns = len(self._columns) - 1
        self.remarks["damaged-line"] = f"a line has {count} values for {columns} columns: {line[:80]!r}"

    def _read_second_half(self, words: list[str]) -> bool:
        """Reads the second half of a wrapped line: names of columns without a device, or numbers without one.
        Returns whether it is such a line."""
        if self._report is not None and not _USED_COLUMNS.isdisjoint(words):
            if self._second_rows:
                self._end_halves()
            self._second_columns = words
            self._report.columns += tuple(column for column in words if column in _USED_COLUMNS)
            return True
        if not all(map(_DECIMAL.fullmatch, words[:1])):
            return False
        if len(words) == len(self._second_columns) and self._halves:
            self._second_rows.append(words)
        else:
            self.remarks["wrapped-lines"] = f"lines were wrapped, and their second half is left out: {words[:8]}"
        return True

    def _end_halves(self) -> None:
        """Adds the second halves of wrapped lines to the devices of the first halves. If there are not as many, it is
        not known whose they are."""
        start, self._row_start = self._row_start, []
        if start:
            self._remark_damage(len(start) - 1, " ".join(start))
        names, rows, self._halves, self._second_rows = self._halves, self._second_rows, [], []
        if len(rows) == len(names):
            for name, words in zip(names, rows, strict=True):
                pairs = zip(words, self._second_columns, strict=True)
                self._add_values(name, [pair for pair in pairs if pair[1] in _USED_COLUMNS])
        elif self._second_columns:
            text = f"lines were wrapped, and of {', '.join(names[:8])} there are {len(rows)} second halves"
            self.remarks["wrapped-lines"] = f"{text}: they are left out"

    def _add_values(self, name: str, cells: list[tuple[str, str]]) -> None:
        """Adds the values of a device to the report. `cells`: text and column of each."""
        values = self._report.devices.setdefault(name, {}) if self._report is not None else {}
        for word, column in cells:
            try:
                number = float(word)
            except ValueError:
                number = self._parse_number(word, column)
            if is_possible(column, number):
                values[column] = number
            elif number > 0:
                self.remarks["impossible"] = impossible_remark(name, column, number)

    def _parse_number(self, word: str, column: str) -> float:
        """Parses a number that is abbreviated or has a decimal comma. NaN: not a number."""
        found = _ABBREVIATED.fullmatch(word)
        try:
            number = float((found[1] if found is not None else word).replace(",", "."))
        except ValueError:
            return math.nan
        if found is None or not found[2]:
            return number
        self.remarks["abbreviated"] = "numbers are abbreviated (-h, --human): they have only one decimal"
        unit = next((size for part, size in _COLUMN_BYTES if part in column), None)
        return number * _UNIT_BYTES[found[2]] / unit if unit is not None else math.nan


def _is_row(words: list[str]) -> bool:
    """Returns whether the words are a device and values of it."""
    return not _NUMBER.fullmatch(words[0]) and all(map(_NUMBER.fullmatch, words[1:]))


def _parse_processors(states: list[str], line: str) -> dict[str, float]:
    """State of the processors → share of time in per cent. Empty: the line does not contain numbers."""
    try:
        return dict(zip(states, (float(word.replace(",", ".")) for word in line.split()), strict=True))
    except ValueError:
        return {}

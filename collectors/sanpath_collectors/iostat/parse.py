"""iostat's text → reports. Pure: text in, reports out.

    Linux 6.1.0-13-amd64 (db1)      11/20/2026      _x86_64_        (2 CPU)

    11/20/2026 02:55:16 AM
    avg-cpu:  %user   %nice %system %iowait  %steal   %idle
              13.20    0.00    8.05    0.21    0.21   78.33

    Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s ... aqu-sz  %util
    sda           4902.00  39216.00     0.00   0.00    0.15     8.00 2208.00  17664.00 ...   1.08  85.60

The columns are other ones in every generation and found by their names. With --pretty the device comes last, and a
report has several tables. The number may have a decimal comma.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.iostat.report import MOST, Report
from sanpath_collectors.iostat.tables import SOURCES
from sanpath_collectors.iostat.times import stamp

TITLE = re.compile(r"\s*\w+ \S+ \(([^()]*+)\)\s+\S.*\(\d+ CPU\)\s*$")
_WANTED = frozenset(word for rates in SOURCES.values() for rate in rates for word in (rate.column, rate.times))
_HUMAN = re.compile(r"[\d.,]+(?:[kMGTPE]B?|%)")
_LONGEST_LINE = 1 << 16


def header(line: str) -> list[str] | None:
    """The columns of a line that is the head of a table of devices."""
    if "Device" not in line:
        return None
    words = line.replace("Device:", "Device").split()
    named = len(words) > 2 and "Device" in (words[0], words[-1])
    return words if named and not _WANTED.isdisjoint(words) else None


class TextReports:
    """Cuts a growing text into reports. `notes`: code and text of what a person should know of it."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self._rest = ""
        self._node = ""
        self._fresh = True
        self._report: Report | None = None
        self._columns: list[str] = []
        self._wanted: list[tuple[int, str]] = []
        self._indent = 0
        self._in_cpu = False
        self._name = ""

    def feed(self, text: str) -> Iterator[Report]:
        """The reports that are complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            yield from self._line(line.rstrip())

    def finish(self) -> Iterator[Report]:
        """The last one."""
        rest, self._rest = self._rest.rstrip(), ""
        if self._columns and rest and len(rest.split()) < len(self._columns):
            self.notes["cut-file"] = "the file ends within a line: what follows was not written"
        else:
            yield from self._line(rest)
        yield from self._closed()

    def _line(self, line: str) -> Iterator[Report]:
        if not line:
            self._in_cpu = False
            if self._columns and self._columns[0] == "Device":
                yield from self._closed()
            self._columns = []
        elif line.endswith("CPU)") and (title := TITLE.match(line)):
            yield from self._closed()
            self._node, self._fresh = title[1], True
        elif words := header(line):
            if self._report is not None and not set(self._report.columns).isdisjoint(words):
                yield from self._closed()
            self._report = self._report or self._new()
            self._columns, self._indent, self._name = words, len(line) - len(line.lstrip()), ""
            first = 1 if words[0] == "Device" else 0
            self._wanted = [(at - first, column) for at, column in enumerate(words) if column in _WANTED]
            self._report.columns += tuple(column for _, column in self._wanted)
        elif self._columns:
            self._row(line)
        elif line.lstrip().startswith("avg-cpu:"):
            if self._report is not None and self._report.devices:
                yield from self._closed()
            self._in_cpu = True
        elif not self._in_cpu and (moment := stamp(line)) is not None:
            yield from self._closed()
            self._report = self._new()
            self._report.stamp = moment

    def _new(self) -> Report:
        first, self._fresh = self._fresh, False
        return Report(first, self._node)

    def _closed(self) -> Iterator[Report]:
        report, self._report, self._columns = self._report, None, []
        if report is not None:
            yield report

    def _row(self, line: str) -> None:
        count = len(self._columns)
        if self._columns[0] != "Device":
            *words, name = line.split(None, count - 1)
        else:
            if self._name:  # with -h before 11.0 on a line of its own
                line, self._name = f"{self._name} {line}", ""
            elif len(line) - len(line.lstrip()) > self._indent:
                return  # the sum of a group (-g)
            name, *words = line.rsplit(None, count - 1)
        if len(words) == count - 1 and self._report is not None:
            told = self._report.devices.setdefault(name.strip(), {})
            for at, column in self._wanted:
                try:
                    number = float(words[at])
                except ValueError:
                    number = _number(words[at])
                if 0 <= number < MOST:
                    told[column] = number
        elif not words:
            self._name = name.strip()
        else:
            self.notes["damaged-line"] = f"a line has {len(words)} values for {count - 1} columns: {line[:80]!r}"


def _number(word: str) -> float:
    """One with a decimal comma; not a number where there is none."""
    try:
        return float(word.replace(",", "."))
    except ValueError:
        if _HUMAN.fullmatch(word):
            text = f"{word!r} was made short for people: run iostat without -h and --human, as iostat -xty 1 -o JSON"
            raise CollectorError(Failure.UNREADABLE, text, word) from None
        return math.nan

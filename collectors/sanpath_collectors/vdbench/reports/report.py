"""The common format of summary.html and totals.html: two header lines, rows, and dates."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sanpath.plugin import Item, Lines, ResultReader
from sanpath_collectors.vdbench.clock import ReportClock
from sanpath_collectors.vdbench.columns import Columns, Figures
from sanpath_collectors.vdbench.parse import normalise_decimal_marks, parse_day, parse_time_of_day
from sanpath_collectors.vdbench.run_header import RunHeader, parse_run_header
from sanpath_collectors.vdbench.runs import Runs

_MEGABYTES = {"1024**2": 1024.0**2, "1000**2": 1000.0**2}
_NAMES = {
    **{"i/o rate": "rate", "bytes i/o": "bytes/io", "read pct": "read%", "resp time": "resp"},
    **{"read resp": "read_resp", "write resp": "write_resp", "resp max": "resp_max", "queue depth": "queue_depth"},
    **{"read max": "read_max", "write max": "write_max"},
}
"""The two header words of a device column → its name in flatfile.html."""

_TIME_BEFORE_LABEL = re.compile(r"^(\d\d:\d\d:\d\d[.,]\d{3})(?=[a-z])", re.ASCII)
"""A long label leaves no space after the time: `17:46:35.163avg_31-150`."""


class Report(ResultReader):
    """Reads a report with rows below two header lines, between the header lines of runs."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines = Lines()
        self._upper: tuple[str, list[str], bool] | None = None
        self._columns: Columns | None = None
        self._clock, self._runs = ReportClock(), Runs(load)
        self.storage_definitions: int | None = None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yield the items of the lines that are now complete."""
        for line in self._lines.feed(added):
            yield from self._read_line(line)

    def finish(self) -> Iterable[Item]:
        """Yield the items of the last line, which may be cut, and of a run without an end."""
        yield from self._read_line(self._lines.last_line())
        yield from self._runs.end()

    @property
    def expected_us(self) -> int:
        """Expected time from the last time to the next row, if it may exceed a day; 0: soon."""
        return 0

    @abstractmethod
    def run_started(self, header: RunHeader, tick: int) -> Iterator[Item]:
        """Yield the items for the beginning of a run, at this tick of the clock."""

    @abstractmethod
    def row(self, label: str, tick: int, figures: Figures) -> Iterator[Item]:
        """Yield the items for a row of a run."""

    def other_line(self, line: str) -> None:
        """Read a line that is neither a header nor a row."""

    def clock_us(self, tick: int) -> int:
        """Convert a tick to microseconds on the file's clock."""
        moment = self._clock.to_clock(tick)
        self.clock = self._clock.kind
        return moment

    def _read_line(self, line: str) -> Iterator[Item]:
        if (header := parse_run_header(line, self.storage_definitions)) is not None:
            yield from self.run_started(header, self._clock.tick(header.time_of_day))
        elif (upper_line := _parse_header(line.split())) is not None:
            self._upper = upper_line
        elif self._upper is not None:
            (date, upper, files), self._upper = self._upper, None
            self._columns = _parse_columns(upper, line.split(), files)
            if (number := parse_day(date)) is not None:
                self._clock.set_date(number)
        else:
            cells = _TIME_BEFORE_LABEL.sub(r"\1 ", line).split()
            time = parse_time_of_day(cells[0]) if len(cells) > 2 else None
            if time is None:
                self.other_line(line)
            elif self._columns is not None:
                yield from self._read_row(self._columns, cells, time)

    def _read_row(self, columns: Columns, cells: list[str], time: int) -> Iterator[Item]:
        figure_cells = cells[2:] if not any("," in cell for cell in cells[2:]) else normalise_decimal_marks(cells[2:])
        # In addition to the columns of the header, some versions print the figures of an auxiliary report.
        if not cells[1].startswith(("std_", "max_")) and len(figure_cells) >= columns.width:
            figures = columns.figures(figure_cells)
            if figures is not None:
                yield from self.row(cells[1], self._clock.tick(time, self.expected_us), figures)
                return
        if cells[1][:1].isdecimal() and self._runs.has_runs:
            yield from self._runs.damaged_row(self.clock_us(self._clock.tick(time)), cells[0])


def _parse_header(words: list[str]) -> tuple[str, list[str], bool] | None:
    """Parse the upper line of a header into (date, columns, whether the columns are those of files). None: another
    line."""
    for position, (word, first) in enumerate(pairwise(words)):
        files = word.strip(".") == "Interval" and first.startswith(".") and first.lstrip(".").startswith("ReqstdOps.")
        if files or (word == "interval" and first == "i/o"):
            return " ".join(words[:position]), words[position + 1 :], files
    return None


def _parse_columns(upper: Sequence[str], lower: Sequence[str], files: bool) -> Columns | None:
    """Combine both lines of a header, without date and interval. None: one of them is damaged."""
    if files:
        return _parse_file_columns(upper, lower)
    if len(upper) != len(lower):
        return None
    pairs = [f"{upper_word} {lower_word}".lower() for upper_word, lower_word in zip(upper, lower, strict=True)]
    unit = next((pair.partition(" ")[2] for pair in pairs if pair.startswith("mb/sec ")), "")
    names = ["mb/sec" if pair.startswith("mb/sec ") else _NAMES.get(pair, pair) for pair in pairs]
    return Columns(names, _MEGABYTES.get(unit, _MEGABYTES["1024**2"])) if "rate" in names else None


def _parse_file_columns(upper: Sequence[str], lower: Sequence[str]) -> Columns | None:
    """Combine the header lines of files: a group `.ReqstdOps...` is above one or two columns, `rate   resp`."""
    names: list[str] = []
    remaining = list(lower)
    for group in upper:
        kind = group.strip(".").lower()
        width = 2 if remaining[:2] in (["rate", "resp"], ["total", "sys"], ["read", "write"]) else 1
        for lower_word in remaining[:width]:
            match kind:
                case "reqstdops":
                    names.append(lower_word)
                case "mb/sec":
                    names.append("mb/sec" if lower_word == "total" else f"mb_{lower_word}")
                case _:
                    names.append(f"{kind}_{lower_word}")
        remaining = remaining[width:]
    return Columns(names) if not remaining and "read_rate" in names else None

r"""Parses a log of counters in its two formats to columns and rows. No I/O.

The wide format is written by typeperf, logman and relog (see pdh.py):

    "(PDH-CSV 4.0) (UTC)(0)","\\SQL1\PhysicalDisk(1 E:)\Disk Reads/sec"
    "11/20/2026 08:00:01.123","6250.0013"

The long format is written by Get-Counter piped to Export-Csv, with one value in a line. Dates, decimals and separator
depend on the country of the machine:

    "Timestamp","Path","CookedValue"
    "20.11.2026 08:00:01","\\sql1\physicaldisk(1 e:)\disk reads/sec","6250,0013"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.perfmon import pdh
from sanpath_collectors.perfmon.block import Block, parse_block
from sanpath_collectors.perfmon.dates import LocalDates
from sanpath_collectors.perfmon.names import decode_header


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the following rows.

    `names`: names of the columns, beginning with the time. `zone_minutes`: minutes to add to local time to get UTC;
    None: the header has no zone.
    """

    names: Iterable[str]
    zone_minutes: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """The values of one time. `parse_time_us`: microseconds since the epoch in the zone of the columns."""

    time_us: int
    cells: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark about the file, for people. `code`: stable name of the remark."""

    code: str
    text: str


LogItem = Columns | Row | Block | Remark

_MAX_CELLS = 100
"""Largest number of cells in a line of the long format. Get-Counter writes a dozen."""
_MAX_COUNTERS = 100_000
"""Largest number of counters. No machine has more."""
EXPORT_ADVICE = "export it with points, or with ; between the cells"
"""Advice about numbers with ambiguous commas."""
MIN_BLOCK_ROWS = 4
"""Up to this number of rows, reading them one by one is as fast."""


class Format(ABC):
    """A format of a log."""

    @abstractmethod
    def read(self, text: bytes) -> Iterator[LogItem]:
        """Yield the items of complete lines."""

    def finish(self) -> Iterator[LogItem]:
        """Yield the items that are pending at the end of the log."""
        return iter(())


class WideFormat(Format):
    """The wide format: a header, and one row for each time. A second header begins a second log."""

    def __init__(self) -> None:
        self._columns = 0
        self._separator = ","
        self._dates = LocalDates()

    def read(self, text: bytes) -> Iterator[LogItem]:
        """Yield headers and rows. Other text of typeperf is skipped."""
        lines = text.split(b"\n", MIN_BLOCK_ROWS + 1)
        if len(lines) <= MIN_BLOCK_ROWS + 1:
            for line in lines:
                yield from self._read_line(line)
        elif (
            self._columns
            and self._separator != pdh.RESAVED_SEPARATOR
            and (block := parse_block(text, self._separator, self._columns)) is not None
        ):
            yield block
        else:
            middle = text.rfind(b"\n", 0, len(text) // 2) + 1 or text.index(b"\n") + 1
            yield from self.read(text[:middle])
            yield from self.read(text[middle:])

    def _read_line(self, line: bytes) -> Iterator[LogItem]:
        if pdh.is_row(line, self._separator):
            if self._columns:
                yield from self._read_row(line)
        elif pdh.is_header(line):
            self._separator = pdh.find_separator(line)
            names = pdh.Names(decode_header(line), self._separator)
            self._columns = len(names)
            yield Columns(names, pdh.parse_zone_minutes(next(iter(names))))

    def _read_row(self, line: bytes) -> Iterator[LogItem]:
        cells = pdh.split_cells(line, self._separator, self._columns)
        if self._separator == pdh.RESAVED_SEPARATOR:
            cells = [cell.replace(b",", b".") for cell in cells]
        elif self._separator == "," and pdh.has_split_decimals(line, cells, self._columns):
            raise CollectorError(Failure.UNREADABLE, f"its numbers have decimal commas: {EXPORT_ADVICE}")
        time_us = self._time_us(cells[0]) if cells else None
        if time_us is None:
            yield Remark("no-time", "a row without a time that can be read is left out")
        elif len(cells) < self._columns:
            yield Remark("short-row", "a row with fewer values than there are counters is left out: it was cut")
        else:
            if len(cells) > self._columns:
                yield Remark("values-without-names", "rows hold values beyond the last name: those are left out")
            yield Row(time_us, cells)

    def _time_us(self, cell: bytes) -> int | None:
        """Parse a time. None: not a time, or a time with slashes that is not American, whose order is ambiguous."""
        is_local = self._separator == pdh.RESAVED_SEPARATOR and b"/" not in cell
        return self._dates.parse_time_us(cell.decode("latin-1")) if is_local else pdh.parse_time_us(cell)


class LongFormat(Format):
    """The long format: one line for each value. A row ends when a counter occurs again."""

    def __init__(self) -> None:
        self._separator, self._cell_separator = ",", b'","'
        self._positions: tuple[int, int, int] | None = None
        self._dates = LocalDates()
        self._columns: dict[bytes, int] = {}
        self._names: dict[str, int] = {}
        self._reported_columns = 0
        self._values: list[bytes | None] = []
        self._time_text = b""
        self._time_us: int | None = None
        self._row_time_us: int | None = None

    def read(self, text: bytes) -> Iterator[LogItem]:
        """Yield headers and rows."""
        for line in text.split(b"\n"):
            cells = line.strip(b'\r" ').split(self._cell_separator)
            if self._positions is None or len(cells) <= max(self._positions):
                cells = pdh.split_cells(line, self._separator, 0)
                if self._positions is None or len(cells) <= max(self._positions):
                    yield from self._read_header(line)
                    continue
            time, path, value = (cells[position] for position in self._positions)
            if time != self._time_text:
                self._time_text = time
                yield from self._new_time(line)
            if self._time_us is None:
                continue
            column = self._columns.get(path)
            if column is None:
                column = self._new_column(path)
            elif self._values[column] is not None:
                yield from self.finish()
            if self._row_time_us is None:
                self._row_time_us = self._time_us
            self._values[column] = value

    def finish(self) -> Iterator[LogItem]:
        """Yield the row of the last time."""
        if self._row_time_us is not None:
            if self._reported_columns < len(self._names):
                self._reported_columns = len(self._names)
                yield Columns(["", *self._names], None)
            cells = [(value or b"").replace(b",", b".") for value in self._values]
            yield Row(self._row_time_us, [b"", *cells])
            self._values, self._row_time_us = [None] * len(self._names), None

    def _read_header(self, line: bytes) -> Iterator[LogItem]:
        if (header := parse_long_header(line)) is not None:
            yield from self.finish()
            self._separator, self._positions = header
            self._cell_separator = b'"%b"' % self._separator.encode()
        elif line.strip() and self._positions is not None:
            yield Remark("no-time", "a value without a time that can be read is left out")

    def _new_time(self, line: bytes) -> Iterator[LogItem]:
        text = self._time_text.decode("latin-1")
        self._time_us = self._dates.parse_time_us(text)
        if self._time_us is None:
            yield from self._read_header(line)
        if self._dates.ambiguous:
            self._dates.ambiguous = False
            yield Remark("ambiguous-date", f"{text}: which is the day, and which the month?")

    def _new_column(self, path: bytes) -> int:
        if len(self._columns) >= _MAX_COUNTERS:
            raise CollectorError(Failure.UNREADABLE, "more counters than a machine has: this is not a counter log")
        column = self._names.setdefault(decode_header(path).strip(), len(self._names))
        if column == len(self._values):
            self._values.append(None)
        self._columns[path] = column
        return column


def parse_long_header(line: bytes) -> tuple[str, tuple[int, int, int]] | None:
    """Return the separator, and the positions of time, path and value, of a header of the long format.

    None: the line is not such a header.

    >>> parse_long_header(b'"Path";"InstanceName";"CookedValue";"Timestamp"')
    (';', (3, 0, 2))
    """
    if b"timestamp" not in line.lower():
        return None
    for separator in (",", ";", "\t"):
        cells = [name.strip().lower() for name in islice(pdh.Names(line.decode("latin-1"), separator), _MAX_CELLS)]
        value = next((name for name in ("cookedvalue", "value") if name in cells), None)
        if value is not None and {"timestamp", "path"} <= set(cells):
            return separator, (cells.index("timestamp"), cells.index("path"), cells.index(value))
    return None

r"""A log of counters as columns and rows, in either of its forms. Pure: lines in, numbers out.

Wide, of typeperf, logman and relog (see pdh.py):

    "(PDH-CSV 4.0) (UTC)(0)","\\SQL1\PhysicalDisk(1 E:)\Disk Reads/sec"
    "11/20/2026 08:00:01.123","6250.0013"

Long, of Get-Counter piped to Export-Csv, one value a line; dates, decimals and separator as in the country of the
machine:

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
from sanpath_collectors.perfmon.dates import LocalDates
from sanpath_collectors.perfmon.names import decoded


@dataclass(frozen=True, slots=True)
class Columns:
    """What the rows that follow hold. `names`: of the columns, the first of them that of the time."""

    names: Iterable[str]
    zone_minutes: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """Values of one moment. `time_us`: in the zone of the columns."""

    time_us: int
    cells: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Oddity:
    """What a person should know of the file."""

    code: str
    text: str


Part = Columns | Row | Oddity

_MOST_CELLS = 100
"""Of a line of the long form: Get-Counter writes a dozen."""
_MOST_COUNTERS = 100_000


class Form(ABC):
    """A form that a log is written in."""

    @abstractmethod
    def lines(self, lines: Iterable[bytes]) -> Iterator[Part]:
        """What complete lines bring."""

    def finish(self) -> Iterator[Part]:
        """What is still open at the end."""
        return iter(())


class Wide(Form):
    """A header, and a row a moment. A second header begins a second log."""

    def __init__(self) -> None:
        self._columns = 0
        self._separator = ","

    def lines(self, lines: Iterable[bytes]) -> Iterator[Part]:
        """Headers and rows; what typeperf says beside them is left out."""
        for line in lines:
            if pdh.is_row(line):
                if self._columns:
                    yield from self._row(line)
            elif pdh.is_header(line):
                self._separator = pdh.separator_of(line)
                names = pdh.Names(decoded(line), self._separator)
                self._columns = len(names)
                yield Columns(names, pdh.zone_minutes(next(iter(names))))

    def _row(self, line: bytes) -> Iterator[Part]:
        cells = pdh.cells_of(line, self._separator, self._columns)
        moment = pdh.time_us(cells[0]) if cells else None
        if moment is None:
            yield Oddity("no-time", "a row without a time that can be read is left out")
        elif len(cells) < self._columns:
            yield Oddity("short-row", "a row with fewer values than there are counters is left out: it was cut")
        else:
            if len(cells) > self._columns:
                yield Oddity("values-without-names", "rows hold values beyond the last name: those are left out")
            yield Row(moment, cells)


class Long(Form):
    """A line a value. The values of one moment end where a counter comes again."""

    def __init__(self) -> None:
        self._separator, self._between = ",", b'","'
        self._places: tuple[int, int, int] | None = None
        self._dates = LocalDates()
        self._columns: dict[bytes, int] = {}
        self._names: dict[str, int] = {}
        self._told = 0
        self._values: list[bytes | None] = []
        self._time = b""
        self._moment: int | None = None
        self._begun: int | None = None

    def lines(self, lines: Iterable[bytes]) -> Iterator[Part]:
        """Headers and values."""
        for line in lines:
            cells = line.strip(b'\r" ').split(self._between)
            if self._places is None or len(cells) <= max(self._places):
                cells = pdh.cells_of(line, self._separator, 0)
                if self._places is None or len(cells) <= max(self._places):
                    yield from self._header(line)
                    continue
            time, path, value = (cells[place] for place in self._places)
            if time != self._time:
                self._time = time
                yield from self._new_time(line)
            if self._moment is None:
                continue
            column = self._columns.get(path)
            if column is None:
                column = self._new_column(path)
            elif self._values[column] is not None:
                yield from self.finish()
            if self._begun is None:
                self._begun = self._moment
            self._values[column] = value

    def finish(self) -> Iterator[Part]:
        """The values of the last moment."""
        if self._begun is not None:
            if self._told < len(self._names):
                self._told = len(self._names)
                yield Columns(["", *self._names], None)
            cells = [(value or b"").replace(b",", b".") for value in self._values]
            yield Row(self._begun, [b"", *cells])
            self._values, self._begun = [None] * len(self._names), None

    def _header(self, line: bytes) -> Iterator[Part]:
        if (header := long_header(line)) is not None:
            yield from self.finish()
            self._separator, self._places = header
            self._between = b'"%b"' % self._separator.encode()
        elif line.strip() and self._places is not None:
            yield Oddity("no-time", "a value without a time that can be read is left out")

    def _new_time(self, line: bytes) -> Iterator[Part]:
        shown = self._time.decode("latin-1")
        self._moment = self._dates.time_us(shown)
        if self._moment is None:
            yield from self._header(line)
        if self._dates.ambiguous:
            self._dates.ambiguous = False
            yield Oddity("ambiguous-date", f"{shown}: which is the day, and which the month?")

    def _new_column(self, path: bytes) -> int:
        if len(self._columns) >= _MOST_COUNTERS:
            raise CollectorError(Failure.UNREADABLE, "more counters than a machine has: this is no log of them")
        column = self._names.setdefault(decoded(path).strip(), len(self._names))
        if column == len(self._values):
            self._values.append(None)
        self._columns[path] = column
        return column


def long_header(line: bytes) -> tuple[str, tuple[int, int, int]] | None:
    """Separator, and places of time, path and value, in a header of the long form; None for any other line.

    >>> long_header(b'"Path";"InstanceName";"CookedValue";"Timestamp"')
    (';', (3, 0, 2))
    """
    if b"timestamp" not in line.lower():
        return None
    for separator in (",", ";", "\t"):
        cells = [name.strip().lower() for name in islice(pdh.Names(line.decode("latin-1"), separator), _MOST_CELLS)]
        value = next((name for name in ("cookedvalue", "value") if name in cells), None)
        if value is not None and {"timestamp", "path"} <= set(cells):
            return separator, (cells.index("timestamp"), cells.index("path"), cells.index(value))
    return None

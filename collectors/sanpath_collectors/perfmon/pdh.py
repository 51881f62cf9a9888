r"""Parses PDH CSV, the layout that typeperf, logman, relog and esxtop share. Pure: bytes in, lines and cells out.

    "(PDH-CSV 4.0) (W. Europe Standard Time)(-60)","\\SQL1\PhysicalDisk(1 E:)\Disk Reads/sec","\\SQL1\..."
    "11/20/2026 08:00:01.123","6250.0013","0.0051"

On every Windows, all cells are quoted, dates are American and decimals have a point. If a program saved the log
again, it may use semicolons between cells and decimal commas, as is usual in many countries, and no quotes. The zone
is given in minutes to add to local time to get UTC. It is missing in the output of typeperf, and may be truncated. A
missing value is a blank. Lines are kept as bytes, because only names depend on the code page of the machine.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache

from sanpath.plugin import CollectorError, Failure

MAX_LINE_BYTES = 64 << 20
"""Longest line: ten times the length of a header with a hundred thousand counters."""

RESAVED_SEPARATOR = ";"
"""Separator of a log that another program saved again, with decimal commas."""

MAX_VALUE = 1e15
"""Larger values mean that the file is damaged. A thousand arrays transfer this number of bytes per second."""
_DECIMAL_COMMA = re.compile(rb"\s*(?:0,\d+|\d{4,},\d+|\d+,(?:\d{1,2}|\d{4,})|\d+,\d+e[+-]?\d+)\s*", re.IGNORECASE)
"""A number whose comma is a decimal mark, and cannot separate thousands."""
_MAX_SHARED_OCTETS = 2
"""Equal cells of up to this many octets are stored only once: an object takes twenty times their size."""
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_HEADER = re.compile(r'^"?\(PDH-([CT])SV')
_ZONE = re.compile(r"\(PDH-[CT]SV [\d.]+\)\s*\(.*\)\s*\(([+-]?\d{1,4})\)")
_ROW = re.compile(rb'"?\d\d/')
_RESAVED_ROW = re.compile(rb'"?\d{1,4}[./-]\d')
_FIRST_CELL = re.compile(rb'"[^"]*"|[^;,\t"\\]*')
_TIME = re.compile(rb"(\d\d/\d\d/\d{4}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_MAX_PATH_CHARACTERS = 2048  # PDH_MAX_COUNTER_PATH; longer ones are no paths, and would be searched again and again
_PATH = re.compile(r"\\{1,2}(?:([^\\()]+)\\)?(.+?)(?:\((.*)\))?\\([^\\]*)", re.DOTALL)


class Lines:
    """Splits bytes into lines, in UTF-8 (also from UTF-16) or in an unknown code page."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._waiting_bytes = 0
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._has_begun = False

    def feed(self, added: bytes) -> bytes:
        """Return the lines that are now complete, with their ends.

        Raises CollectorError(UNREADABLE): a line is too long.
        """
        if not self._has_begun:
            self._head += added
            if len(self._head) < 4:
                return b""
            added = self._begin()
        if self._decoder is not None:
            added = self._decoder.decode(added).encode("utf-8")
        if b"\n" not in added:
            self._waiting_bytes += len(added)
            if self._waiting_bytes > MAX_LINE_BYTES:
                raise CollectorError(Failure.UNREADABLE, "a line of more than 64 MiB: this is not a counter log")
            self._chunks.append(added)
            return b""
        end = added.rindex(b"\n") + 1
        lines = b"".join((*self._chunks, added[:end]))
        self._chunks, self._waiting_bytes = [added[end:]], len(added) - end
        return lines

    def last_line(self) -> bytes:
        """Return the last line, which has no line end."""
        if not self._has_begun:
            self._chunks = [self._begin()]
        line, self._chunks, self._waiting_bytes = b"".join(self._chunks), [], 0
        return line

    def _begin(self) -> bytes:
        head, self._head, self._has_begun = self._head, b"", True
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        elif len(head) > 1 and head[1] == 0:
            self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")
        return head.removeprefix(codecs.BOM_UTF8)


@dataclass(frozen=True, slots=True)
class CounterPath:
    r"""`\\machine\object(instance)\counter`. `machine`, `instance`: None if the path has none."""

    machine: str | None
    object: str
    instance: str | None
    counter: str


def parse_counter_path(name: str) -> CounterPath | None:
    r"""Parse a counter path; None: not a path. One of the two leading backslashes may be missing.

    >>> parse_counter_path(r"\\SQL1\PhysicalDisk(0 C:)\Avg. Disk sec/Read")
    CounterPath(machine='SQL1', object='PhysicalDisk', instance='0 C:', counter='Avg. Disk sec/Read')
    >>> parse_counter_path(r"\Cluster Disk Counters(a(b))\IO (<= 5ms)/sec")
    CounterPath(machine=None, object='Cluster Disk Counters', instance='a(b)', counter='IO (<= 5ms)/sec')
    """
    path = name.strip()
    match = _PATH.fullmatch(path) if len(path) <= _MAX_PATH_CHARACTERS else None
    return CounterPath(match[1], match[2], match[3], match[4]) if match else None


def is_header(line: bytes) -> bool:
    """Whether a line contains the names of the columns. A file has several such lines if logs were appended."""
    return _HEADER.match(line[:64].decode("latin-1")) is not None


def is_row(line: bytes, separator: str = ",") -> bool:
    """Whether a line begins like a row. Messages of typeperf do not."""
    return (_RESAVED_ROW if separator == RESAVED_SEPARATOR else _ROW).match(line) is not None


def find_separator(header: bytes) -> str:
    """Return the separator of the cells: a comma, a tab in logman's TSV format, or a semicolon.

    >>> find_separator(b'"(PDH-CSV 4.0)","x;y"'), find_separator(b"(PDH-CSV 4.0) (UTC)(0);x")
    (',', ';')
    """
    match = _HEADER.match(header[:64].decode("latin-1"))
    if match and match[1] == "T":
        return "\t"
    first = _FIRST_CELL.match(header)
    return RESAVED_SEPARATOR if first and header[first.end() :].startswith(RESAVED_SEPARATOR.encode()) else ","


def parse_zone_minutes(cell: str) -> int | None:
    """Parse the minutes to add to local times to get UTC, from the first cell of the header; None: missing, or cut.

    >>> parse_zone_minutes("(PDH-CSV 4.0) (Eastern Daylight Time)(240)"), parse_zone_minutes("(PDH-CSV 4.0) (RTZ 2 (")
    (240, None)
    """
    match = _ZONE.match(cell.strip())
    return int(match[1]) if match and abs(int(match[1])) <= 15 * 60 else None


class Names:
    """The cells of a header. Instances may contain commas and quotes.

    Each iteration splits the header again, because a list of a hundred thousand cells takes many times its memory.
    """

    def __init__(self, header: str, separator: str) -> None:
        self._header, self._separator = header.strip("\r\n\0"), separator

    def __iter__(self) -> Iterator[str]:
        for cell in _cell(self._separator).finditer(self._header):
            quoted, after, plain = cell.groups("")
            yield quoted.replace('""', '"') + after + plain

    def __len__(self) -> int:
        return sum(1 for _ in _cell(self._separator).finditer(self._header))


@cache
def _cell(separator: str) -> re.Pattern[str]:
    """The pattern of a CSV cell: quoted, with any text after its quotes, or plain."""
    # Possessive (*+): otherwise every pair of quotes is kept for backtracking.
    other = f"[^{separator}]*+"
    return re.compile(rf'(?:\A|{separator})(?:"([^"]*+(?:""[^"]*+)*+)(?:"({other}))?|({other}))')


def split_cells(line: bytes, separator: str, expected: int) -> list[bytes]:
    """Split a row into cells. A slower parser is used if cells are not quoted."""
    line = line.strip(b"\r \0")
    if line.startswith(b'"') and line.endswith(b'"'):
        cells = line[1:-1].split(b'"%b"' % separator.encode())
        if len(cells) >= expected:
            return cells
    short: dict[bytes, bytes] = {}
    encoded = (cell.encode("latin-1") for cell in Names(line.decode("latin-1"), separator))
    return [short.setdefault(cell, cell) if len(cell) <= _MAX_SHARED_OCTETS else cell for cell in encoded]


def has_split_decimals(line: bytes, cells: Sequence[bytes], expected: int) -> bool:
    """Whether decimal commas were taken for separators: there are too many cells, and none is quoted or has a
    point."""
    return len(cells) > expected and b'","' not in line and not any(b"." in cell for cell in cells[1:])


def parse_time_us(cell: bytes) -> int | None:
    """Parse `MM/DD/YYYY HH:MM:SS.mmm` to microseconds since the epoch, as if it were UTC; None: not a time.

    >>> parse_time_us(b"01/02/1970 00:00:01.5")
    86401500000
    """
    match = _TIME.fullmatch(cell.strip())
    days = parse_day(match[1]) if match else None
    if match is None or days is None:
        return None
    hours, minutes, seconds = int(match[2]), int(match[3]), int(match[4])
    if hours > 23 or minutes > 59 or seconds > 60:
        return None
    return (
        ((days * 24 + hours) * 60 + minutes) * 60_000_000
        + seconds * 1_000_000
        + int((match[5] or b"0").ljust(6, b"0"))
    )


@lru_cache(maxsize=8)
def parse_day(text: bytes) -> int | None:
    """Parse `MM/DD/YYYY` to days since the epoch; None: not a day, or one before any log."""
    try:
        days = date(int(text[6:]), int(text[:2]), int(text[3:5])).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    return days if days >= 1 else None


def parse_numbers(cells: Sequence[bytes]) -> list[float | None]:
    """Parse the values of cells. None for a blank, and for negative or infinite numbers, which no counter has."""
    try:
        values = list(map(float, cells))
        if values and min(values) >= 0.0 and sum(values) < MAX_VALUE:  # False for NaN as well
            return list[float | None](values)
    except ValueError:
        pass
    return list(map(parse_number, cells))


def parse_number(cell: bytes) -> float | None:
    """Parse the value of one cell. A comma is the decimal mark, unless it may separate thousands: then None.

    >>> parse_number(b"6250.5"), parse_number(b"6250,5"), parse_number(b"0,051"), parse_number(b"6,250")
    (6250.5, 6250.5, 0.051, None)
    """
    try:
        value = float(cell.replace(b",", b".") if _DECIMAL_COMMA.fullmatch(cell) else cell)
    except ValueError:
        return None
    return value if 0.0 <= value < MAX_VALUE else None

"""Parses a row of results by the names in the header line, which has 56 columns until 2008 and 80 in 1.1.0."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.iometer.numbers import parse_count, parse_local_us, parse_number

KINDS = ("ALL", "MANAGER", "WORKER", "DISK", "NETWORK")
"""Kinds of rows that are read. Rows of processors are not read: versions until 1.0 write them without commas."""

_MAX_COMMAS = 16
"""Largest number of commas in names."""
_MAX_LATENCY_MS = 86_400_000.0
"""A day. Longer latencies mean that the row is damaged."""
_BIN = re.compile(r"(?:>= ?[0-9.]+|[0-9.]+ to ([0-9]{1,15}(?:[.][0-9]{0,15})?)) (us|ms|s)")
_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one direction. Latencies are None if there was no I/O, or if they are missing."""

    ops: int
    bytes: int
    mean_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one row.

    `disks`: number of targets below it. `run_seconds`: duration of the recording; None: missing. `queue_depth`: I/Os
    in flight for each target; None: the targets differ. `sectors`: size of the area; 0: the whole disk. `bins`:
    (upper bound in seconds, I/Os) of an ALL row, for reads and writes together. `stamp_us`: time of an update; None:
    not an update.
    """

    kind: str
    name: str
    specification: str
    disks: int | None
    ops_per_second: float
    figures: dict[Direction, Figures]
    errors: int
    run_seconds: float | None
    queue_depth: int | None
    sectors: int | None
    bins: tuple[tuple[float | None, int], ...]
    stamp_us: int | None

    @property
    def ops(self) -> int:
        """Completed I/Os."""
        return sum(figures.ops for figures in self.figures.values())

    @property
    def seconds(self) -> float | None:
        """Duration in which its I/Os were counted, computed from I/Os and IOPS. None: no I/O."""
        return self.ops / self.ops_per_second if self.ops_per_second > 0 and self.ops else None


def split_cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line. Names may contain bare quotes; a spreadsheet quotes cells that contain a delimiter.

    >>> split_cells('DISK,8: "LS300S P10",,', ","), split_cells('WORKER;"4K; read";1,5', ";")
    (['DISK', '8: "LS300S P10"', '', ''], ['WORKER', '4K; read', '1,5'])
    """
    if f'{delimiter}"' in line or line.startswith('"'):
        with contextlib.suppress(csv.Error, StopIteration):  # Malformed: the quotes are not those of a spreadsheet.
            return next(csv.reader((line,), delimiter=delimiter))
    return line.split(delimiter)


def unquote(cell: str) -> str:
    """A cell without the quotes of a spreadsheet.

    >>> unquote('"4K; ""hot"" area"'), unquote("64K, 70% read")
    ('4K; "hot" area', '64K, 70% read')
    """
    cell = cell.strip()
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


class Columns:
    """The columns of a header line."""

    def __init__(self, header: Sequence[str], delimiter: str) -> None:
        self._delimiter = delimiter
        names = [name.strip().lstrip("'").casefold() for name in header]
        self._index = {name: index for index, name in reversed(list(enumerate(names)))}
        self._bins = [
            (float(match[1]) * _UNIT[match[2]] if match[1] else None, index)
            for index, name in enumerate(names)
            if (match := _BIN.fullmatch(name)) is not None
        ]

    @property
    def has_time_stamps(self) -> bool:
        """Whether each row has a time stamp. That is so in updates."""
        return "timestamp" in self._index

    @property
    def is_complete(self) -> bool:
        """Whether all required columns exist."""
        needed = ("target type", "iops", "read iops", "write iops", "read i/os", "write i/os", "queue depth")
        return all(name in self._index for name in needed)

    def parse_row(self, line: str) -> Row | None:
        """Parse a row; None: another kind of row. Raises ValueError when it is truncated or damaged."""
        cells = split_cells(line, self._delimiter)
        first = self._index["target type"]
        if len(cells) <= first or cells[first] not in KINDS:
            return None
        shift = self._find_shift(cells)
        if shift is None:
            raise ValueError(line)
        names = cells[first + 1 : first + 3 + shift]
        # Extra commas belong to the name of the target if the row has no specification, otherwise to the name of the
        # specification.
        split = 1 + shift if cells[first] in ("DISK", "NETWORK") else 1

        def cell(name: str) -> str:
            index = self._index.get(name)
            return cells[index + shift] if index is not None and index + shift < len(cells) else ""

        speed, ticks = parse_number(cell("processor speed")), parse_number(cell("total raw run time"))
        return Row(
            cells[first],
            self._delimiter.join(names[:split]).strip(),
            self._delimiter.join(names[split:]).strip(),
            parse_count(cell("# disks")),
            parse_number(cell("iops")) or 0.0,
            {d: _parse_figures(cell, d) for d in DIRECTIONS},
            parse_count(cell("errors")) or 0,
            ticks / speed if speed and ticks and speed > 0 and ticks > 0 else None,
            parse_count(cell("queue depth")),
            parse_count(cell("maximum size")),
            self._bin_counts(cells, shift) if cells[first] == "ALL" else (),
            parse_local_us(cells[0]) if self.has_time_stamps else None,
        )

    def _bin_counts(self, cells: Sequence[str], shift: int) -> tuple[tuple[float | None, int], ...]:
        if not self._bins or self._bins[-1][1] + shift >= len(cells):
            return ()
        return tuple((upper, parse_count(cells[index + shift]) or 0) for upper, index in self._bins)

    def _find_shift(self, cells: Sequence[str]) -> int | None:
        """Number of additional cells that commas in names cause before the figures; None: malformed.

        It is found by the condition that IOps are the sum of read and write IOps.
        """
        indices = [self._index[name] for name in ("iops", "read iops", "write iops")]
        for shift in range(min(_MAX_COMMAS, len(cells) - max(indices))):
            total, read, write = (parse_number(cells[index + shift]) for index in indices)
            if total is None or read is None or write is None:
                continue
            if total >= 0 and abs(total - read - write) <= 0.02 + 0.001 * total:
                return shift
        return None


def _parse_figures(cell: Callable[[str], str], direction: Direction) -> Figures:
    verb = "read" if direction == "read" else "written"
    ops, bytes_moved = parse_count(cell(f"{direction} i/os")), parse_count(cell(f"bytes {verb}"))
    if ops is None or bytes_moved is None:
        raise ValueError(direction)
    return Figures(
        ops,
        bytes_moved,
        _parse_latency_ms(cell(f"average {direction} response time")) if ops else None,
        _parse_latency_ms(cell(f"maximum {direction} response time")) if ops else None,
    )


def _parse_latency_ms(text: str) -> float | None:
    value = parse_number(text)
    return value if value is not None and 0 <= value < _MAX_LATENCY_MS else None

"""A row of results, addressed by the text of the header line: 56 columns until 2008, 80 in 1.1.0."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.iometer.numbers import count, local_us, number

KINDS = ("ALL", "MANAGER", "WORKER", "DISK", "NETWORK")
"""Rows that are read. PROCESSOR rows tell of the host's processors; versions until 1.0 wrote them without commas."""

_FARTHEST = 16
"""Commas within names that are looked for."""
_LONGEST_MS = 86_400_000.0
_BIN = re.compile(r"(?:>= ?[0-9.]+|[0-9.]+ to ([0-9]{1,15}(?:[.][0-9]{0,15})?)) (us|ms|s)")
_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Figures:
    """One direction. Latencies in milliseconds, None: no I/O, or not told."""

    ops: int
    bytes: int
    mean_ms: float | None
    max_ms: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """What one row tells. `disks`: targets below it. `run_seconds`: how long it recorded, None: not told.
    `queue_depth`: I/Os in flight a target, None: they differ below it. `sectors`: size of the area, 0: all of the
    disk. `bins`: (upper bound in seconds, I/Os) of an ALL row, reads and writes together. `stamp_us`: of an update.
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
        """I/Os completed."""
        return sum(figures.ops for figures in self.figures.values())

    @property
    def seconds(self) -> float | None:
        """The time in which its I/Os were counted; Iometer divides them by it. None: there were none."""
        return self.ops / self.ops_per_second if self.ops_per_second > 0 and self.ops else None


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a line. A name may hold bare quotes; a spreadsheet quotes cells that hold a delimiter.

    >>> cells_of('DISK,8: "LS300S P10",,', ","), cells_of('WORKER;"4K; read";1,5', ";")
    (['DISK', '8: "LS300S P10"', '', ''], ['WORKER', '4K; read', '1,5'])
    """
    if f'{delimiter}"' in line or line.startswith('"'):
        with contextlib.suppress(csv.Error, StopIteration):  # damaged: the quotes are none
            return next(csv.reader((line,), delimiter=delimiter))
    return line.split(delimiter)


def unquoted(cell: str) -> str:
    """A cell that stands alone, without the quotes of a spreadsheet.

    >>> unquoted('"4K; ""hot"" area"'), unquoted("64K, 70% read")
    ('4K; "hot" area', '64K, 70% read')
    """
    cell = cell.strip()
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


class Columns:
    """Where a header line says the figures stand."""

    def __init__(self, header: Sequence[str], delimiter: str) -> None:
        self._delimiter = delimiter
        names = [name.strip().lstrip("'").casefold() for name in header]
        self._at = {name: place for place, name in reversed(list(enumerate(names)))}
        self._bins = [
            (float(found[1]) * _UNIT[found[2]] if found[1] else None, place)
            for place, name in enumerate(names)
            if (found := _BIN.fullmatch(name)) is not None
        ]

    @property
    def bins(self) -> Sequence[float | None]:
        """Upper limits of the bins of latency, seconds; None: it has none."""
        return tuple(upper for upper, _ in self._bins)

    @property
    def are_updates(self) -> bool:
        """Whether each row has a time stamp of its own."""
        return "timestamp" in self._at

    @property
    def are_results(self) -> bool:
        """Whether all that is needed stands in them."""
        needed = ("target type", "iops", "read iops", "write iops", "read i/os", "write i/os", "queue depth")
        return all(name in self._at for name in needed)

    def row(self, line: str) -> Row | None:
        """A row; None: of another kind. Raises ValueError: cut or damaged."""
        cells = cells_of(line, self._delimiter)
        first = self._at["target type"]
        if len(cells) <= first or cells[first] not in KINDS:
            return None
        shift = self._shift(cells)
        if shift is None:
            raise ValueError(line)
        names = cells[first + 1 : first + 3 + shift]
        # A comma belongs to the name of a target, which tells no specification, else to that of the specification.
        split = 1 + shift if cells[first] in ("DISK", "NETWORK") else 1

        def cell(name: str) -> str:
            place = self._at.get(name)
            return cells[place + shift] if place is not None and place + shift < len(cells) else ""

        speed, ticks = number(cell("processor speed")), number(cell("total raw run time"))
        return Row(
            cells[first],
            self._delimiter.join(names[:split]).strip(),
            self._delimiter.join(names[split:]).strip(),
            count(cell("# disks")),
            number(cell("iops")) or 0.0,
            {d: _figures(cell, d) for d in DIRECTIONS},
            count(cell("errors")) or 0,
            ticks / speed if speed and ticks and speed > 0 and ticks > 0 else None,
            count(cell("queue depth")),
            count(cell("maximum size")),
            self._told_bins(cells, shift) if cells[first] == "ALL" else (),
            local_us(cells[0]) if self.are_updates else None,
        )

    def _told_bins(self, cells: Sequence[str], shift: int) -> tuple[tuple[float | None, int], ...]:
        if not self._bins or self._bins[-1][1] + shift >= len(cells):
            return ()
        return tuple((upper, count(cells[place + shift]) or 0) for upper, place in self._bins)

    def _shift(self, cells: Sequence[str]) -> int | None:
        """By how many cells commas within names have moved the figures: IOps are the sum of read and write IOps."""
        places = [self._at[name] for name in ("iops", "read iops", "write iops")]
        for shift in range(min(_FARTHEST, len(cells) - max(places))):
            total, read, write = (number(cells[place + shift]) for place in places)
            if total is None or read is None or write is None:
                continue
            if total >= 0 and abs(total - read - write) <= 0.02 + 0.001 * total:
                return shift
        return None


def _figures(cell: Callable[[str], str], direction: Direction) -> Figures:
    done = "read" if direction == "read" else "written"
    ops, moved = count(cell(f"{direction} i/os")), count(cell(f"bytes {done}"))
    if ops is None or moved is None:
        raise ValueError(direction)
    return Figures(
        ops,
        moved,
        _latency_ms(cell(f"average {direction} response time")) if ops else None,
        _latency_ms(cell(f"maximum {direction} response time")) if ops else None,
    )


def _latency_ms(text: str) -> float | None:
    value = number(text)
    return value if value is not None and 0 <= value < _LONGEST_MS else None

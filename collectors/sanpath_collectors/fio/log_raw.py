"""A log with a line for each I/O → counters by the second, and the latency distribution.

Such logs grow to gigabytes: a file is summed up by the database, and by Python only what is fed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import Item, ResultFile, Rows, histogram, warning
from sanpath_collectors.fio.buckets import lower_limit, middle, percentile, upper_bounds
from sanpath_collectors.fio.log import DIRECTION_OF, LARGEST, LATEST_MS, MEASURED, Log, LogName, numbers
from sanpath_collectors.fio.tables import LOAD, LOG

_WINDOW_MS = 1000
_IMPLAUSIBLE_NS = 1000
_COLUMNS = ("at_ms", "value", "ddir", "bs", "byte_offset", "priority", "issued")
_TYPES = {"at_ms": "BIGINT", "value": "BIGINT", "ddir": "INTEGER", "bs": "BIGINT"}
_SQL = """
    SELECT greatest(at_ms - {base}, 0) // {window} AS number, ddir,
           count(*), sum(bs), sum(value), max(value), max(at_ms), (value >> octave) << octave AS bucket
    FROM (SELECT *, greatest(floor(log2(greatest(value, 1)))::INTEGER - 6, 0) AS octave FROM csv)
    WHERE at_ms BETWEEN 0 AND {latest} AND value BETWEEN 0 AND {largest} AND bs BETWEEN 0 AND {largest}
          AND ddir IN (0, 1, 2)
    GROUP BY GROUPING SETS ((number, ddir), (ddir, bucket))
    ORDER BY number NULLS LAST, ddir, bucket
"""


@dataclass(slots=True)
class _Sum:
    """I/Os of one direction: their number, bytes, and sum of their values."""

    ops: int = 0
    moved: int = 0
    value: int = 0

    def add(self, ops: int, moved: int, value: int) -> None:
        """Some more."""
        self.ops, self.moved, self.value = self.ops + ops, self.moved + moved, self.value + value


@dataclass(slots=True)
class _Window:
    """A second of the log."""

    number: int
    sums: dict[Direction, _Sum] = field(default_factory=lambda: {d: _Sum() for d in DIRECTIONS})


class RawLog(Log):
    """Lines come in the order of completion, so that a second is over when a line of the next one comes."""

    def __init__(self, load: str, name: LogName) -> None:
        super().__init__(load, name)
        self._totals = {direction: _Sum() for direction in DIRECTIONS}
        self._largest: dict[Direction, int] = dict.fromkeys(DIRECTIONS, 0)
        self._buckets: dict[Direction, dict[int, int]] = {d: defaultdict(int) for d in DIRECTIONS}
        self._window: _Window | None = None
        self._last_ms = 0
        self._base_ms: int | None = None

    def read(self, file: ResultFile) -> Iterator[Item]:
        """The whole log, summed up by the database; by Python, where it cannot unpack the file."""
        first = next(iter(file.chunks()), b"").partition(b"\n")[0]
        columns = {name: _TYPES.get(name, "VARCHAR") for name in _COLUMNS[: first.count(b",") + 1]}
        told = numbers(first)
        self._base_ms = _base_ms(told[0]) if told is not None else 0
        found = False
        limits = {"latest": LATEST_MS - 1, "largest": LARGEST - 1}
        for row in file.query(columns, _SQL.format(base=self._base_ms, window=_WINDOW_MS, **limits)):
            found = True
            yield from self._queried(row)
        yield from self.finish() if found else super().read(file)

    def line(self, line: bytes) -> Iterator[Item]:
        """Take in one line."""
        told = numbers(line)
        if told is None:
            return
        time, value, ddir, block = told
        if ddir not in DIRECTION_OF:
            self._trims += 1
            return
        if self._base_ms is None:
            self._base_ms = _base_ms(time)
        direction = DIRECTION_OF[ddir]
        yield from self._add(max(0, time - self._base_ms) // _WINDOW_MS, direction, 1, block, value)
        self._largest[direction] = max(self._largest[direction], value)
        self._last_ms = max(self._last_ms, time)
        self._buckets[direction][lower_limit(value)] += 1

    def last(self) -> Iterator[Item]:
        """The last second, and what is known of all of them."""
        if self._window is None:
            return
        end = min(self._last_ms + 1, self._ends(self._window.number))
        yield from self._rows(self._window, end, whole=True)
        if self.kind == "lat":
            for direction in DIRECTIONS:
                bins = {str(lower): count for lower, count in self._buckets[direction].items()}
                if buckets := upper_bounds(bins):
                    yield histogram(self.us(end), self.load, direction, buckets)
            waited, ops = (sum(getattr(s, what) for s in self._totals.values()) for what in ("value", "ops"))
            if waited < _IMPLAUSIBLE_NS * ops:
                text = (
                    "latencies below a microsecond: fio before 3.0 wrote microseconds, which are read as nanoseconds"
                )
                yield warning(self.us(end), "latency-unit", text)

    def _queried(self, row: tuple[int | float | str | None, ...]) -> Iterator[Item]:
        number, ddir, ops, moved, value, largest, last_ms, bucket = (None if v is None else int(v) for v in row)
        if ddir is None or ddir not in DIRECTION_OF:
            self._trims += (ops or 0) if number is not None else 0
            return
        direction = DIRECTION_OF[ddir]
        if number is not None:
            yield from self._add(number, direction, ops or 0, moved or 0, value or 0)
            self._largest[direction] = max(self._largest[direction], largest or 0)
            self._last_ms = max(self._last_ms, last_ms or 0)
        elif bucket is not None:
            self._buckets[direction][bucket] += ops or 0

    def _add(self, number: int, direction: Direction, ops: int, moved: int, value: int) -> Iterator[Item]:
        if self._window is None:
            self._window = _Window(number)
            yield from self.begin(self._ends(number - 1))
            yield from self._rows(_Window(number - 1), self._ends(number - 1))
        elif number > self._window.number:
            yield from self._rows(self._window, self._ends(self._window.number))
            self._window = _Window(number)
        self._window.sums[direction].add(ops, moved, value)
        self._totals[direction].add(ops, moved, value)

    def _ends(self, number: int) -> int:
        return (self._base_ms or 0) + (number + 1) * _WINDOW_MS

    def _rows(self, window: _Window, end_ms: int, *, whole: bool = False) -> Iterator[Rows]:
        seen = self.until(end_ms)
        values: dict[str, int | float | None] = {}
        for direction, total in self._totals.items():
            values |= {f"ops_{direction}_total": total.ops, f"bytes_{direction}_total": total.moved}
            if self.kind == "lat":
                values[f"latency_seconds_{direction}_total"] = total.value
                values |= self._distribution(direction) if whole else {}
        yield Rows(LOAD, [self.load], [seen], {name: [value] for name, value in values.items()})
        if self.kind in ("clat", "slat"):
            means = {
                f"{MEASURED[self.kind]}_{direction}": [sums.value / sums.ops]
                for direction, sums in window.sums.items()
                if sums.ops
            }
            if means:
                covered = (end_ms - self._ends(window.number - 1)) / 1000
                yield Rows(LOG, [self.load], [seen], dict(means), covers_seconds=[covered])

    def _distribution(self, direction: Direction) -> Mapping[str, int | None]:
        counts = {middle(lower): count for lower, count in self._buckets[direction].items()}
        return {
            f"latency_seconds_max_{direction}": self._largest[direction] if counts else None,
            **{f"latency_seconds_p{p}_{direction}": percentile(counts, p / 100) for p in (50, 95, 99)},
        }


def _base_ms(first_ms: int) -> int:
    """Where the first second begins: with the job, as far as its first line tells."""
    return 0 if first_ms < _WINDOW_MS else first_ms

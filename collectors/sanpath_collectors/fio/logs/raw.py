"""Parses a log with a line for each I/O into counters for each second and the latency distribution.

Such logs grow to gigabytes. DuckDB aggregates complete files; Python only aggregates chunks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import Item, ResultFile, Rows, histogram
from sanpath_collectors.fio.jobs.buckets import bucket_middle, lower_limit, percentile, upper_bounds
from sanpath_collectors.fio.logs.log import (
    DIRECTION_BY_NUMBER,
    GAUGE_BY_KIND,
    MAX_TIME_MS,
    MAX_VALUE,
    MIN_PLAUSIBLE_NS,
    Log,
    LogName,
    parse_line,
)
from sanpath_collectors.fio.tables import LOAD, LOG

_WINDOW_MS = 1000
"""The I/Os of each second become one row."""
_MIN_OUTSTANDING = 0.1
"""Fewer outstanding I/Os are not plausible: a job without pauses between its I/Os has about one or more."""
_COLUMNS = ("at_ms", "value", "ddir", "bs", "byte_offset", "priority", "issued")
_TYPES = {"at_ms": "BIGINT", "value": "BIGINT", "ddir": "INTEGER", "bs": "BIGINT"}
_SQL = """
    SELECT greatest(at_ms - {base}, 0) // {window} AS second, ddir,
           count(*), sum(bs), sum(value), max(value), max(at_ms), (value >> octave) << octave AS bucket
    FROM (SELECT *, greatest(floor(log2(greatest(value, 1)))::INTEGER - 6, 0) AS octave
          FROM (SELECT * REPLACE (value * {unit} AS value) FROM csv WHERE value BETWEEN 0 AND {largest}))
    WHERE at_ms BETWEEN 0 AND {latest} AND bs BETWEEN 0 AND {largest}
          AND ddir IN (0, 1, 2)
    GROUP BY GROUPING SETS ((second, ddir), (ddir, bucket))
    ORDER BY second NULLS LAST, ddir, bucket
"""


@dataclass(slots=True)
class _Sums:
    """I/Os of one direction: their number, bytes, and the sum of their values."""

    ops: int = 0
    moved_bytes: int = 0
    value: int = 0

    def add(self, ops: int, moved_bytes: int, value: int) -> None:
        """Adds I/Os."""
        self.ops, self.moved_bytes, self.value = self.ops + ops, self.moved_bytes + moved_bytes, self.value + value


@dataclass(slots=True)
class _Window:
    """One second of the log."""

    second: int
    sums: dict[Direction, _Sums] = field(default_factory=lambda: {d: _Sums() for d in DIRECTIONS})


class RawLog(Log):
    """Sums up the I/Os of each second.

    Lines of one job are in the order of completion. With per_job_logs=0 the lines of the next job follow. So no
    second is complete before the end of the log.
    """

    def __init__(self, load: str, name: LogName, versions: Collection[str] = ()) -> None:
        super().__init__(load, name, versions)
        self.is_complete = name.kind == "lat"
        self._totals = {direction: _Sums() for direction in DIRECTIONS}
        self._max_values: dict[Direction, int] = dict.fromkeys(DIRECTIONS, 0)
        self._buckets: dict[Direction, dict[int, int]] = {d: defaultdict(int) for d in DIRECTIONS}
        self._window: _Window | None = None
        self._last_ms = 0
        self._base_ms: int | None = None
        self._begin_ms = 0
        self._seconds: dict[tuple[int, Direction], _Sums] = defaultdict(_Sums)

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Reads a complete log, aggregated by DuckDB, or by Python if DuckDB cannot decompress the file."""
        first = next(iter(file.chunks()), b"").partition(b"\n")[0]
        columns = {name: _TYPES.get(name, "VARCHAR") for name in _COLUMNS[: first.count(b",") + 1]}
        fields = parse_line(first)
        self._base_ms = _find_base_ms(fields[0]) if fields is not None else 0
        self.note_first_line(first)
        has_rows = False
        limits = {"latest": MAX_TIME_MS - 1, "largest": MAX_VALUE - 1}
        for row in file.query(columns, _SQL.format(base=self._base_ms, window=_WINDOW_MS, unit=self.unit, **limits)):
            has_rows = True
            yield from self._add_query_row(row)
        yield from self.finish() if has_rows else super().read(file)

    def read_line(self, line: bytes) -> Iterator[Item]:
        """Takes the next line."""
        yield from ()
        fields = parse_line(line)
        if fields is None:
            return
        time_ms, value, ddir, block_bytes = fields[0], fields[1] * self.unit, *fields[2:]
        if ddir not in DIRECTION_BY_NUMBER:
            self._trims += 1
            return
        if self._base_ms is None:
            self._base_ms = _find_base_ms(time_ms)
        direction = DIRECTION_BY_NUMBER[ddir]
        self._seconds[max(0, time_ms - self._base_ms) // _WINDOW_MS, direction].add(1, block_bytes, value)
        self._max_values[direction] = max(self._max_values[direction], value)
        self._last_ms = max(self._last_ms, time_ms)
        self._buckets[direction][lower_limit(value)] += 1

    def last_items(self) -> Iterator[Item]:
        """Yields the remaining seconds, and the distribution of all."""
        for (second, direction), sums in sorted(self._seconds.items()):
            yield from self._add_ios(second, direction, sums.ops, sums.moved_bytes, sums.value)
        if self._window is None:
            return
        end = min(self._last_ms + 1, self._window_end_ms(self._window.second))
        yield from self._rows(self._window, end, final=True)
        if self.kind == "lat":
            for direction in DIRECTIONS:
                bins = {str(lower): count for lower, count in self._buckets[direction].items()}
                if buckets := upper_bounds(bins):
                    yield histogram(self.to_us(end), self.load, direction, buckets)
        yield from self._unit_warnings(end)

    def _unit_warnings(self, end_ms: int) -> Iterator[Item]:
        """Yields a warning if the unit of the latencies is doubtful. For submission latencies no value is
        implausible, so only the lines can show the unit."""
        latency_ns, ops = (sum(getattr(sums, name) for sums in self._totals.values()) for name in ("value", "ops"))
        outstanding = latency_ns / (1e6 * (end_ms - self._begin_ms))
        if self.kind in ("lat", "clat") and self.unit == 1 and latency_ns < MIN_PLAUSIBLE_NS * ops:
            yield self.unit_warning(end_ms, "latencies below a microsecond")
        elif self.kind in ("lat", "clat") and self.unit_is_doubtful and outstanding < _MIN_OUTSTANDING:
            symptom = f"{outstanding:.1g} I/Os outstanding by these latencies"
            yield self.unit_warning(end_ms, f"{symptom}, too few unless the job waited between its I/Os")
        elif self.kind == "slat" and self.unit_is_doubtful:
            yield self.unit_warning(end_ms, "its lines do not tell the unit of the latencies")

    def _add_query_row(self, row: tuple[int | float | str | None, ...]) -> Iterator[Item]:
        second, ddir, ops, moved_bytes, value, max_value, last_ms, bucket = (
            None if v is None else int(v) for v in row
        )
        if ddir is None or ddir not in DIRECTION_BY_NUMBER:
            self._trims += (ops or 0) if second is not None else 0
            return
        direction = DIRECTION_BY_NUMBER[ddir]
        if second is not None:
            yield from self._add_ios(second, direction, ops or 0, moved_bytes or 0, value or 0)
            self._max_values[direction] = max(self._max_values[direction], max_value or 0)
            self._last_ms = max(self._last_ms, last_ms or 0)
        elif bucket is not None:
            self._buckets[direction][bucket] += ops or 0

    def _add_ios(self, second: int, direction: Direction, ops: int, moved_bytes: int, value: int) -> Iterator[Item]:
        if self._window is None:
            self._window = _Window(second)
            self._begin_ms = self._window_end_ms(second - 1)
            yield from self.begin(self._begin_ms)
            yield from self._rows(_Window(second - 1), self._window_end_ms(second - 1))
        elif second > self._window.second:
            yield from self._rows(self._window, self._window_end_ms(self._window.second))
            self._window = _Window(second)
        self._window.sums[direction].add(ops, moved_bytes, value)
        self._totals[direction].add(ops, moved_bytes, value)

    def _window_end_ms(self, second: int) -> int:
        return (self._base_ms or 0) + (second + 1) * _WINDOW_MS

    def _rows(self, window: _Window, end_ms: int, *, final: bool = False) -> Iterator[Rows]:
        seen_us = self.note_time(end_ms)
        values: dict[str, int | float | None] = {}
        for direction, total in self._totals.items():
            values |= {f"ops_{direction}_total": total.ops, f"bytes_{direction}_total": total.moved_bytes}
            if self.kind == "lat":
                values[f"latency_seconds_{direction}_total"] = total.value
                values |= self._distribution(direction) if final else {}
        yield Rows(LOAD, [self.load], [seen_us], {name: [value] for name, value in values.items()})
        if self.kind in ("clat", "slat"):
            means = {
                f"{GAUGE_BY_KIND[self.kind]}_{direction}": [sums.value / sums.ops]
                for direction, sums in window.sums.items()
                if sums.ops
            }
            if means:
                covered_seconds = (end_ms - self._window_end_ms(window.second - 1)) / 1000
                yield Rows(LOG, [self.load], [seen_us], dict(means), covers_seconds=[covered_seconds])

    def _distribution(self, direction: Direction) -> Mapping[str, int | None]:
        counts = {bucket_middle(lower): count for lower, count in self._buckets[direction].items()}
        return {
            f"latency_seconds_max_{direction}": self._max_values[direction] if counts else None,
            **{f"latency_seconds_p{p}_{direction}": percentile(counts, p / 100) for p in (50, 95, 99)},
        }


def _find_base_ms(first_ms: int) -> int:
    """Begin of the first window: 0, the start of the job, or the time of the first line if it is a second or
    later."""
    return 0 if first_ms < _WINDOW_MS else first_ms

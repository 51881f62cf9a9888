"""Parses a log of completion latency histograms (write_hist_log) into I/Os, percentiles and the distribution.

    1006, 0, 4096, 0, 0, 3, 17, ...    time in ms, direction, block size, I/Os in each bucket since the line before

There are 1856 buckets in nanoseconds since fio 3.0, and 1216 in microseconds before. Each step of log_hist_coarseness
halves their number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import CollectorError, Failure, Item, Rows, histogram
from sanpath_collectors.fio.jobs.buckets import bucket_limits, bucket_shares, percentile
from sanpath_collectors.fio.logs.log import DIRECTION_BY_NUMBER, MAX_TIME_MS, Log, LogName
from sanpath_collectors.fio.tables import LOAD

_NS_TO_SECONDS = 1e-9
_FIELDS_BEFORE_COUNTS = 3
_DEFAULT_PERIOD_MS = 1000
_MAX_COUNT = 2**40
"""More I/Os in a bucket of a line mean that the file is damaged."""


class HistogramLog(Log):
    """Combines the lines of one time, reads and writes, into one row.

    The rows are kept until the end, because only then it is known that the log contains one job.
    """

    def __init__(self, load: str, name: LogName, versions: Collection[str] = ()) -> None:
        super().__init__(load, name, versions)
        self._bucket_count = 0
        self._counts: dict[Direction, list[int]] = {}
        self._time_ms: int | None = None
        self._first_row_due = True
        self._longest_ms = 0
        self._items: list[Item] = []

    def read_line(self, line: bytes) -> Iterator[Item]:
        """Takes a line. Raises CollectorError when no fio writes this number of buckets, or for several jobs."""
        yield from ()
        fields = line.split(b",")
        try:
            time_ms, ddir = int(fields[0]), int(fields[1])
            counts = [int(field) for field in fields[_FIELDS_BEFORE_COUNTS:]]
        except (ValueError, IndexError):
            return
        if ddir not in DIRECTION_BY_NUMBER:
            self._trims += 1
            return
        if not self._bucket_count:
            self._bucket_count = len(counts)
            if bucket_limits(self._bucket_count) is None:
                reason = f"a histogram of {self._bucket_count} buckets, which no known fio writes"
                raise CollectorError(Failure.UNREADABLE, f"{self._step.name}: {reason}")
            self._counts = {direction: [0] * self._bucket_count for direction in DIRECTIONS}
        if (
            len(counts) != self._bucket_count
            or min(counts) < 0
            or max(counts) >= _MAX_COUNT
            or not 0 <= time_ms < MAX_TIME_MS
        ):
            return
        if self._time_ms is None:
            self._time_ms = time_ms
        if self._time_ms - time_ms >= (self._longest_ms or _DEFAULT_PERIOD_MS):
            raise self.several_jobs_error()
        if time_ms > self._time_ms:
            self._items += self._row(self._time_ms, time_ms - self._time_ms)
            self._longest_ms = max(self._longest_ms, time_ms - self._time_ms)
            self._time_ms = time_ms
        previous = self._counts[DIRECTION_BY_NUMBER[ddir]]
        self._counts[DIRECTION_BY_NUMBER[ddir]] = [
            count + added for count, added in zip(previous, counts, strict=True)
        ]

    def last_items(self) -> Iterator[Item]:
        """Yields all rows and the distribution."""
        if self._time_ms is None:
            return
        yield from self._items
        yield from self._row(self._time_ms, _DEFAULT_PERIOD_MS)
        unit, limits = bucket_limits(self._bucket_count) or (1, [])
        for direction, counts in self._counts.items():
            by_upper = {
                upper * unit * _NS_TO_SECONDS: count for (_, upper), count in zip(limits, counts, strict=True)
            }
            if buckets := bucket_shares(by_upper):
                yield histogram(self.to_us(self._time_ms), self.load, direction, buckets)

    def _row(self, time_ms: int, period_ms: int) -> Iterator[Item]:
        if self._first_row_due:
            self._first_row_due = False
            begin_ms = max(0, time_ms - period_ms)
            begin_ms = 0 if begin_ms < period_ms / 2 else begin_ms
            yield from self.begin(begin_ms)
            zeros: dict[str, list[int]] = {f"ops_{direction}_total": [0] for direction in DIRECTIONS}
            yield Rows(LOAD, [self.load], [self.to_us(begin_ms)], dict(zeros))
        unit, limits = bucket_limits(self._bucket_count) or (1, [])
        values: dict[str, list[int | float | None]] = {}
        for direction, counts in self._counts.items():
            values[f"ops_{direction}_total"] = [sum(counts)]
            by_value = {(lower + upper) // 2: count for (lower, upper), count in zip(limits, counts, strict=True)}
            for p in (50, 95, 99):
                value = percentile(by_value, p / 100)
                values[f"latency_seconds_p{p}_{direction}"] = [None if value is None else value * unit]
        yield Rows(LOAD, [self.load], [self.note_time(time_ms)], dict(values))

"""A log of completion latency histograms (write_hist_log) → I/Os, percentiles and the distribution.

    1006, 0, 4096, 0, 0, 3, 17, ...    time in ms, direction, block size, I/Os in each bucket since the line before

1856 buckets since fio 3.0, in nanoseconds, and 1216 before, in microseconds; half of them with each step of
log_hist_coarseness.
"""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.model import DIRECTIONS, Direction
from sanpath.plugin import CollectorError, Failure, Item, Rows, histogram
from sanpath_collectors.fio.buckets import bucket_limits, percentile, shares
from sanpath_collectors.fio.log import DIRECTION_OF, LATEST_MS, Log, LogName
from sanpath_collectors.fio.tables import LOAD

_NS = 1e-9
_HEAD = 3
_DEFAULT_PERIOD_MS = 1000
_MOST = 2**40
"""I/Os in one bucket of one line: more is damage."""


class HistogramLog(Log):
    """The lines of one moment, reads and writes, become one row."""

    def __init__(self, load: str, name: LogName) -> None:
        super().__init__(load, name)
        self._width = 0
        self._counts: dict[Direction, list[int]] = {}
        self._moment: int | None = None
        self._waiting = True

    def line(self, line: bytes) -> Iterator[Item]:
        """Take in one line. Raises CollectorError: it has another number of buckets than any fio writes."""
        fields = line.split(b",")
        try:
            at_ms, number = int(fields[0]), int(fields[1])
            counts = [int(field) for field in fields[_HEAD:]]
        except (ValueError, IndexError):
            return
        if number not in DIRECTION_OF:
            self._trims += 1
            return
        if not self._width:
            self._width = len(counts)
            if bucket_limits(self._width) is None:
                what = f"a histogram of {self._width} buckets, which no known fio writes"
                raise CollectorError(Failure.UNREADABLE, f"{self._step.name}: {what}")
            self._counts = {direction: [0] * self._width for direction in DIRECTIONS}
        if len(counts) != self._width or min(counts) < 0 or max(counts) >= _MOST or not 0 <= at_ms < LATEST_MS:
            return
        if self._moment is None:
            self._moment = at_ms
        if at_ms > self._moment:
            yield from self._row(self._moment, at_ms - self._moment)
            self._moment = at_ms
        before = self._counts[DIRECTION_OF[number]]
        self._counts[DIRECTION_OF[number]] = [count + more for count, more in zip(before, counts, strict=True)]

    def last(self) -> Iterator[Item]:
        """The last row, and the distribution."""
        if self._moment is None:
            return
        yield from self._row(self._moment, _DEFAULT_PERIOD_MS)
        unit, limits = bucket_limits(self._width) or (1, [])
        for direction, counts in self._counts.items():
            by_upper = {upper * unit * _NS: count for (_, upper), count in zip(limits, counts, strict=True)}
            if buckets := shares(by_upper):
                yield histogram(self.us(self._moment), self.load, direction, buckets)

    def _row(self, at_ms: int, period_ms: int) -> Iterator[Item]:
        if self._waiting:
            self._waiting = False
            began = max(0, at_ms - period_ms)
            began = 0 if began < period_ms / 2 else began
            yield from self.begin(began)
            zeros: dict[str, list[int]] = {f"ops_{direction}_total": [0] for direction in DIRECTIONS}
            yield Rows(LOAD, [self.load], [self.us(began)], dict(zeros))
        unit, limits = bucket_limits(self._width) or (1, [])
        values: dict[str, list[int | float | None]] = {}
        for direction, counts in self._counts.items():
            values[f"ops_{direction}_total"] = [sum(counts)]
            by_value = {(low + high) // 2: count for (low, high), count in zip(limits, counts, strict=True)}
            for p in (50, 95, 99):
                value = percentile(by_value, p / 100)
                values[f"latency_seconds_p{p}_{direction}"] = [None if value is None else value * unit]
        yield Rows(LOAD, [self.load], [self.until(at_ms)], dict(values))

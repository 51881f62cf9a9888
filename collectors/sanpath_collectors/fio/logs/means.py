"""Parses a log of means (log_avg_msec).

Bandwidth and IOPS are summed up to counters. Latencies remain means.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sanpath.model import DIRECTIONS
from sanpath.plugin import Item, Rows, warning
from sanpath_collectors.fio.logs.log import (
    DIRECTION_BY_NUMBER,
    GAUGE_BY_KIND,
    MIN_PLAUSIBLE_NS,
    Log,
    LogName,
    parse_line,
)
from sanpath_collectors.fio.tables import LOAD, LOG

_DEFAULT_PERIOD_MS = 1000
"""The period if a log does not show it: log_avg_msec is usually a second."""
_MAX_PERIODS = 1.5
"""Larger distances between lines, in periods, mean that there were windows without I/O between them."""
_SAME_WINDOW = 0.5
"""By how many periods lines of one job may be out of order."""
_COUNTER_BY_KIND = {"bw": ("bytes", 1024), "iops": ("ops", 1)}

_Line = Sequence[int]
"""Time in ms, value and direction."""


class _Lines:
    """The lines of a log, in 17 bytes each. As objects they would take ten times as much, and logs may cover
    weeks."""

    def __init__(self) -> None:
        self.times, self.values, self.directions = array("q"), array("q"), array("b")

    def add(self, line: _Line) -> None:
        """Append a line."""
        self.times.append(line[0])
        self.values.append(line[1])
        self.directions.append(line[2])

    def part(self, start: int, end: int) -> Iterator[_Line]:
        """Yield some of the lines."""
        for number in range(start, end):
            yield self.times[number], self.values[number], self.directions[number]


class MeansLog(Log):
    """Combines the lines of one window, reads and writes, into one row.

    The lines are kept until the end: with per_job_logs=0 the lines of one job follow those of another. Window ends
    are not exact multiples of the period: 499, 500 and 1001 ms.
    """

    def __init__(self, load: str, name: LogName, versions: Collection[str] = ()) -> None:
        super().__init__(load, name, versions)
        self._lines = _Lines()
        self._period_ms: float = _DEFAULT_PERIOD_MS
        self._first_ms = 0
        self._window: dict[int, _Line] = {}
        self._number = 0
        self._window_ends: dict[int, int] = {}
        self._last_row_end = 0
        self._sums = {0: 0.0, 1: 0.0}

    def read_line(self, line: bytes) -> Iterator[Item]:
        """Takes the next line; the items come at the end."""
        fields = parse_line(line)
        if fields is None:
            return
        if fields[2] not in DIRECTION_BY_NUMBER:
            self._trims += 1
        else:
            self._lines.add((fields[0], fields[1] * self.unit, fields[2]))
        yield from ()

    def last_items(self) -> Iterator[Item]:
        """Yields all windows. Raises CollectorError for latencies of several jobs, as their weights are not known."""
        if not self._lines.times:
            return
        self._period_ms = _measure_period_ms(self._lines) or _DEFAULT_PERIOD_MS
        self._first_ms = self._lines.times[0]
        jobs = _split_jobs(self._lines, _SAME_WINDOW * self._period_ms)
        if len(jobs) == 1:
            yield from self._rows(jobs[0])
        elif self.kind in _COUNTER_BY_KIND:
            yield from self._rows(self._sum_jobs(jobs))
            text = f"the lines of {len(jobs)} jobs follow one another (per_job_logs=0, or a run that was repeated)"
            text = f"{text}: they are summed up as if all jobs had begun at the same time"
            yield warning(self.to_us(self._end_ms), "several-jobs", text)
        else:
            raise self.several_jobs_error()

    def _sum_jobs(self, jobs: Sequence[Iterable[_Line]]) -> Sequence[_Line]:
        """The lines of jobs that ran at the same time, summed up by window and direction."""
        sums: dict[tuple[int, int], _Line] = {}
        for lines in jobs:
            windows: dict[tuple[int, int], _Line] = {}
            for line in lines:
                windows.setdefault((self._window_number(line), line[2]), line)
            for key, line in windows.items():
                end_ms, value = sums[key][:2] if key in sums else (0, 0)
                sums[key] = (max(end_ms, line[0]), value + line[1], line[2])
        return [line for _, line in sorted(sums.items())]

    def _rows(self, lines: Iterable[_Line]) -> Iterator[Item]:
        # The first window of a job without a ramp begins with the job.
        begin_ms = 0 if self._first_ms < _MAX_PERIODS * self._period_ms else round(self._first_ms - self._period_ms)
        self._window_ends = dict.fromkeys(DIRECTION_BY_NUMBER, begin_ms)
        self._last_row_end = begin_ms
        yield from self.begin(begin_ms)
        if self.kind in _COUNTER_BY_KIND:
            yield self._counter_row(self.to_us(begin_ms))
        for line in lines:
            yield from self._add_line(line)
        yield self._row()
        if self.unit == 1 and self.kind in ("lat", "clat") and max(self._lines.values) < MIN_PLAUSIBLE_NS:
            yield self.unit_warning(self._last_row_end, "latencies below a microsecond")
        elif self.unit_is_doubtful:
            yield self.unit_warning(self._last_row_end, "its lines do not tell the unit of the latencies")

    def _window_number(self, line: _Line) -> int:
        return round((line[0] - self._first_ms) / self._period_ms)

    def _add_line(self, line: _Line) -> Iterator[Rows]:
        number = self._window_number(line)
        if self._window and number > self._number:
            yield self._row()
        if not self._window:
            self._number = number
        direction = line[2]
        if direction in self._window:
            return  # fio sometimes writes the last window twice.
        self._window[direction] = line
        elapsed_ms = line[0] - self._window_ends[direction]
        seconds = (elapsed_ms if 0 < elapsed_ms <= _MAX_PERIODS * self._period_ms else self._period_ms) / 1000
        self._window_ends[direction] = line[0]
        if self.kind in _COUNTER_BY_KIND:
            self._sums[direction] += line[1] * _COUNTER_BY_KIND[self.kind][1] * seconds

    def _row(self) -> Rows:
        window, self._window = self._window, {}
        end_ms = max(line[0] for line in window.values())
        seen_us = self.note_time(max(end_ms, self._last_row_end))
        if self.kind in _COUNTER_BY_KIND:
            return self._counter_row(seen_us)
        covered_seconds = min(end_ms - self._last_row_end, self._period_ms) / 1000
        self._last_row_end = end_ms
        values: dict[str, Sequence[int | float | None]] = {
            f"{GAUGE_BY_KIND[self.kind]}_{DIRECTION_BY_NUMBER[number]}": [line[1]] for number, line in window.items()
        }
        return Rows(LOG, [self.load], [seen_us], values, covers_seconds=[max(0.0, covered_seconds)])

    def _counter_row(self, seen_us: int) -> Rows:
        counter = _COUNTER_BY_KIND[self.kind][0]
        totals = zip(DIRECTIONS, self._sums.values(), strict=True)
        return Rows(LOAD, [self.load], [seen_us], {f"{counter}_{name}_total": [round(sum_)] for name, sum_ in totals})


def _split_jobs(lines: _Lines, slack_ms: float) -> Sequence[Iterator[_Line]]:
    """The lines of each job. The lines of the next job begin where the time falls back by more than the slack."""
    starts = (np.flatnonzero(np.diff(np.asarray(lines.times)) < -slack_ms) + 1).tolist()
    return [lines.part(start, end) for start, end in pairwise((0, *starts, len(lines.times)))]


def _measure_period_ms(lines: _Lines) -> float:
    """The length of the windows in ms: the median distance of lines of one direction. 0: unknown."""
    times, directions = np.asarray(lines.times), np.asarray(lines.directions)
    distances_ms = np.concatenate([np.diff(times[directions == direction]) for direction in DIRECTION_BY_NUMBER])
    distances_ms = distances_ms[distances_ms > 0]
    return float(np.median(distances_ms)) if len(distances_ms) else 0.0

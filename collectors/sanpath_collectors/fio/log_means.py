"""A log of means (log_avg_msec) → counters, summed up from bandwidth or I/Os a second, or mean latencies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from sanpath.model import DIRECTIONS
from sanpath.plugin import Item, Rows
from sanpath_collectors.fio.log import DIRECTION_OF, MEASURED, Log, LogName, numbers
from sanpath_collectors.fio.tables import LOAD, LOG

_LINES_FOR_PERIOD = 64
"""So many lines are looked at to learn how long the windows are: the log does not say."""
_DEFAULT_PERIOD_MS = 1000
_LONGER = 1.5
"""A window that seems longer than this many periods follows others in which nothing was done."""
_COUNTED = {"bw": ("bytes", 1024), "iops": ("ops", 1)}

_Line = Sequence[int]


class MeansLog(Log):
    """Windows end when they end: 499, 500 and 1001 ms. The lines of one window, reads and writes, become one row."""

    def __init__(self, load: str, name: LogName) -> None:
        super().__init__(load, name)
        self._waiting: list[_Line] | None = []
        self._period: float = _DEFAULT_PERIOD_MS
        self._first = 0
        self._window: dict[int, _Line] = {}
        self._number = 0
        self._ended: dict[int, int] = {}
        self._row_ended = 0
        self._sums = {0: 0.0, 1: 0.0}

    def line(self, line: bytes) -> Iterator[Item]:
        """Take in one line."""
        found = numbers(line)
        if found is None:
            return
        if found[2] not in DIRECTION_OF:
            self._trims += 1
        elif self._waiting is None:
            yield from self._take(found)
        else:
            self._waiting.append(found)
            if len(self._waiting) == _LINES_FOR_PERIOD:
                yield from self._start()

    def last(self) -> Iterator[Item]:
        """The last window."""
        if self._waiting:
            yield from self._start()
        if self._window:
            yield self._row()

    def _start(self) -> Iterator[Item]:
        lines, self._waiting = self._waiting or [], None
        self._period = _period(lines) or _DEFAULT_PERIOD_MS
        self._first = lines[0][0]
        # The first window of a job without a ramp begins with it.
        began = 0 if self._first < _LONGER * self._period else round(self._first - self._period)
        self._ended = dict.fromkeys(DIRECTION_OF, began)
        self._row_ended = began
        yield from self.begin(began)
        if self.kind in _COUNTED:
            yield self._totals(self.us(began))
        for line in lines:
            yield from self._take(line)

    def _take(self, line: _Line) -> Iterator[Rows]:
        number = round((line[0] - self._first) / self._period)
        if self._window and number > self._number:
            yield self._row()
        if not self._window:
            self._number = number
        direction = line[2]
        if direction in self._window:
            return  # The last window is sometimes written twice.
        self._window[direction] = line
        passed = line[0] - self._ended[direction]
        seconds = (passed if 0 < passed <= _LONGER * self._period else self._period) / 1000
        self._ended[direction] = line[0]
        if self.kind in _COUNTED:
            self._sums[direction] += line[1] * _COUNTED[self.kind][1] * seconds

    def _row(self) -> Rows:
        window, self._window = self._window, {}
        ended = max(line[0] for line in window.values())
        seen = self.until(max(ended, self._row_ended))
        if self.kind in _COUNTED:
            return self._totals(seen)
        covered = min(ended - self._row_ended, self._period) / 1000
        self._row_ended = ended
        values: dict[str, Sequence[int | float | None]] = {
            f"{MEASURED[self.kind]}_{DIRECTION_OF[number]}": [line[1]] for number, line in window.items()
        }
        return Rows(LOG, [self.load], [seen], values, covers_seconds=[max(0.0, covered)])

    def _totals(self, seen: int) -> Rows:
        what = _COUNTED[self.kind][0]
        totals = zip(DIRECTIONS, self._sums.values(), strict=True)
        return Rows(LOAD, [self.load], [seen], {f"{what}_{name}_total": [round(sum_)] for name, sum_ in totals})


def _period(lines: Sequence[_Line]) -> float:
    """How long the windows are, in ms: what mostly lies between two lines of one direction. 0: not known."""
    apart = []
    for direction in DIRECTION_OF:
        times = [line[0] for line in lines if line[2] == direction]
        apart += [later - time for time, later in pairwise(times) if later > time]
    return median(apart) if apart else 0

"""Whether the throughput of a load has settled, from its samples as they come. Pure."""

from __future__ import annotations

from collections import deque

from sanpath.model import Rows

_OPERATIONS = ("ops_read_total", "ops_write_total")


class Steadiness:
    """Throughput of one step, a window between two samples of a load, all loads of the step summed up.

    Steady: each of the last `windows` windows lies within `spread` of every other, relative to their mean, and
    `at_least_seconds` have been measured.
    """

    def __init__(self, windows: int, spread: float, at_least_seconds: float) -> None:
        self._windows, self._allowed, self._at_least_us = windows, spread, at_least_seconds * 1e6
        self._rates: dict[str, deque[float]] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._began: dict[str, int] = {}

    def begin(self, loads: list[str]) -> None:
        """These loads begin to be measured now: what they did before does not count."""
        for load in loads:
            self._rates[load] = deque(maxlen=self._windows)
            self._last.pop(load, None)
            self._began.pop(load, None)

    def add(self, rows: Rows) -> None:
        """Samples of loads; those that have not begun are passed over."""
        moments = rows.device_time or rows.seen
        for number, (load, moment) in enumerate(zip(rows.entity, moments, strict=True)):
            if load not in self._rates:
                continue
            done = sum(int(rows.values[name][number] or 0) for name in _OPERATIONS if name in rows.values)
            before, operations = self._last.get(load, (moment, done))
            self._began.setdefault(load, moment)
            if moment > before and done >= operations:
                self._rates[load].append((done - operations) / (moment - before) * 1e6)
            self._last[load] = (moment, done)

    @property
    def spread(self) -> float | None:
        """Highest minus lowest of the last windows, relative to their mean; None: too few windows, or no I/O."""
        if not self._rates or any(len(rates) < self._windows for rates in self._rates.values()):
            return None
        sums = [sum(rates) for rates in zip(*self._rates.values(), strict=True)]
        mean = sum(sums) / len(sums)
        return (max(sums) - min(sums)) / mean if mean else None

    @property
    def reached(self) -> bool:
        """Whether the step may end."""
        spread = self.spread
        if spread is None or spread > self._allowed:
            return False
        return min(self._last[load][0] - began for load, began in self._began.items()) >= self._at_least_us

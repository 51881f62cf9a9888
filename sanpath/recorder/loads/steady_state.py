"""Decides from the samples of a load whether its throughput is steady. Pure computation."""

from __future__ import annotations

from collections import deque

from sanpath.model import Rows

_OPERATIONS = ("ops_read_total", "ops_write_total")


class Steadiness:
    """The throughput of one step, summed over its loads, in windows between successive samples.

    It is steady when the last `windows` windows lie within `spread` of each other, relative to their mean, and at
    least `min_seconds` have been measured.
    """

    def __init__(self, windows: int, spread: float, min_seconds: float) -> None:
        self._windows, self._max_spread, self._min_us = windows, spread, min_seconds * 1e6
        self._rates: dict[str, deque[float]] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._began: dict[str, int] = {}

    def begin(self, loads: list[str]) -> None:
        """Start measuring these loads: earlier samples are ignored."""
        for load in loads:
            self._rates[load] = deque(maxlen=self._windows)
            self._last.pop(load, None)
            self._began.pop(load, None)

    def add(self, rows: Rows) -> None:
        """Add samples of loads; loads that are not measured are ignored."""
        times_us = rows.device_time or rows.seen
        for number, (load, time_us) in enumerate(zip(rows.entity, times_us, strict=True)):
            if load not in self._rates:
                continue
            operations = sum(int(rows.values[name][number] or 0) for name in _OPERATIONS if name in rows.values)
            before, operations_before = self._last.get(load, (time_us, operations))
            self._began.setdefault(load, time_us)
            if time_us > before and operations >= operations_before:
                self._rates[load].append((operations - operations_before) / (time_us - before) * 1e6)
            self._last[load] = (time_us, operations)

    @property
    def spread(self) -> float | None:
        """Highest minus lowest of the last windows, relative to their mean. None: too few windows, or no I/O."""
        if not self._rates or any(len(rates) < self._windows for rates in self._rates.values()):
            return None
        sums = [sum(rates) for rates in zip(*self._rates.values(), strict=True)]
        mean = sum(sums) / len(sums)
        return (max(sums) - min(sums)) / mean if mean else None

    @property
    def reached(self) -> bool:
        """Whether the throughput is steady, so that the step may end."""
        spread = self.spread
        if spread is None or spread > self._max_spread:
            return False
        return min(self._last[load][0] - began for load, began in self._began.items()) >= self._min_us

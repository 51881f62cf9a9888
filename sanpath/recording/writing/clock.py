"""The recorder's clock: wall time at start plus monotonic time, so that setting the clock never distorts a series."""

from __future__ import annotations

import time
from collections.abc import Callable

CLOCK_JUMP = "clock-jump"
"""The event that the wall clock was set, by `seconds`; negative: it was set back."""
JUMP_SECONDS = 0.5
"""Smallest difference that is reported. Slewing (NTP: at most 500 ppm) stays far below it between two flushes."""
_MAX_READ_NS = 100_000_000
"""If reading both clocks takes longer, they cannot be compared: the machine is busy."""


class RecorderClock:
    """A clock in microseconds since the epoch that never jumps. `anchor_us`: the wall clock at its creation."""

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns, self._monotonic_ns = wall_ns, monotonic_ns
        self._began_ns = monotonic_ns()
        wall = wall_ns()
        self.anchor_us = wall // 1000
        self._offset_ns = wall - self._began_ns

    def now_us(self) -> int:
        """Return the current time in microseconds since the epoch."""
        return self.anchor_us + (self._monotonic_ns() - self._began_ns) // 1000

    def jump_seconds(self) -> float | None:
        """Return how far the wall clock was set, or how long the machine slept, since the last call. None:
        neither."""
        before, wall, after = self._monotonic_ns(), self._wall_ns(), self._monotonic_ns()
        if after - before > _MAX_READ_NS:
            return None
        jump = (wall - after - self._offset_ns) / 1e9
        self._offset_ns = wall - after
        return jump if abs(jump) > JUMP_SECONDS else None

"""The recorder's clock: wall time at start plus monotonic time since, so that a clock step never bends a series."""

from __future__ import annotations

import time
from collections.abc import Callable

CLOCK_JUMP = "clock-jump"
"""The event of a wall clock that was set: `seconds`, negative when it was set back."""
JUMP_SECONDS = 0.5
"""From here on a difference is told. Slewing (NTP: at most 500 ppm) stays far below it between two flushes."""
_HELD_UP_NS = 100_000_000
"""Two clocks that were read further apart than this cannot be compared: the machine is busy."""


class RecorderClock:
    """Microseconds since the epoch that never jump. `anchor_us` is the wall clock when it was made."""

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns, self._monotonic_ns = wall_ns, monotonic_ns
        self._began_ns = monotonic_ns()
        wall = wall_ns()
        self.anchor_us = wall // 1000
        self._offset_ns = wall - self._began_ns

    def now_us(self) -> int:
        """Now, in microseconds since the epoch."""
        return self.anchor_us + (self._monotonic_ns() - self._began_ns) // 1000

    def jump_seconds(self) -> float | None:
        """By how much the wall clock has been set since the last call, or the machine has slept. None: not at all."""
        before, wall, after = self._monotonic_ns(), self._wall_ns(), self._monotonic_ns()
        if after - before > _HELD_UP_NS:
            return None
        jump = (wall - after - self._offset_ns) / 1e9
        self._offset_ns = wall - after
        return jump if abs(jump) > JUMP_SECONDS else None

"""The recorder's clock: wall time at start plus monotonic time since, so that a clock step never bends a series."""

from __future__ import annotations

import time


class RecorderClock:
    """Microseconds since the epoch that never jump. `anchor_us` is the wall clock when it was made."""

    def __init__(self) -> None:
        self.anchor_us = time.time_ns() // 1000
        self._monotonic_ns = time.monotonic_ns()

    def now_us(self) -> int:
        """Now, in microseconds since the epoch."""
        return self.anchor_us + (time.monotonic_ns() - self._monotonic_ns) // 1000

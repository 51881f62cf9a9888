"""The clock of the store, which all recorders of a recording share, beside one's own."""

from __future__ import annotations

import contextlib
from typing import Protocol

from sanpath.model import Event
from sanpath.recording.reading.alignment import STORE_CLOCK
from sanpath.recording.storage.store import Store

EXACT_SECONDS = 0.1
SLOW_SECONDS = 5.0
"""A comparison that took longer tells nothing worth keeping."""


class Clock(Protocol):
    """One's own clock."""

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        ...


class StoreClock:
    """Compares the recorder's clock with that of the store, by writing a small file and asking when that was."""

    def __init__(self, store: Store, writer: str, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._name = f"writers/{writer}.clock"
        self._low, self._high = float("-inf"), float("inf")

    @property
    def exact(self) -> bool:
        """Whether more comparisons would add nothing."""
        return self._high - self._low <= EXACT_SECONDS

    @property
    def best_pause_seconds(self) -> float:
        """How long to wait so that the next comparison, to a store that tells whole seconds, tells most."""
        offset = (self._low + self._high) / 2
        return 1.0 - (self._clock.now_us() / 1e6 + offset) % 1.0

    def compare(self) -> Event | None:
        """The event that says what the comparison told; None: nothing. Raises OSError."""
        before = self._clock.now_us() / 1e6
        self._store.put(self._name, b"")
        after = self._clock.now_us() / 1e6
        told = self._store.written(self._name)
        with contextlib.suppress(OSError):  # It has told what it was for.
            self._store.delete(self._name)
        if told is None or after - before > SLOW_SECONDS:
            return None
        low, high = told[0] - after, told[1] - before
        self._low, self._high = max(low, self._low), min(high, self._high)
        if self._low > self._high:  # A clock was set: begin anew.
            self._low, self._high = low, high
        detail = {"offset_seconds": round((low + high) / 2, 6), "uncertainty_seconds": round((high - low) / 2, 6)}
        return Event(self._clock.now_us(), STORE_CLOCK, detail)

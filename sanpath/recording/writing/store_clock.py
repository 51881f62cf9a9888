"""Compares the recorder's clock with that of the store, which all recorders of a recording share."""

from __future__ import annotations

import contextlib
from typing import Protocol

from sanpath.model import Event
from sanpath.recording.reading.alignment import STORE_CLOCK
from sanpath.recording.storage.store import Store

EXACT_SECONDS = 0.1
"""An uncertainty that no further comparison has to reduce: polls are a second apart or more."""
SLOW_SECONDS = 5.0
"""A comparison that takes longer is too inaccurate to be recorded."""


class Clock(Protocol):
    """The local clock."""

    def now_us(self) -> int:
        """Return microseconds since the epoch."""
        ...


class StoreClock:
    """Compares two clocks by writing a small file to the store and reading its modification time."""

    def __init__(self, store: Store, writer: str, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._name = f"writers/{writer}.clock"
        self._low, self._high = float("-inf"), float("inf")

    @property
    def exact(self) -> bool:
        """Whether further comparisons would not improve the result."""
        return self._high - self._low <= EXACT_SECONDS

    @property
    def best_pause_seconds(self) -> float:
        """The best pause before the next comparison with a store whose times are whole seconds."""
        offset = (self._low + self._high) / 2
        return 1.0 - (self._clock.now_us() / 1e6 + offset) % 1.0

    def compare(self) -> Event | None:
        """Return the event with the result of a comparison; None: there is no result. Raises OSError."""
        before = self._clock.now_us() / 1e6
        self._store.put(self._name, b"")
        after = self._clock.now_us() / 1e6
        written_seconds = self._store.written(self._name)
        with contextlib.suppress(OSError):  # The file is no longer needed.
            self._store.delete(self._name)
        if written_seconds is None or after - before > SLOW_SECONDS:
            return None
        low, high = written_seconds[0] - after, written_seconds[1] - before
        self._low, self._high = max(low, self._low), min(high, self._high)
        if self._low > self._high:  # A clock was set: start again.
            self._low, self._high = low, high
        detail = {"offset_seconds": round((low + high) / 2, 6), "uncertainty_seconds": round((high - low) / 2, 6)}
        return Event(self._clock.now_us(), STORE_CLOCK, detail)

"""Whether this machine had a processor to spare while something was measured on it.

A lab of real I/O that waits for a processor is another lab: its array is slower than it was built, its link is not
filled. Virtual machines that share a host meet this at any moment, and what the kernel calls stolen shows only a part
of it. So what counts is how late a thread wakes that asked to sleep, as cyclictest measures it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeVar

import pytest

T = TypeVar("T")

ATTEMPTS = 3
SLEEP_SECONDS = 0.005
LATE_SECONDS = 0.5e-3
"""Mean delay from which on the machine was disturbed: a quarter of what an I/O takes the labs' array."""


class Lateness:
    """How late a thread woke. `mean_seconds`: over all sleeps so far; 0 before the first."""

    def __init__(self) -> None:
        self._late_seconds, self._sleeps = 0.0, 0

    @property
    def mean_seconds(self) -> float:
        return self._late_seconds / max(self._sleeps, 1)

    def measure(self, stop: Event) -> None:
        """Sleep again and again until `stop`."""
        while not stop.is_set():
            began = time.monotonic()
            time.sleep(SLEEP_SECONDS)
            self._late_seconds += time.monotonic() - began - SLEEP_SECONDS
            self._sleeps += 1


@contextmanager
def measure_lateness() -> Iterator[Lateness]:
    """Measured while the block runs."""
    found, stop = Lateness(), Event()
    thread = Thread(target=found.measure, args=(stop,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()


def measure_undisturbed(measured: Callable[[], T]) -> T:
    """What the first measurement gives during which the machine had a processor to spare; skips where none has."""
    for _ in range(ATTEMPTS):
        with measure_lateness() as found:
            result = measured()
        if found.mean_seconds <= LATE_SECONDS:
            return result
    pytest.skip(f"other work takes this machine's processors: a thread wakes {found.mean_seconds * 1e3:.1f} ms late")

"""The event queue of the simulation: a heap of scheduled calls, ordered by simulated time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeVarTuple

Ts = TypeVarTuple("Ts")


class EventQueue:
    """Simulated time in seconds since the start. Events of the same instant run in the order of scheduling."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._scheduled = 0

    def schedule(self, time: float, handler: Callable[[*Ts], None], *args: *Ts) -> None:
        """Call `handler` when the clock reaches `time`."""
        self._scheduled += 1
        heappush(self._heap, (time, self._scheduled, handler, args))

    def advance(self, until: float) -> None:
        """Run all events up to `until`. A time in the past has no effect."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, handler, args = heappop(heap)
            handler(*args)
        self.now = max(self.now, until)

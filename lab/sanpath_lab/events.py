"""The clock of the simulation: a heap of things that will happen, in order of simulated time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeVarTuple

Ts = TypeVarTuple("Ts")


class EventQueue:
    """Simulated time in seconds since the start. Events of the same instant happen in the order they were made."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._made = 0

    def at(self, time: float, handler: Callable[[*Ts], None], *args: *Ts) -> None:
        """Call `handler` when the clock reaches `time`."""
        self._made += 1
        heappush(self._heap, (time, self._made, handler, args))

    def advance(self, until: float) -> None:
        """Let everything up to `until` happen. A time that has passed already changes nothing."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, handler, args = heappop(heap)
            handler(*args)
        self.now = max(self.now, until)

"""A queue with a depth: it admits that many commands at a time, the others wait in order."""

from __future__ import annotations

from collections import deque

from sanpath_lab.physics.exchange import Exchange


class DepthQueue:
    """Admits `depth` commands at a time. Its integrals are monotonic; times are in simulated seconds."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.in_flight = 0
        self._waiting: deque[Exchange] = deque()
        self._in_flight_seconds = 0.0
        self._busy_seconds = 0.0
        self._accounted_until = 0.0

    def enter(self, exchange: Exchange, now: float) -> bool:
        """Admit a command or queue it. False: it waits until a `leave` returns it."""
        if self.in_flight == self.depth:
            self._waiting.append(exchange)
            return False
        self._account(now)
        self.in_flight += 1
        return True

    def leave(self, now: float) -> Exchange | None:
        """Complete a command. Returns the waiting command that is admitted in its place; None: nothing waits."""
        if self._waiting:
            return self._waiting.popleft()
        self._account(now)
        self.in_flight -= 1
        return None

    def in_flight_seconds(self, now: float) -> float:
        """Return the integral over time of the admitted commands that have not completed."""
        self._account(now)
        return self._in_flight_seconds

    def busy_seconds(self, now: float) -> float:
        """Return the total time with at least one admitted command that has not completed."""
        self._account(now)
        return self._busy_seconds

    def _account(self, now: float) -> None:
        if self.in_flight:
            passed_seconds = now - self._accounted_until
            self._in_flight_seconds += self.in_flight * passed_seconds
            self._busy_seconds += passed_seconds
        self._accounted_until = now

"""A queue with a depth: so many commands are let through at a time, the rest wait in order."""

from __future__ import annotations

from collections import deque

from sanpath_lab.exchange import Exchange


class DepthQueue:
    """Lets `depth` commands through. Its integrals grow monotonically; times are simulated seconds."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.in_flight = 0
        self._waiting: deque[Exchange] = deque()
        self._in_flight_seconds = 0.0
        self._busy_seconds = 0.0
        self._accounted_until = 0.0

    def enter(self, exchange: Exchange, now: float) -> bool:
        """True: let through. False: it waits here until a `leave` returns it."""
        if self.in_flight == self.depth:
            self._waiting.append(exchange)
            return False
        self._account(now)
        self.in_flight += 1
        return True

    def leave(self, now: float) -> Exchange | None:
        """One has completed; returns the one let through in its place, None when nothing waited."""
        if self._waiting:
            return self._waiting.popleft()
        self._account(now)
        self.in_flight -= 1
        return None

    def in_flight_seconds(self, now: float) -> float:
        """Integral over time of what is let through and not completed."""
        self._account(now)
        return self._in_flight_seconds

    def busy_seconds(self, now: float) -> float:
        """How long at least one was let through and not completed."""
        self._account(now)
        return self._busy_seconds

    def _account(self, now: float) -> None:
        if self.in_flight:
            self._in_flight_seconds += self.in_flight * (now - self._accounted_until)
            self._busy_seconds += now - self._accounted_until
        self._accounted_until = now

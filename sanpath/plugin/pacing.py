"""Devices that ask to wait, and requests that are made less often than polls."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.errors import CollectorError, Failure
from sanpath.plugin.connections import HttpReply

_MAX_WAIT_SECONDS = 300.0
"""A larger value is ignored: some devices send a time in seconds since 1970."""


class BusyError(CollectorError):
    """The device is overloaded, or has no free session. `wait_seconds`: how long it asks to wait; 0: not stated."""

    def __init__(self, message: str, wait_seconds: float) -> None:
        super().__init__(Failure.UNREACHABLE, message)
        self.wait_seconds = wait_seconds


def wait_seconds(reply: HttpReply, headers: Sequence[str] = ("retry-after",)) -> float:
    """Return the wait in seconds from the first of these headers that has one; 0: none has."""
    for header in headers:
        value = reply.headers.get(header, "").strip()
        if value.isdecimal() and float(value) <= _MAX_WAIT_SECONDS:
            return float(value)
    return 0.0


class LessOften:
    """Schedules a request that is not made with every poll. `every_seconds`: its interval."""

    def __init__(self, every_seconds: float, poll_seconds: float) -> None:
        # The grid of polls has jitter: half a poll early is better than a full poll late.
        self._wait_us = int(max(0.0, every_seconds - poll_seconds / 2) * 1e6)
        self._due_us = 0

    def is_due(self, now_us: int) -> bool:
        """Whether the interval since the last request is over; the first request is due immediately."""
        return now_us >= self._due_us

    def note(self, now_us: int) -> None:
        """Record that the request is made now."""
        self._due_us = now_us + self._wait_us

"""How long a request waits for its answer before it is sent again."""

from __future__ import annotations

_SLOWER = 4.0
"""Multiple of the slowest recent answer after which a datagram counts as lost. RFC 6298 waits for the mean and four
times the deviation, which is less."""
_LEAST_SECONDS = 0.5
"""Shortest wait: an agent that renews its counters is late for a moment."""
_FADING = 0.95
"""What is left of the slowest answer with each quicker one, so that a single late answer is forgotten."""


class RetransmissionTimer:
    """The waits of the requests to one agent. `timeout_seconds` and `retries`: as configured, for an agent that has
    not answered yet. A datagram to one that answers in milliseconds is lost long before that: else a network that
    loses one in fifty costs a poll of fifty requests seconds."""

    def __init__(self, timeout_seconds: float, retries: int) -> None:
        self._timeout, self._retries = timeout_seconds, retries
        self._slowest: float | None = None

    def waits(self) -> list[float]:
        """Seconds to wait after each time that a request is sent; together not longer than as configured."""
        if self._slowest is not None:
            short = max(_LEAST_SECONDS, _SLOWER * self._slowest)
            if 2 * short <= self._retries * self._timeout:
                return [short, short, self._timeout]
        return [self._timeout] * (1 + self._retries)

    def note(self, seconds: float) -> None:
        """Take note of the time of an answer to a request that was sent once."""
        self._slowest = max(seconds, _FADING * (self._slowest or 0.0))

"""The write cache of an array: admits writes while it has space, then as fast as it is destaged."""

from __future__ import annotations

from sanpath_lab.scenario import WriteCache


class WriteBuffer:
    """The dirty bytes of a write cache, destaged at a constant rate."""

    def __init__(self, cache: WriteCache) -> None:
        self._capacity, self._rate = cache.capacity_bytes, cache.destage_bytes_per_second
        self._dirty = 0.0
        self._since = 0.0

    def admit(self, arrival: float, payload_bytes: int) -> float:
        """Return when a write has space. Times are in simulated seconds; writes arrive in order."""
        start = max(arrival, self._since)
        self._empty_until(start)
        if (missing := self._dirty + payload_bytes - self._capacity) > 0:
            start += missing / self._rate
            self._empty_until(start)
        self._dirty += payload_bytes
        return start

    def _empty_until(self, moment: float) -> None:
        self._dirty = max(0.0, self._dirty - self._rate * (moment - self._since))
        self._since = moment

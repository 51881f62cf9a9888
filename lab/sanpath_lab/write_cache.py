"""The write cache of an array: writes are let in as long as there is room, and then as fast as it is emptied."""

from __future__ import annotations

from sanpath_lab.scenario import WriteCache


class WriteBuffer:
    """What has been let in and not yet been written to the media, bytes; it is emptied at a steady rate."""

    def __init__(self, cache: WriteCache) -> None:
        self._capacity, self._rate = cache.capacity_bytes, cache.destage_bytes_per_second
        self._dirty = 0.0
        self._since = 0.0

    def admit(self, at: float, payload_bytes: int) -> float:
        """When a write that comes at `at` has room, both in simulated seconds; in the order in which they come."""
        start = max(at, self._since)
        self._empty_until(start)
        if (missing := self._dirty + payload_bytes - self._capacity) > 0:
            start += missing / self._rate
            self._empty_until(start)
        self._dirty += payload_bytes
        return start

    def _empty_until(self, moment: float) -> None:
        self._dirty = max(0.0, self._dirty - self._rate * (moment - self._since))
        self._since = moment

"""The QoS limits of a volume: its I/Os are let through at the pace of the limits, those that come early wait."""

from __future__ import annotations

from sanpath_lab.scenario import Volume


class QosLimit:
    """One volume's. Without a burst allowance: an I/O goes on when the one before it has had its time."""

    def __init__(self, volume: Volume) -> None:
        self._seconds_per_byte = 1 / volume.bandwidth_limit if volume.bandwidth_limit else 0.0
        self._seconds_per_io = 1 / volume.iops_limit if volume.iops_limit else 0.0
        self._free_at = 0.0

    def admit(self, at: float, payload_bytes: int) -> float:
        """When an I/O that comes at `at` goes on, both in simulated seconds."""
        start = max(at, self._free_at)
        self._free_at = start + max(payload_bytes * self._seconds_per_byte, self._seconds_per_io)
        return start

"""The QoS limits of a volume: I/Os that arrive faster than the limits allow wait."""

from __future__ import annotations

from sanpath_lab.scenario import Volume


class QosLimit:
    """The QoS limits of one volume, without a burst allowance."""

    def __init__(self, volume: Volume) -> None:
        self._seconds_per_byte = 1 / volume.bandwidth_limit if volume.bandwidth_limit else 0.0
        self._seconds_per_io = 1 / volume.iops_limit if volume.iops_limit else 0.0
        self._free_at = 0.0

    def admit(self, arrival: float, payload_bytes: int) -> float:
        """Return when an I/O is admitted. Times are in simulated seconds."""
        start = max(arrival, self._free_at)
        self._free_at = start + max(payload_bytes * self._seconds_per_byte, self._seconds_per_io)
        return start

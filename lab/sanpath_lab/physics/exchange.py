"""A SCSI exchange: its payload, its route and the times that the layers record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanpath_lab.physics.fabric import Route
    from sanpath_lab.scenario import Direction


class Exchange:
    """One I/O. Times are in simulated seconds. The object is reused for the next I/O of its slot."""

    __slots__ = (
        "admitted",
        "direction",
        "issued",
        "on_response",
        "payload_bytes",
        "qos_limit_seconds",
        "queue_seconds",
        "route",
        "sent",
        "service_seconds",
        "transfer_ready",
        "volume",
    )

    def __init__(
        self,
        direction: Direction,
        payload_bytes: int,
        route: Route,
        on_response: Callable[[Exchange], None],
        volume: str = "",
    ) -> None:
        self.direction: Direction = direction
        self.payload_bytes = payload_bytes
        self.route = route
        self.on_response = on_response
        self.volume = volume
        self.issued = 0.0
        """When the load generator issued it."""
        self.admitted = 0.0
        """When the queue of the guest's disk admitted it."""
        self.sent = 0.0
        """When the host's driver sent the command."""
        self.qos_limit_seconds = 0.0
        """Wait for a QoS limit of the array."""
        self.queue_seconds = 0.0
        """Wait in queues of the array."""
        self.service_seconds = 0.0
        """Service time in the array."""
        self.transfer_ready = 0.0
        """When the array had the data to send, or was ready to receive them."""

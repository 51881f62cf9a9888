"""One SCSI exchange on its way: what it carries and the instants that the layers take note of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanpath_lab.fabric import Route
    from sanpath_lab.scenario import Direction


class Exchange:
    """One I/O. Instants are simulated seconds; the object is used again for the next I/O of its slot."""

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
        """The load generator hands it over."""
        self.admitted = 0.0
        """The guest's disk accepts it."""
        self.sent = 0.0
        """The host's driver sends the command."""
        self.qos_limit_seconds = 0.0
        """Wait at the array for a QoS limit."""
        self.queue_seconds = 0.0
        """Wait inside the array."""
        self.service_seconds = 0.0
        """Work of the array on it."""
        self.transfer_ready = 0.0
        """The array has the data to send, or is ready to take them."""

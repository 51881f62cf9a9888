"""A SCSI exchange: its payload, its route and the times that the layers record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanpath_lab.physics.fabric import Route
    from sanpath_lab.scenario import Direction


@dataclass(slots=True, eq=False)
class Exchange:
    """One I/O. Times are in simulated seconds. The object is reused for the next I/O of its slot."""

    direction: Direction
    payload_bytes: int
    route: Route
    on_response: Callable[[Exchange], None]
    volume: str = ""
    issued: float = 0.0
    """When the load generator issued it."""
    admitted: float = 0.0
    """When the queue of the guest's disk admitted it."""
    sent: float = 0.0
    """When the host's driver sent the command."""
    qos_limit_seconds: float = 0.0
    """Wait for a QoS limit of the array."""
    queue_seconds: float = 0.0
    """Wait in queues of the array."""
    service_seconds: float = 0.0
    """Service time in the array."""
    transfer_ready: float = 0.0
    """When the array had the data to send, or was ready to receive them."""

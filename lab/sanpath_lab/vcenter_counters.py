"""What a simulated ESXi host counts of its I/O: a sample of each path every 20 s, as a real one keeps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from sanpath_lab.array_model import Nexus
from sanpath_lab.events import EventQueue
from sanpath_lab.exchange import Exchange

SAMPLE_SECONDS = 20
"""An ESXi host samples itself every 20 s, and keeps an hour of it (vSphere Monitoring, Data Collection Intervals)."""
KEPT_SAMPLES = 3600 // SAMPLE_SECONDS


@dataclass(slots=True)
class WayTotals:
    """Completed commands of one path and direction in one interval.

    `device_seconds`: from the driver to the response (DAVG), `queue_seconds`: in the LUN's queue before (QAVG, which
    is all of KAVG here); each the sum over the commands. `aborted`: those that had to be done again.
    """

    ops: int = 0
    bytes: int = 0
    device_seconds: float = 0.0
    queue_seconds: float = 0.0
    aborted: int = 0

    @property
    def guest_seconds(self) -> float:
        """From the virtual disk to the response (GAVG), the sum over the commands."""
        return self.device_seconds + self.queue_seconds


def together(parts: Iterable[WayTotals]) -> WayTotals:
    """The sum."""
    found = WayTotals()
    for part in parts:
        found.ops += part.ops
        found.bytes += part.bytes
        found.device_seconds += part.device_seconds
        found.queue_seconds += part.queue_seconds
        found.aborted += part.aborted
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """An interval that ended at `second`, seconds since the epoch; a path without commands is not there."""

    second: int
    ways: dict[Nexus, WayTotals]


class HypervisorCounters:
    """`samples` has one every 20 s at :00, :20 and :40 of the host's clock, newest last."""

    def __init__(self, events: EventQueue, epoch_seconds: float, timeout_seconds: float) -> None:
        self._events, self._epoch_seconds, self._timeout_seconds = events, epoch_seconds, timeout_seconds
        self._ways: dict[Nexus, WayTotals] = {}
        self.samples: deque[Sample] = deque(maxlen=KEPT_SAMPLES)
        self._next_sample(int(epoch_seconds) // SAMPLE_SECONDS * SAMPLE_SECONDS)

    def completed(self, exchange: Exchange, now: float) -> None:
        """The response to a command has arrived."""
        route = exchange.route
        nexus = Nexus(route.initiator, route.target, exchange.direction)
        if (totals := self._ways.get(nexus)) is None:
            totals = self._ways[nexus] = WayTotals()
        totals.ops += 1
        totals.bytes += exchange.payload_bytes
        totals.device_seconds += now - exchange.sent
        totals.queue_seconds += exchange.sent - exchange.admitted
        totals.aborted += now - exchange.sent >= self._timeout_seconds

    def _next_sample(self, ended: int) -> None:
        second = ended + SAMPLE_SECONDS
        self._events.at(second - self._epoch_seconds, self._take_sample, second)

    def _take_sample(self, second: int) -> None:
        self.samples.append(Sample(second, self._ways))
        self._ways = {}
        self._next_sample(second)

"""Counters of a simulated ESXi host: a sample of each path every 20 s, as on a real host."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from sanpath_lab.physics.array_model import Nexus
from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange

SAMPLE_SECONDS = 20
"""An ESXi host samples every 20 s and retains an hour (vSphere Monitoring, Data Collection Intervals)."""
RETAINED_SAMPLES = 3600 // SAMPLE_SECONDS


@dataclass(slots=True)
class PathTotals:
    """Completed commands of one path and direction in one interval.

    `device_seconds`: sum of times from the driver to the response (DAVG). `queue_seconds`: sum of times in the LUN
    queue before it (QAVG, which is all of KAVG in the simulation). `aborted`: commands that had to be repeated.
    """

    ops: int = 0
    bytes: int = 0
    device_seconds: float = 0.0
    queue_seconds: float = 0.0
    aborted: int = 0

    @property
    def guest_seconds(self) -> float:
        """Sum of times from the virtual disk to the response (GAVG)."""
        return self.device_seconds + self.queue_seconds


def total(addends: Iterable[PathTotals]) -> PathTotals:
    """Return the sum of totals."""
    result = PathTotals()
    for addend in addends:
        result.ops += addend.ops
        result.bytes += addend.bytes
        result.device_seconds += addend.device_seconds
        result.queue_seconds += addend.queue_seconds
        result.aborted += addend.aborted
    return result


@dataclass(frozen=True, slots=True)
class Sample:
    """An interval that ended at `second`, in seconds since the epoch. Paths without commands are left out."""

    second: int
    totals_by_nexus: dict[Nexus, PathTotals]


class HypervisorCounters:
    """`samples`: one at :00, :20 and :40 of each minute of the host's clock, newest last."""

    def __init__(self, events: EventQueue, epoch_seconds: float, timeout_seconds: float) -> None:
        self._events, self._epoch_seconds, self._timeout_seconds = events, epoch_seconds, timeout_seconds
        self._totals_by_nexus: dict[Nexus, PathTotals] = {}
        self.samples: deque[Sample] = deque(maxlen=RETAINED_SAMPLES)
        self._next_sample(int(epoch_seconds) // SAMPLE_SECONDS * SAMPLE_SECONDS)

    def completed(self, exchange: Exchange, now: float) -> None:
        """Count a command whose response has arrived."""
        route = exchange.route
        nexus = Nexus(route.initiator, route.target, exchange.direction)
        if (totals := self._totals_by_nexus.get(nexus)) is None:
            totals = self._totals_by_nexus[nexus] = PathTotals()
        totals.ops += 1
        totals.bytes += exchange.payload_bytes
        totals.device_seconds += now - exchange.sent
        totals.queue_seconds += exchange.sent - exchange.admitted
        totals.aborted += now - exchange.sent >= self._timeout_seconds

    def _next_sample(self, ended: int) -> None:
        second = ended + SAMPLE_SECONDS
        self._events.schedule(second - self._epoch_seconds, self._take_sample, second)

    def _take_sample(self, second: int) -> None:
        self.samples.append(Sample(second, self._totals_by_nexus))
        self._totals_by_nexus = {}
        self._next_sample(second)

"""Protects the others: a probe stops when the latency of a volume that it does not use has grown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.probe.plan import Guard

_LEAST_OPS_PER_SECOND = 5.0
"""A mean over fewer I/Os is chance."""


@dataclass(frozen=True, slots=True)
class OtherLoad:
    """What other hosts do on one volume: I/Os a second, and their mean latency in seconds."""

    ops_per_second: float
    latency_seconds: float


@dataclass(frozen=True, slots=True)
class Trip:
    """A volume whose latency has grown, from before the probe to now, in seconds."""

    entity: str
    before_seconds: float
    now_seconds: float

    @property
    def in_words(self) -> str:
        """What has grown, for people."""
        return (
            f"{self.entity} is used by other hosts, and their latency grew from {1000 * self.before_seconds:.2f} to "
            f"{1000 * self.now_seconds:.2f} ms"
        )


def tripped(guard: Guard, before: Mapping[str, OtherLoad], now: Mapping[str, OtherLoad]) -> Trip | None:
    """The volume whose latency has grown most beyond the limit. None: none has."""
    trips = [
        Trip(entity, earlier.latency_seconds, current.latency_seconds)
        for entity, earlier in before.items()
        if (current := now.get(entity)) is not None
        and min(earlier.ops_per_second, current.ops_per_second) >= _LEAST_OPS_PER_SECOND
        and current.latency_seconds > (1 + guard.growth_ratio) * earlier.latency_seconds
        and current.latency_seconds - earlier.latency_seconds > guard.least_seconds
    ]
    return max(trips, key=lambda trip: trip.now_seconds / trip.before_seconds, default=None)

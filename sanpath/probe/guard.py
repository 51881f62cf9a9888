"""Protects other users of the storage: a probe stops if a volume that it does not use becomes slower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.facts.storage.other_loads import MIN_OPS_PER_SECOND, OtherLoad, volumes_of_others
from sanpath.probe.plan import Guard
from sanpath.recording.reading.recording import Recording
from sanpath.units import duration, iops

_WATCHED_US = 10_000_000
"""The latency of the others is a mean over at most this time: a few polls of an array."""
_MAX_SHOWN = 3
"""Maximum volumes that are shown."""


@dataclass(frozen=True, slots=True)
class Trip:
    """A volume whose latency has grown: in seconds, before the probe and now."""

    entity: str
    before_seconds: float
    now_seconds: float

    @property
    def in_words(self) -> str:
        """The growth in words."""
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
        and min(earlier.ops_per_second, current.ops_per_second) >= MIN_OPS_PER_SECOND
        and current.latency_seconds > (1 + guard.growth_ratio) * earlier.latency_seconds
        and current.latency_seconds - earlier.latency_seconds > guard.least_seconds
    ]
    return max(trips, key=lambda trip: trip.now_seconds / trip.before_seconds, default=None)


@dataclass(frozen=True, slots=True)
class Watch:
    """Watches a running step. `before`: the I/O of others before the probe; empty: there is none."""

    guard: Guard
    before: Mapping[str, OtherLoad]

    def trip(self, recording: Recording, began_us: int, now_us: int) -> Trip | None:
        """The volume whose latency has grown most since the step began. None: none has, or nothing was read yet.

        Times are in microseconds of the recorder's clock. Samples from before the step would hide its effect.
        """
        if not self.before:
            return None
        now = volumes_of_others(recording, max(began_us, now_us - _WATCHED_US), now_us)
        return tripped(self.guard, self.before, now)

    def renewed(self, now: Mapping[str, OtherLoad]) -> Watch:
        """The watch with a later pause as reference, if that pause has measured a volume."""
        return Watch(self.guard, {**self.before, **now})

    @property
    def neighbours(self) -> list[str]:
        """The I/O of other hosts in the last pause: the busiest volumes, a line each."""
        busiest = sorted(self.before.items(), key=lambda item: -item[1].ops_per_second)[:_MAX_SHOWN]
        return [f"{entity}: {iops(o.ops_per_second)}, {duration(o.latency_seconds)}" for entity, o in busiest]

    def changes(self, recording: Recording, began_us: int, ended_us: int) -> list[str]:
        """I/O and latency of these volumes in the pause and in a step, a line each, the largest growth of latency
        first. Volumes with too few I/Os for a reliable mean are left out."""
        now = volumes_of_others(recording, began_us, ended_us) if self.before else {}
        both = [
            (entity, before, now[entity])
            for entity, before in self.before.items()
            if entity in now and min(before.ops_per_second, now[entity].ops_per_second) >= MIN_OPS_PER_SECOND
        ]
        both.sort(key=lambda volume: volume[1].latency_seconds / volume[2].latency_seconds)
        return [
            f"{entity}: {iops(before.ops_per_second)} in the pause, {iops(after.ops_per_second)} in this step; "
            f"{duration(before.latency_seconds)}, {duration(after.latency_seconds)}"
            for entity, before, after in both[:_MAX_SHOWN]
        ]

"""A changed configuration: the settings of `whatif`, or the relief of a bottleneck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sanpath.catalogue.link_capacity import Capacity


@dataclass(frozen=True, slots=True)
class Policy:
    """The path policy of a LUN. None: as recorded. `switch_operations`: I/Os on one path before the next path."""

    name: str | None = None
    switch_operations: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The differences from the recorded configuration. Everything else is as recorded.

    `speeds`: link → its speed. `slots`: lun, vdisk → number of I/Os that it admits, infinite: it holds none back.
    `policies`: lun → its path policy. `caps`: (volume or vdisk, unit) → its limit, infinite: lifted. `in_flight`:
    number of I/Os that the load keeps in flight, both directions. `lifted`: entities that no longer limit. `evenly`:
    parallel links carry equal shares, which may not be so in a short step.
    """

    speeds: Mapping[str, Capacity] = field(default_factory=dict)
    slots: Mapping[str, float] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    caps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    in_flight: float | None = None
    lifted: frozenset[str] = frozenset()
    evenly: bool = False

    def __or__(self, other: Change) -> Change:
        """Combine both changes. `other` wins if they differ."""
        return Change(
            {**self.speeds, **other.speeds},
            {**self.slots, **other.slots},
            {**self.policies, **other.policies},
            {**self.caps, **other.caps},
            self.in_flight if other.in_flight is None else other.in_flight,
            self.lifted | other.lifted,
            self.evenly or other.evenly,
        )


UNCHANGED = Change()

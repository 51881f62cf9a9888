"""A changed configuration: what `whatif` sets, and what relieving a bottleneck means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sanpath.catalogue.capacity import Capacity


@dataclass(frozen=True, slots=True)
class Policy:
    """How the paths of a LUN are used. None: as recorded. `switch_operations`: I/Os down one path before the next."""

    name: str | None = None
    switch_operations: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What differs from the recorded configuration; anything not named is as recorded.

    `speeds`: link → its speed. `slots`: lun, vdisk → I/Os that it admits, infinite: it holds none back. `policies`:
    lun → how its paths are used. `caps`: (volume or vdisk, unit) → its limit, infinite: lifted. `in_flight`: I/Os
    that the load keeps in flight, both directions. `lifted`: entities that no longer limit. `evenly`: parallel links
    carry equal shares, which they may not have done in a short step.
    """

    speeds: Mapping[str, Capacity] = field(default_factory=dict)
    slots: Mapping[str, float] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    caps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    in_flight: float | None = None
    lifted: frozenset[str] = frozenset()
    evenly: bool = False

    def __or__(self, other: Change) -> Change:
        """Both changes at once; `other` wins where they differ."""
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

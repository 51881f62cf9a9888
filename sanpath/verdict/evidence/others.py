"""What the load costs other hosts: how long their I/Os take beside it, over how long they take in a pause of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.storage.other_loads import OtherLoad, loads_of_others
from sanpath.facts.storage.pauses import Pause

_LEAST_OPS_PER_SECOND = 5.0
"""A mean over fewer I/Os is chance."""


@dataclass(frozen=True, slots=True)
class OthersCompared:
    """Other hosts on the arrays of a load: their I/Os a second in the pause, and how long one takes, in seconds.

    Both means are weighted by the I/Os of the pause, so that their ratio is no change of the mix.
    """

    ops_per_second: float
    paused_seconds: float
    loaded_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as long an I/O takes beside the load."""
        return self.loaded_seconds / self.paused_seconds


def others_in(facts: Facts, step: str, arrays: Sequence[str]) -> Mapping[str, OtherLoad]:
    """Volume → what other hosts do on it in a step, on these arrays. `arrays`: empty: on any."""
    rows = facts.tables["volume"].select(step=step)
    found = loads_of_others(facts.topology, rows)
    return {
        volume: other
        for volume, other in found.items()
        if other.ops_per_second >= _LEAST_OPS_PER_SECOND
        and (not arrays or not set(arrays).isdisjoint(facts.topology.related(volume, "member_of", "array")))
    }


def compare_others(facts: Facts, step: str, arrays: Sequence[str], pause: Pause) -> OthersCompared | None:
    """Compare a step with a pause. None: no volume of others was measured in both."""
    both = [
        (before, other)
        for volume, other in others_in(facts, step, arrays).items()
        if (before := pause.volumes.get(volume)) is not None and before.ops_per_second >= _LEAST_OPS_PER_SECOND
    ]
    ops = sum(before.ops_per_second for before, _ in both)
    paused = sum(before.ops_per_second * before.latency_seconds for before, _ in both)
    loaded = sum(before.ops_per_second * other.latency_seconds for before, other in both)
    return OthersCompared(ops, paused / ops, loaded / ops) if ops and paused else None

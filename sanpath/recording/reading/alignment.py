"""One clock for a recording of several recorders: that of the recorder that ran the load, else of the first.

Each recorder compares its clock with that of the store they all write to, and says so in `store-clock` events. Two of
them differ by the difference of their offsets; what one of them dated is moved by it when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.recording.format.writers import Start

STORE_CLOCK = "store-clock"
"""The event of a recorder that has compared its clock with the store's: `offset_seconds`, the store's clock minus
its own, and `uncertainty_seconds`."""

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Aligned:
    """`seconds`: the clock of one start of a recorder minus the recording's, give or take `uncertainty_seconds`."""

    seconds: float
    uncertainty_seconds: float

    @property
    def shift_us(self) -> int:
        """What is added to its times: nothing while the two clocks may be the same."""
        return 0 if abs(self.seconds) <= self.uncertainty_seconds else -round(self.seconds * 1e6)


def aligned(starts: Sequence[Start], compared: Mapping[str, Sequence[Bounds]]) -> dict[str, Aligned]:
    """Writer → how its clock lies to the recording's; those that cannot be told are left out. `compared`: writer →
    bounds of the store's clock minus its own, one a comparison."""
    known = {writer: _agreed(bounds) for writer, bounds in compared.items() if bounds}
    reference = reference_of(starts)
    if reference is None or reference.writer not in known:
        return {}
    low, high = known[reference.writer]
    found = {}
    for writer, (own_low, own_high) in known.items():
        # Its clock minus ours = (the store's minus ours) - (the store's minus its own).
        least, most = low - own_high, high - own_low
        same = writer == reference.writer
        found[writer] = Aligned(0.0, 0.0) if same else Aligned((least + most) / 2, (most - least) / 2)
    return found


def reference_of(starts: Sequence[Start]) -> Start | None:
    """The start whose clock is the recording's. None: no recorder has written."""
    recorders = sorted((s for s in starts if s.header.recorder), key=lambda s: s.header.started_us)
    return next((s for s in recorders if s.header.load_command), recorders[0] if recorders else None)


def _agreed(bounds: Sequence[Bounds]) -> Bounds:
    """What all comparisons agree on; all that they say where a clock has drifted and they do not agree."""
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    return (low, high) if low <= high else (min(low for low, _ in bounds), max(high for _, high in bounds))

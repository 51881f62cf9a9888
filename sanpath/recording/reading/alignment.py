"""Puts the times of several recorders on one clock: that of the recorder that ran the load, else of the first one.

Each recorder compares its clock with that of the shared store and records the result as `store-clock` events. Two
recorders' clocks differ by the difference of their offsets; readers shift the times of a recorder by that difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanpath.recording.format.recorder_starts import Start

STORE_CLOCK = "store-clock"
"""The event of a recorder that has compared its clock with the store's.

Its details are `offset_seconds`, the store's clock minus the recorder's clock, and `uncertainty_seconds`.
"""

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The offset of one recorder start: its clock minus the recording's clock, within ± `uncertainty_seconds`."""

    seconds: float
    uncertainty_seconds: float

    @property
    def shift_us(self) -> int:
        """Microseconds to add to its times; 0 while the two clocks may agree within the uncertainty."""
        return 0 if abs(self.seconds) <= self.uncertainty_seconds else -round(self.seconds * 1e6)


def aligned(starts: Sequence[Start], compared: Mapping[str, Sequence[Bounds]]) -> dict[str, ClockOffset]:
    """Return writer → offset of its clock from the recording's clock; writers without a comparison are missing.

    `compared`: writer → bounds of the store's clock minus the writer's clock, a pair for each comparison.
    """
    bounds_by_writer = {writer: _intersection(bounds) for writer, bounds in compared.items() if bounds}
    reference = reference_start(starts)
    if reference is None or reference.writer not in bounds_by_writer:
        return {}
    low, high = bounds_by_writer[reference.writer]
    alignment = {}
    for writer, (writer_low, writer_high) in bounds_by_writer.items():
        # Writer minus reference = (store minus reference) - (store minus writer).
        smallest, largest = low - writer_high, high - writer_low
        is_reference = writer == reference.writer
        alignment[writer] = (
            ClockOffset(0.0, 0.0) if is_reference else ClockOffset((smallest + largest) / 2, (largest - smallest) / 2)
        )
    return alignment


def reference_start(starts: Sequence[Start]) -> Start | None:
    """Return the start whose clock is the recording's clock. None: no recorder has written."""
    recorders = sorted(
        (start for start in starts if start.header.recorder), key=lambda start: start.header.started_us
    )
    return next((start for start in recorders if start.header.load_command), recorders[0] if recorders else None)


def _intersection(bounds: Sequence[Bounds]) -> Bounds:
    """Return the intersection of all comparisons; their union if a clock has drifted and there is no intersection."""
    low, high = max(low for low, _ in bounds), min(high for _, high in bounds)
    return (low, high) if low <= high else (min(low for low, _ in bounds), max(high for _, high in bounds))

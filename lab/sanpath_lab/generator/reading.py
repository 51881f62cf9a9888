"""Which sources of a drawn SAN are read, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

Source = Literal["array", "switches", "host"]
"""All arrays; all switches; the block-device statistics of the host's disks."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Which sources are read, and how often.

    `unread`: sources that are not read. `switch_seconds`, `array_seconds`: interval between polls; None: the usual
    one. `measured_seconds`: measured length of a step, long enough for whole polling windows.
    """

    unread: frozenset[Source] = frozenset()
    switch_seconds: float | None = None
    array_seconds: float | None = None
    measured_seconds: float = 8.0


EVERYTHING = Reading()
_COARSE = ((5.0, 10.0, 24.0), (10.0, 30.0, 44.0))
"""Poll interval of switches, poll interval of arrays and length of a step, in seconds."""


def draw_reading(random: Random) -> Reading:
    """Draw a reading: mostly everything, otherwise one source is unread or polls are rare."""
    roll = random.random()
    if roll < 0.65:
        return Reading()
    if roll < 0.83:
        return Reading(unread=frozenset((random.choice(("array", "switches", "host")),)))
    return Reading(frozenset(), *random.choice(_COARSE))

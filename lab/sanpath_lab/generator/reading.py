"""What of a drawn SAN is read, and how coarsely."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

Source = Literal["array", "switches", "host"]
"""The arrays; the switches; the clock of the host's disks."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`unread`: what nobody reads. Seconds between two polls of a switch and of an array, None: as few as usual.
    `measured_seconds`: how long a step is measured, so that it holds whole windows of them."""

    unread: frozenset[Source] = frozenset()
    switch_seconds: float | None = None
    array_seconds: float | None = None
    measured_seconds: float = 8.0


EVERYTHING = Reading()
_COARSE = ((5.0, 10.0, 24.0), (10.0, 30.0, 44.0))
"""Seconds between polls of switches, between those of arrays, and of a step."""


def read_how(random: Random) -> Reading:
    """Mostly everything; of the rest one source is unread, or polls are far apart."""
    roll = random.random()
    if roll < 0.65:
        return Reading()
    if roll < 0.83:
        return Reading(unread=frozenset((random.choice(("array", "switches", "host")),)))
    return Reading(frozenset(), *random.choice(_COARSE))

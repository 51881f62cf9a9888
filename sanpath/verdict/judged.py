"""What a judgement of one step and direction is, and what all judges share."""

from __future__ import annotations

from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.verdict.budget import device_of
from sanpath.verdict.model import Bottleneck, Grade, Kind, Next

WINDOWS = 4
"""Whole windows that a grade better than C needs."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What limits one direction of one step.

    `following`: what would limit next; None: nothing says. `decide_with`: the measurement that would decide what
    cannot be told. `windows`: whole windows of the slowest source.
    """

    load: LoadFacts
    kind: Kind
    grade: Grade
    bottlenecks: tuple[Bottleneck, ...] = ()
    because: tuple[str, ...] = ()
    decide_with: str | None = None
    windows: int = 0
    following: Next | None = None

    @property
    def limiter(self) -> str | None:
        """The saturated element, None when there is none."""
        return self.bottlenecks[0].entity if self.kind == "bottleneck" and self.bottlenecks else None


def graded(best: Grade, windows: int) -> Grade:
    """A grade that enough windows bear out, else C."""
    return best if windows >= WINDOWS else "C"


def throttle(facts: Facts, load: LoadFacts) -> tuple[str, float] | None:
    """The block device whose queue holds most of the I/Os back, and how many it lets through; None: there is none."""
    device = device_of(facts, load)
    if device is None or number(device, "in_flight_measured") >= load.in_flight_measured / 2:
        return None
    return str(device["entity"]), number(device, "in_flight_measured")


def wait_at(facts: Facts, load: LoadFacts, limiter: str) -> str:
    """Where most of the wait is held: above the block device when the load keeps more in flight than it admits."""
    held = throttle(facts, load)
    return held[0] if held is not None else limiter

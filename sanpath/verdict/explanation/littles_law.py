"""Little's law as a sentence, and the throughput that it is about: of a mix never one direction for the whole."""

from __future__ import annotations

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.verdict.units import count, duration, iops

_ALONE = 0.99
"""A direction with at least this share of the operations is the whole test."""


def throughput(facts: Facts, load: LoadFacts) -> str:
    """What the step gave: of a mix the direction's part and the whole, never one for the other."""
    whole = _whole(facts, load)
    if load.ops_per_second >= _ALONE * whole:
        return iops(whole)
    return f"{load.ops_per_second:,.0f} {load.direction}s a second of {iops(whole)}"


def little(facts: Facts, load: LoadFacts) -> str:
    """R = N / X with both numbers; of a mix those of the direction (Little's law holds for each)."""
    flying = count(load.in_flight_measured)
    if load.ops_per_second >= _ALONE * _whole(facts, load):
        return f"{duration(load.latency_seconds)} is {flying} in flight / {iops(load.ops_per_second)}"
    of = f"{load.direction}s"
    return f"{duration(load.latency_seconds)} is {flying} {of} in flight / {load.ops_per_second:,.0f} {of} a second"


def _whole(facts: Facts, load: LoadFacts) -> float:
    return sum(other.ops_per_second for other in facts.loads if other.step == load.step)

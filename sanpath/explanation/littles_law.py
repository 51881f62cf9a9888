"""Little's law as a sentence, and the throughput of a step; the figure of one direction never stands for a mix."""

from __future__ import annotations

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.units import count, duration, iops

_SINGLE_DIRECTION = 0.99
"""A direction with at least this share of the operations stands for the test."""


def throughput(facts: Facts, load: LoadFacts) -> str:
    """The throughput of a step: for a mix the direction's and the total."""
    total = facts.ops_per_second_in(load.step)
    if load.ops_per_second >= _SINGLE_DIRECTION * total:
        return iops(total)
    return f"{load.ops_per_second:,.0f} {load.direction}s a second of {iops(total)}"


def little(facts: Facts, load: LoadFacts) -> str:
    """R = N / X with both numbers; for a mix those of the direction, because Little's law holds for each."""
    in_flight = count(load.in_flight_measured)
    if load.ops_per_second >= _SINGLE_DIRECTION * facts.ops_per_second_in(load.step):
        return f"{duration(load.latency_seconds)} is {in_flight} outstanding I/Os / {iops(load.ops_per_second)}"
    plural = f"{load.direction}s"
    rate = f"{load.ops_per_second:,.0f} {plural} a second"
    return f"{duration(load.latency_seconds)} is {in_flight} outstanding {plural} / {rate}"

"""How throughput follows the I/Os in flight around a step: d ln X / d ln N towards fewer and towards more of them.

One where nothing waits (Little's law at constant latency), zero where something is saturated (operational analysis,
Denning and Buzen 1978), below zero where more load makes the others slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, isclose, log

from sanpath.facts.load.loads import LoadFacts, flat_over_load
from sanpath.verdict.units import count, iops, percent

_APART = 1.3
"""Steps whose I/Os in flight differ by less tell nothing."""
_CHANCE = 0.02
"""Relative: steadier than this no step is when it is run again."""
_SAME_MIX = 0.05
_AS_MANY = 0.8
"""As many in flight, as measured: where everything slows down, less is in flight for the same setting."""
_COLLAPSED = 1.5
"""Throughput before over after from which on more load has made it fall: runs of one test differ by far less."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Elasticity between two steps. `error`: its standard error; `other`: the step it was taken with."""

    elasticity: float
    error: float
    other: LoadFacts


@dataclass(frozen=True, slots=True)
class Scaling:
    """Towards the next step with fewer, and with more of the same I/Os in flight; None: there is none."""

    fewer: Slope | None
    more: Slope | None


def scaling(loads: Sequence[LoadFacts], load: LoadFacts) -> Scaling:
    """The slopes around a step."""
    same = [other for other in loads if other.step != load.step and alike(loads, load, other)]
    fewer = [other for other in same if other.in_flight_measured * _APART <= load.in_flight_measured]
    more = [other for other in same if other.in_flight_measured >= load.in_flight_measured * _APART]
    return Scaling(
        _slope(load, max(fewer, key=lambda o: o.in_flight_measured, default=None)),
        _slope(load, min(more, key=lambda o: o.in_flight_measured, default=None)),
    )


def alike(loads: Sequence[LoadFacts], load: LoadFacts, other: LoadFacts) -> bool:
    """Whether two loads are the same I/O in the same mix of directions, but for its number."""
    return other.comparable(load) and isclose(
        _part_of_step(loads, other), _part_of_step(loads, load), abs_tol=_SAME_MIX
    )


def in_words(loads: Sequence[LoadFacts], load: LoadFacts) -> Iterator[str]:
    """That something limits, by what throughput does as the load grows; nothing where it grows too."""
    for other in loads:
        if other.step == load.step or not other.comparable(load):
            continue
        after, before = sorted((load, other), key=lambda each: each.ops_per_second)
        no_fewer = after.in_flight_measured >= _AS_MANY * before.in_flight_measured
        if no_fewer and before.ops_per_second >= _COLLAPSED * after.ops_per_second:
            slower = after.latency_seconds / before.latency_seconds
            yield (
                f"throughput falls from {iops(before.ops_per_second)} to {iops(after.ops_per_second)} while an I/O "
                f"takes {slower:.1f} times as long: what lies below collapses, it is no plateau"
            )
            return
    if (calm := flat_over_load(loads, load)) is not None:
        times, more = load.in_flight_measured / calm.in_flight_measured, load.ops_per_second / calm.ops_per_second - 1
        yield (
            f"throughput stands still from {count(calm.in_flight_measured)} in flight on, {times:.1f} times as many "
            f"bring {percent(more)}: something limits"
        )


def _part_of_step(loads: Sequence[LoadFacts], load: LoadFacts) -> float:
    return load.ops_per_second / sum(other.ops_per_second for other in loads if other.step == load.step)


def _slope(load: LoadFacts, other: LoadFacts | None) -> Slope | None:
    if other is None:
        return None
    apart = log(load.in_flight_measured / other.in_flight_measured)
    chance = max(_CHANCE, hypot(load.throughput_spread or 0.0, other.throughput_spread or 0.0))
    return Slope(log(load.ops_per_second / other.ops_per_second) / apart, chance / abs(apart), other)

"""Throughput over outstanding I/Os, one curve for each direction, block size and group of loads.

A curve still rises, is a plateau, or collapses. A plateau is a property of X(N), never of a flat line over time.
Throughput that falls while latency grows is no plateau but retrograde: past its peak every further I/O slows the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isclose, log2

from sanpath.diagnosis.model import Curve, CurvePoint, Knee, Shape
from sanpath.explanation.scalability import FEWEST, fit_scalability
from sanpath.facts.load.loads import FLAT, LoadFacts
from sanpath.topology.paths import machine_of
from sanpath.topology.topology import Topology
from sanpath.units import count, counted, duration, iops, outstanding, percent_rounded

_NEARLY_FLAT = 0.15
"""Most that throughput gains on a plateau, however many more I/Os are outstanding."""
_LEAST_CHANGE = 0.03
"""A smaller relative change is chance, however steady the steps were."""
_SAME_LOAD = 0.02
"""Numbers in flight with a smaller relative difference count as the same."""
_WIDE = 4.0
"""Ratio of the ends of a knee's interval from which the knee is unknown."""


def curves(topology: Topology, loads: Sequence[LoadFacts]) -> tuple[Curve, ...]:
    """The curves of a run, the one with the highest throughput first."""
    groups: list[list[LoadFacts]] = []
    for load in loads:
        matching = next(
            (group for group in groups if group[0].comparable(load) and _one_load(topology, group, load)), None
        )
        if matching is None:
            groups.append([load])
        else:
            matching.append(load)
    result = [_curve(sorted(group, key=lambda load: load.in_flight_measured)) for group in groups]
    return tuple(sorted(result, key=lambda curve: -max(p.ops_per_second for p in curve.points)))


def _one_load(topology: Topology, group: Sequence[LoadFacts], load: LoadFacts) -> bool:
    """Whether a load continues the others: it has the same name, or it ran on the same machine, before or after them.
    A generator that is restarted for each step may have a new name each time, and a file of each run has no machine.
    """
    if set(group[0].roots) == set(load.roots):
        return True
    machines, group_machines = ({machine_of(topology, root) for root in side.roots} for side in (load, group[0]))
    return machines == group_machines and all(earlier.step != load.step for earlier in group)


def _curve(loads: Sequence[LoadFacts]) -> Curve:
    points = tuple(
        CurvePoint(f.step, f.in_flight_measured, f.ops_per_second, f.latency_seconds, f.throughput_spread)
        for f in loads
    )
    first = loads[0]
    shape, words = _shape(loads)
    knee = _knee(_distinct(loads), shape)
    return Curve(
        load=first.entity,
        direction=first.direction,
        operation_bytes=first.operation_bytes,
        points=tuple(points),
        shape=shape,
        said=words,
        knee=knee,
    )


def _distinct(loads: Sequence[LoadFacts]) -> list[LoadFacts]:
    """One load for each number of I/Os in flight; of several, the one with the most."""
    distinct: list[LoadFacts] = []
    for load in loads:
        if distinct and isclose(distinct[-1].in_flight_measured, load.in_flight_measured, rel_tol=_SAME_LOAD):
            distinct[-1] = load
        else:
            distinct.append(load)
    return distinct


def _shape(loads: Sequence[LoadFacts]) -> tuple[Shape, str]:
    distinct = _distinct(loads)
    if len(distinct) < 2:
        return (
            "one_step",
            "one queue depth was tested: whether more outstanding I/Os bring more throughput is not known",
        )
    peak, last = max(distinct, key=lambda load: load.ops_per_second), distinct[-1]
    change = last.ops_per_second / peak.ops_per_second - 1
    slower = change < -max(FLAT, _chance(peak, last)) and last.latency_seconds > peak.latency_seconds
    if slower and last.asks_for_more_than(peak):
        return "retrograde", (
            f"{iops(peak.ops_per_second)} at {outstanding(peak.in_flight_measured)} fall to "
            f"{iops(last.ops_per_second)} at {count(last.in_flight_measured)}, while latency grows from "
            f"{duration(peak.latency_seconds)} to {duration(last.latency_seconds)}: throughput falls under load"
        )
    fewer = [load for load in distinct if load.at_most_half(last)]
    if not fewer:
        return "unknown", "no step has half as many outstanding I/Os as another: the steps lie too close together"
    before = fewer[-1]
    if not last.asks_for_more_than(before):
        return "unknown", "the steps were configured alike: they do not show what more outstanding I/Os bring"
    gain = last.ops_per_second / before.ops_per_second - 1
    doublings = log2(last.in_flight_measured / before.in_flight_measured)
    least_gain = max(min(FLAT * doublings, _NEARLY_FLAT), FLAT, _chance(before, last))
    if abs(gain) <= least_gain:
        calm = next(load for load in distinct if load.ops_per_second * (1 + least_gain) >= last.ops_per_second)
        return "plateau", (
            f"{iops(last.ops_per_second)} from {count(calm.in_flight_measured)} to "
            f"{outstanding(last.in_flight_measured)}: more add only latency"
        )
    return "rising", (
        f"{count(last.in_flight_measured)} outstanding I/Os, {2**doublings:.1f} times as many as "
        f"{count(before.in_flight_measured)}, give {percent_rounded(gain)} more throughput"
    )


def _chance(first: LoadFacts, second: LoadFacts) -> float:
    return max(_LEAST_CHANGE, 2 * hypot(first.throughput_spread or 0.0, second.throughput_spread or 0.0))


def _knee(loads: Sequence[LoadFacts], shape: Shape) -> Knee:
    in_flight = [load.in_flight_measured for load in loads]
    ops, spread = [load.ops_per_second for load in loads], [load.throughput_spread for load in loads]
    law = fit_scalability(in_flight, ops, spread, shape == "retrograde")
    if law is None:
        return Knee(None, None, f"{counted(len(loads), 'queue depth')} tested, and a fit needs {FEWEST}", None)
    low, high = law.knee
    if shape == "plateau" and high <= min(in_flight):
        return Knee(None, min(in_flight), "below the fewest tested", law)
    if shape == "rising" and low >= max(in_flight):
        return Knee(None, None, f"above the most tested, {count(max(in_flight))}", law)
    if high > _WIDE * low:
        return Knee(None, None, f"somewhere between {count(low)} and {count(high)}: the steps do not show it", law)
    return Knee((low, high), None, f"{count(low)} to {outstanding(high)}", law)

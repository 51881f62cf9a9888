"""Throughput over outstanding I/Os, one curve for each direction, block size, pattern and group of loads.

A curve still rises, is a plateau, or falls. A plateau is a property of X(N), throughput over outstanding I/Os, never
of a flat line over time. Throughput that falls while latency grows is retrograde, not a plateau: past its peak, every
additional I/O slows the others. If steps with the same number of outstanding I/Os differ by as much, something other
than the load changed throughput.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isclose, log2
from operator import attrgetter, itemgetter

import numpy as np

from sanpath.diagnosis.model import Curve, CurvePoint, Knee, Shape
from sanpath.explanation.scalability import MIN_STEPS, fit_scalability
from sanpath.facts.load.loads import FLAT, LoadFacts
from sanpath.topology.paths import machine_of
from sanpath.topology.topology import Topology
from sanpath.units import count, counted, duration, iops, outstanding, percent_rounded

_NEARLY_FLAT = 0.15
"""Largest gain of throughput on a plateau, however many more I/Os are outstanding."""
_EVEN = 0.01
"""Relative difference of throughput below which steps are alike: sanpath's own choice."""
_MIN_EVEN_STEPS = 3
"""Number of steps that show a plateau if their throughput is alike. They are the steps with the most outstanding
I/Os; a step with half as many may be slower. Three are seldom alike by chance."""
_MIN_CHANGE = 0.03
"""Relative change below which a difference is chance, however steady the steps were."""
_SAME_IN_FLIGHT = 0.02
"""Relative difference below which numbers in flight count as the same."""
_WIDE_INTERVAL_RATIO = 4.0
"""Ratio of the ends of a knee's interval from which the knee is unknown."""
_SHARP_KNEE_RATIO = 0.75
"""Share of the highest throughput that must be reached at a knee: sanpath's own choice. A curve that bends slowly
reaches only half of it where the law's straight lines meet (λN / (1 + σ(N - 1)) at N = 1 / σ), and more load still
raises throughput."""


def curves(topology: Topology, loads: Sequence[LoadFacts]) -> tuple[Curve, ...]:
    """The curves of a run, the one with the highest throughput first."""
    groups: list[list[LoadFacts]] = []
    for load in loads:
        alike = (group for group in groups if group[0].comparable(load) and _flushes_alike(group[0], load))
        matching = next((group for group in alike if _one_load(topology, group, load)), None)
        if matching is None:
            groups.append([load])
        else:
            matching.append(load)
    result = [_curve(sorted(group, key=lambda load: load.outstanding)) for group in groups]
    return tuple(sorted(result, key=lambda curve: -max(p.ops_per_second for p in curve.points)))


def _one_load(topology: Topology, group: Sequence[LoadFacts], load: LoadFacts) -> bool:
    """Whether a load continues the others: it has the same name, or it ran on the same machine before or after them.
    A generator that is restarted for each step may have a new name each time, and a result file for each run has no
    machine."""
    if set(group[0].roots) == set(load.roots):
        return True
    machines, group_machines = ({machine_of(topology, root) for root in side.roots} for side in (load, group[0]))
    return machines == group_machines and all(earlier.step != load.step for earlier in group)


def _flushes_alike(first: LoadFacts, second: LoadFacts) -> bool:
    """Whether both wait for flushes (fsync), or neither does: a load that waits requests no I/O meanwhile."""
    return bool(first.flushes_in_flight) == bool(second.flushes_in_flight)


def _curve(loads: Sequence[LoadFacts]) -> Curve:
    points = tuple(
        CurvePoint(f.step, f.outstanding, f.ops_per_second, f.latency_seconds, f.throughput_spread) for f in loads
    )
    first = loads[0]
    shape, words = _shape(loads)
    knee = _knee([_typical(group) for group in _by_in_flight(loads)], shape)
    return Curve(
        load=first.entity,
        direction=first.direction,
        operation_bytes=first.operation_bytes,
        points=tuple(points),
        shape=shape,
        said=words,
        knee=knee,
        flushes=bool(first.flushes_in_flight),
        pattern=first.access.pattern,
    )


def _by_in_flight(loads: Sequence[LoadFacts]) -> list[list[LoadFacts]]:
    """The loads grouped by measured I/Os in flight, the fewest first."""
    return _grouped(loads, [load.outstanding for load in loads])


def _by_depth(loads: Sequence[LoadFacts]) -> list[list[LoadFacts]]:
    """The loads grouped by configured I/Os, the fewest first. Paced loads have clearly fewer in flight and are left
    out: they are no repetitions."""
    configured = [load.in_flight_configured for load in loads if load.in_flight_configured is not None]
    groups = _grouped(loads, configured) if len(configured) == len(loads) else _by_in_flight(loads)
    most = (max(group, key=attrgetter("outstanding")) for group in groups)
    return [[load for load in group if load.at_least_as_many(top)] for group, top in zip(groups, most, strict=True)]


def _grouped(loads: Sequence[LoadFacts], numbers: Sequence[float]) -> list[list[LoadFacts]]:
    """The loads grouped by number, the lowest first."""
    groups: list[list[LoadFacts]] = []
    before = 0.0
    for number, load in sorted(zip(numbers, loads, strict=True), key=itemgetter(0)):
        if groups and isclose(before, number, rel_tol=_SAME_IN_FLIGHT):
            groups[-1].append(load)
        else:
            groups.append([load])
        before = number
    return groups


def _typical(loads: Sequence[LoadFacts]) -> LoadFacts:
    """The load with the median throughput."""
    return sorted(loads, key=attrgetter("ops_per_second"))[len(loads) // 2]


def _difference(loads: Sequence[LoadFacts]) -> float:
    """How far the lowest throughput is below the highest, as a ratio."""
    rates = [load.ops_per_second for load in loads]
    return 1 - min(rates) / max(rates)


def _shape(loads: Sequence[LoadFacts]) -> tuple[Shape, str]:
    depths = _by_depth(loads)
    if len(_by_in_flight(loads)) < 2:
        if len(depths) == 1 and _difference(depths[0]) > _NEARLY_FLAT:
            return "unknown", _repetition_words(depths[0])
        return (
            "one_step",
            "only one queue depth was tested: it is not known whether more outstanding I/Os raise throughput",
        )
    typical = [_typical(group) for group in depths]
    peak, last = max(typical, key=attrgetter("ops_per_second")), typical[-1]
    half = [load for load in typical if load.at_most_half(last)]
    fewer = [load for load in half if last.asks_for_more_than(load)]
    ends = [peak, last, *fewer[-1:]]
    varying = max((group for group in depths if any(load in group for load in ends)), key=_difference)
    fall = _difference([peak, last])
    slower = fall > max(_clear_fall(peak, last), _chance(peak, last)) and last.latency_seconds > peak.latency_seconds
    if slower and fall > _difference(varying) and last.asks_for_more_than(peak):
        return "retrograde", (
            f"{iops(peak.ops_per_second)} at {outstanding(peak.outstanding)} fall to "
            f"{iops(last.ops_per_second)} at {count(last.outstanding)}, while latency grows from "
            f"{duration(peak.latency_seconds)} to {duration(last.latency_seconds)}: throughput falls under load"
        )
    if len(depths) < 2 or (half and not fewer):
        return "unknown", "all steps had the same configuration: they do not show the effect of more outstanding I/Os"
    if not fewer:
        return "unknown", "no step has half as many outstanding I/Os as another: the steps lie too close together"
    before = fewer[-1]
    gain = last.ops_per_second / before.ops_per_second - 1
    doublings = log2(last.outstanding / before.outstanding)
    scatter = _difference(varying)
    least_gain = max(min(FLAT * doublings, _NEARLY_FLAT), FLAT, _chance(before, last), scatter)
    if scatter > max(_NEARLY_FLAT, (1 - FLAT) * _difference([before, last])):
        return "unknown", _repetition_words(varying)
    if gain < -max(least_gain, _clear_fall(before, last)):
        return "unknown", "throughput differs more from window to window than from step to step"
    even = [load for load in typical if abs(load.ops_per_second - last.ops_per_second) < _EVEN * last.ops_per_second]
    ends_even = len(even) >= _MIN_EVEN_STEPS and even == typical[-len(even) :] and last.asks_for_more_than(even[0])
    if gain <= least_gain or ends_even:
        least = _EVEN if gain > least_gain else least_gain
        calm = next(load for load in typical if load.ops_per_second * (1 + least) >= last.ops_per_second)
        return "plateau", (
            f"{iops(last.ops_per_second)} from {count(calm.outstanding)} to "
            f"{outstanding(last.outstanding)}: more add only latency"
        )
    return "rising", (
        f"{count(last.outstanding)} outstanding I/Os, {2**doublings:.1f} times as many as "
        f"{count(before.outstanding)}, give {percent_rounded(gain)} more throughput"
    )


def _repetition_words(loads: Sequence[LoadFacts]) -> str:
    """Words for the differing loads of one depth."""
    low, high = (iops(choose(load.ops_per_second for load in loads)) for choose in (min, max))
    at = outstanding(max(load.outstanding for load in loads))
    return f"repetitions with {at} range from {low} to {high}: the load is not what changed throughput"


def _clear_fall(first: LoadFacts, second: LoadFacts) -> float:
    """The smallest fall of throughput that is clear. A single figure does not show how much runs of its length
    scatter: then a fall must exceed the gain that a plateau may have."""
    return FLAT if None not in (first.throughput_spread, second.throughput_spread) else _NEARLY_FLAT


def _chance(first: LoadFacts, second: LoadFacts) -> float:
    return max(_MIN_CHANGE, 2 * hypot(first.throughput_spread or 0.0, second.throughput_spread or 0.0))


def _knee(loads: Sequence[LoadFacts], shape: Shape) -> Knee:
    in_flight = [load.outstanding for load in loads]
    ops, spread = [load.ops_per_second for load in loads], [load.throughput_spread for load in loads]
    law = fit_scalability(in_flight, ops, spread, shape == "retrograde")
    if law is None:
        return Knee(None, None, f"{counted(len(loads), 'queue depth')} tested, and a fit needs {MIN_STEPS}", None)
    low, high = law.knee
    if shape == "plateau" and high <= min(in_flight):
        return Knee(None, min(in_flight), "below the fewest tested", law)
    if shape == "rising" and low >= max(in_flight):
        return Knee(None, None, f"above the most tested, {count(max(in_flight))}", law)
    if high > _WIDE_INTERVAL_RATIO * low or shape == "unknown":
        return Knee(None, None, "the steps do not show a knee", None)
    reached = float(np.interp(high, in_flight, ops)) / max(ops)
    if reached < _SHARP_KNEE_RATIO:
        said = f"not sharp: {outstanding(high)} reach only {percent_rounded(reached)} of the highest throughput"
        return Knee(None, None, said, law)
    since = f"{count(low)} to " if count(low) != count(high) else ""
    return Knee((low, high), None, f"{since}{outstanding(high)}", law)

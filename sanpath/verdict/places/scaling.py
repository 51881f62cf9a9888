"""How throughput responds to the I/Os in flight around a step: d ln X / d ln N towards fewer and towards more of
them.

The elasticity is one if nothing waits (Little's law at constant latency). It is zero if an element is saturated
(operational analysis, Denning and Buzen 1978), and negative if more I/Os make each other slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot, isclose, log
from operator import attrgetter

from sanpath.facts.load.loads import CLEARLY_MORE, FLAT, LoadFacts, flat_over_load
from sanpath.units import iops, kibibytes, outstanding, percent

_MIN_SPREAD = 0.02
"""Smallest relative spread between two runs of the same step."""
_SAME_MIX = 0.05
"""Largest difference of shares at which two mixes of directions are the same."""
_SAME_IN_FLIGHT = 0.1
"""Relative difference up to which two loads have the same number of I/Os in flight: sanpath's own choice."""
_SAME_CEILING = 0.1
"""Ratio up to which two throughputs are at the same limit, despite occasional disturbances."""
_OTHER_SIZE = 2.0
"""Ratio of block sizes from which they clearly differ."""
_SECTOR_BYTES = 4096.0
"""The physical sector of today's drives (Advanced Format), whatever logical sector they report."""
_CLEARLY_LONGER = 2.0
"""Ratio of latencies from which a write clearly takes longer: sanpath's own choice."""
CLEARLY_FASTER, _BELOW_BOUND, _MAX_SCATTER = 1.1, 0.05, 0.3
"""Ratio of throughputs that clearly differ; and the relative difference from which a throughput is below its lower
bound, at least, and at most where throughputs scatter (two standard errors): sanpath's own choice."""
COLLAPSED = 1.5
"""Ratio of throughput before to after from which more load made it collapse: repeated runs of one test differ far
less."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Elasticity between two steps. `error`: its standard error; `other_load`: the other step's load."""

    elasticity: float
    error: float
    other_load: LoadFacts


def slopes(load: LoadFacts, others: Sequence[LoadFacts]) -> tuple[Slope | None, Slope | None]:
    """The slopes to the next step with fewer, and with more, of the same I/Os in flight. None: there is no such
    step."""
    in_flight = attrgetter("outstanding")
    fewer = [other for other in others if other.outstanding * CLEARLY_MORE <= load.outstanding]
    more = [other for other in others if other.outstanding >= load.outstanding * CLEARLY_MORE]
    return _slope(load, max(fewer, key=in_flight, default=None)), _slope(load, min(more, key=in_flight, default=None))


def same_io(loads: Sequence[LoadFacts], load: LoadFacts) -> list[LoadFacts]:
    """The loads of other steps with the same I/O in the same mix of directions, whatever is in flight."""

    def share_of_step(each: LoadFacts) -> float:
        return each.ops_per_second / sum(other.ops_per_second for other in loads if other.step == each.step)

    share = share_of_step(load)
    others = [other for other in loads if other.step != load.step and other.comparable(load)]
    return [other for other in others if isclose(share_of_step(other), share, abs_tol=_SAME_MIX)]


def has_changed(loads: Sequence[LoadFacts]) -> bool:
    """Whether the system that serves the same I/O has changed between its steps: one of them was slower than possible
    if the steps with fewer and with more I/Os in flight belong to one system.

    A closed network whose service times do not depend on the load has at least the throughput N / (R + (N - 1) / X)
    with N I/Os in flight, where R is their time without a wait and X is its ceiling (balanced job bounds, Zahorjan
    and others 1982). Using the smallest latency and the largest throughput seen lowers the bound.
    """
    for load in loads:
        in_flight = load.in_flight_measured
        fewer = [each for each in loads if each.in_flight_measured * CLEARLY_MORE <= in_flight]
        more = [each for each in loads if each.in_flight_measured >= CLEARLY_MORE * in_flight]
        if not fewer or not more:
            continue
        quickest = min(fewer, key=attrgetter("latency_seconds"))
        fastest = max(more, key=attrgetter("ops_per_second"))
        least, most = quickest.latency_seconds, fastest.ops_per_second
        if most <= CLEARLY_FASTER * load.ops_per_second or not least:
            continue
        scatter = hypot(*(each.throughput_spread or 0.0 for each in (load, quickest, fastest)))
        below = max(_BELOW_BOUND, min(_MAX_SCATTER, 2 * scatter))
        if load.ops_per_second < (1 - below) * in_flight / (least + max(0.0, in_flight - 1) / most):
            return True
    return False


def falls_each_time(load: LoadFacts, other: LoadFacts, same: Sequence[LoadFacts], order: Sequence[str]) -> bool:
    """Whether more outstanding I/Os make throughput fall: it falls between two loads, and again with yet more of
    them; or it is the same before and after the other load, with the same number outstanding. `same`: loads of the
    same I/O. `order`: the names of all steps."""
    at = order.index(other.step)
    again = (
        order.index(each.step)
        for each in same
        if isclose(each.outstanding, load.outstanding, rel_tol=_SAME_IN_FLIGHT)
        and isclose(each.ops_per_second, load.ops_per_second, rel_tol=FLAT)
    )
    most = max((load, other), key=attrgetter("outstanding"))
    falls_again = any(
        each.outstanding >= CLEARLY_MORE * most.outstanding
        and each.ops_per_second <= (1 - FLAT) * most.ops_per_second
        for each in same
    )
    return falls_again or any((repeat < at) != (order.index(load.step) < at) for repeat in again)


def throughput_in_words(loads: Sequence[LoadFacts], load: LoadFacts) -> Iterator[str]:
    """Yield words for how throughput responds to a growing load, if that shows a limit. Nothing if throughput grows
    as well."""
    for other_load in loads:
        if other_load.step == load.step or not other_load.comparable(load):
            continue
        after, before = sorted((load, other_load), key=lambda candidate: candidate.ops_per_second)
        if before.ops_per_second < COLLAPSED * after.ops_per_second:
            continue
        if after.asks_for_more_than(before):
            meaning = "it collapses under load: that is not a plateau"
        elif None in (after.in_flight_configured, before.in_flight_configured) and after.at_least_as_many(before):
            meaning = "something became slower, or the loads differ in something not measured"
        else:
            continue
        times = after.latency_seconds / before.latency_seconds
        fall = f"throughput falls from {iops(before.ops_per_second)} to {iops(after.ops_per_second)}"
        yield f"{fall} while an I/O takes {times:.1f} times as long: {meaning}"
        return
    if (calm := flat_over_load(loads, load)) is not None:
        times, gain = load.in_flight_measured / calm.in_flight_measured, load.ops_per_second / calm.ops_per_second - 1
        yield (
            f"{outstanding(calm.in_flight_measured)} reach the same throughput: {times:.1f} times as many add "
            f"{percent(gain)}, so something limits"
        )
    if (words := _over_block_sizes(loads, load)) is not None:
        yield words


def fewest_bytes_of_same_ops(loads: Sequence[LoadFacts], load: LoadFacts) -> float:
    """Smallest bytes a second of the load and of the steps with the same IOPS and the same number of I/Os in
    flight."""
    same = (
        other
        for other in _as_many_in_flight(loads, load)
        if isclose(other.ops_per_second, load.ops_per_second, rel_tol=_SAME_CEILING)
    )
    return min(each.bytes_per_second for each in (load, *same))


def _as_many_in_flight(loads: Sequence[LoadFacts], load: LoadFacts) -> list[LoadFacts]:
    """The loads of other steps in this direction with the same number of I/Os in flight, which differ from it only in
    size."""
    others = (
        other
        for other in loads
        if other.step != load.step and other.direction == load.direction and other.same_data(load, "align_bytes")
    )
    return [o for o in others if isclose(o.in_flight_measured, load.in_flight_measured, rel_tol=_SAME_IN_FLIGHT)]


def _over_block_sizes(loads: Sequence[LoadFacts], load: LoadFacts) -> str | None:
    """Words for steps with other block sizes and the same number of I/Os in flight, if they have the same IOPS or
    move the same bytes. None: there are none, or neither is the same."""
    size = load.operation_bytes
    others = [other for other in _as_many_in_flight(loads, load) if other.operation_bytes]
    for rate, same, limit in (
        ("ops_per_second", "IOPS are the same", "I/Os, not bytes"),
        ("bytes_per_second", "bytes/s are the same", "bytes, not I/Os"),
    ):
        own = getattr(load, rate)
        alike = [other for other in others if isclose(getattr(other, rate), own, rel_tol=_SAME_CEILING)]
        sizes = [*(other.operation_bytes or 0.0 for other in alike), size] if size else []
        if sizes and max(sizes) >= _OTHER_SIZE * min(sizes):
            limits = f"{kibibytes(min(sizes))} to {kibibytes(max(sizes))}"
            return f"{same} with blocks of {limits}: the limit counts {limit}"
    return None


def below_sector_in_words(loads: Sequence[LoadFacts], load: LoadFacts) -> str | None:
    """Words for writes that are smaller than a sector and take clearly longer than larger ones, as many of which are
    outstanding: nothing else makes smaller writes slower. None: there are none."""
    if load.direction != "write" or not 0.0 < (load.operation_bytes or 0.0) < _SECTOR_BYTES:
        return None
    sized = [each for each in (load, *_as_many_in_flight(loads, load)) if each.operation_bytes]
    small = [each for each in sized if (each.operation_bytes or 0.0) < _SECTOR_BYTES]
    large = [each for each in sized if (each.operation_bytes or 0.0) >= _SECTOR_BYTES]
    fastest_small = min(small, key=attrgetter("latency_seconds"), default=None)
    slowest_large = max(large, key=attrgetter("latency_seconds"), default=None)
    if fastest_small is None or slowest_large is None:
        return None
    times = fastest_small.latency_seconds / slowest_large.latency_seconds
    if times < _CLEARLY_LONGER:
        return None
    sizes = [kibibytes(each.operation_bytes or 0.0) for each in (fastest_small, slowest_large)]
    longer = f"writes of {sizes[0]} take {times:.1f} times as long as writes of {sizes[1]}"
    return f"{longer}: a drive reads and rewrites the whole sector around a smaller write"


def _slope(load: LoadFacts, other_load: LoadFacts | None) -> Slope | None:
    """The slope from another step to this one. None: there is no other step."""
    if other_load is None:
        return None
    distance = log(load.outstanding / other_load.outstanding)
    spread = max(_MIN_SPREAD, hypot(load.throughput_spread or 0.0, other_load.throughput_spread or 0.0))
    return Slope(log(load.ops_per_second / other_load.ops_per_second) / distance, spread / abs(distance), other_load)

"""How the windows of one step differ: whether something holds the load back, or slows it down, for part of the
time."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log, sqrt

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.slow_windows import slow_windows
from sanpath.units import percent
from sanpath.verdict.evidence.healthy import met_rate
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED
from sanpath.verdict.places.submission import FILLED_ERROR
from sanpath.verdict.places.table import PlaceTable

_MIN_HELD_RATIO = 0.1
"""Share of the time for which a load must be held back to count, and by how much: sanpath's own choice."""
_SUMMED_SECONDS = 0.5
"""Length of the windows of a load that reports only their deviation (fio: bwavgtime)."""
_SIMILAR_RATIO = 1.15
"""Largest ratio of outstanding I/Os, in either direction, at which a window counts as having the same number as the
fastest windows."""
_MAX_WEIGHT, _HALF_WEIGHT_IN_FLIGHT = -4.0, 8.0
"""Largest weight against the load as the limit, and the outstanding I/Os at which half of it applies: sanpath's own
choices. Few I/Os rarely wait for each other, and may take longer by themselves (a cache that no longer holds the
data)."""


def slowdown_weight(load: LoadFacts) -> tuple[float, str]:
    """Return the log-odds against the load itself as the limit, at most 0, and the reading in words.

    A load that only lacks I/Os has a constant latency while its outstanding I/Os are constant. If its I/Os take
    longer for a while, they wait for something else, even if nothing measures that.
    """
    found = [_slowed_windows(load) or _slowed_by_summary(load)]
    share, in_flight, words = max([*found, *_slowed_since_it_began(load)], key=lambda each: each[0])
    most = _MAX_WEIGHT * in_flight / (in_flight + _HALF_WEIGHT_IN_FLIGHT)
    weight = max(most, min(0.0, -share / UNEXPLAINED - log(UNEXPLAINED)))
    return weight, f"{words}: {percent(share)} of the mean latency"


def _slowed_since_it_began(load: LoadFacts) -> Iterator[tuple[float, float, str]]:
    """The same for a load whose I/Os were faster at its beginning with the same number outstanding, such as while a
    cache had room; and for slow periods, whose I/Os take longer than those of the whole step. A single window may be
    chance."""
    for other, words in (
        (load.beginning, "I/Os take longer than when the load began, with the same number outstanding"),
        (load.whole_step, "averaged over the step, I/Os take less time with the same number outstanding"),
    ):
        if other is None or other.windows < 2 or not load.in_flight_measured:
            continue
        as_many = 1 / _SIMILAR_RATIO <= other.in_flight_measured / load.in_flight_measured <= _SIMILAR_RATIO
        if as_many and other.comparable(load):
            share = max(0.0, 1 - other.latency_seconds / load.latency_seconds)
            yield share, load.in_flight_measured, words


def _slowed_windows(load: LoadFacts) -> tuple[float, float, str] | None:
    """The share of the mean latency that is due to slow windows, the I/Os outstanding in them, and words for it.
    None: the load has too few windows, or its throughput and latency have different ones."""
    slow = slow_windows(*load.whole_windows())
    if slow is None:
        return None
    return (
        slow.latency_ratio,
        slow.in_flight,
        f"I/Os take longer for {percent(slow.time_ratio)} of the time, with the same number outstanding",
    )


def _slowed_by_summary(load: LoadFacts) -> tuple[float, float, str]:
    """The same for a load that reports only a summary of how its throughput varied. If it always keeps all its I/Os
    outstanding, its latency varies as much as its throughput (N = X R). Counted I/Os also vary by chance
    (Poisson)."""
    configured, in_flight = load.in_flight_configured, load.in_flight_measured
    deviation, most = load.throughput_deviation_ratio, load.throughput_max_ratio
    if not configured or in_flight < (1 - FILLED_ERROR) * configured or deviation is None or most is None:
        return 0.0, in_flight, ""
    by_chance = 1 / (load.ops_per_second * _SUMMED_SECONDS)
    fastest = min(most, 1 + sqrt(max(0.0, deviation**2 - by_chance)))
    return (
        1 - 1 / fastest,
        in_flight,
        f"throughput differs by {percent(deviation)} with the same number of I/Os outstanding",
    )


def held_back_ratio(table: PlaceTable) -> float | None:
    """The share of the time in which all I/Os of the load are outstanding and fewer I/Os complete than at other
    times. In that time something other than the load limits it, even if few I/Os are outstanding on average. None:
    there is no such time, or the load still reaches its rate.
    """
    load, configured = table.load, table.load.in_flight_configured
    if table.opposite_direction or not configured:
        return None
    windows = [
        (ops, ops * latency_seconds >= (1 - FILLED_ERROR) * configured, seconds)
        for ops, latency_seconds, seconds in load.windows_with_latency
    ]
    full_seconds, free_seconds = (sum(s for _, is_full, s in windows if is_full == of) for of in (True, False))
    full_ios, free_ios = (sum(ops * s for ops, is_full, s in windows if is_full == of) for of in (True, False))
    share = full_seconds / (full_seconds + free_seconds or inf)
    is_for_a_while = _MIN_HELD_RATIO <= share <= 1 - _MIN_HELD_RATIO
    if not is_for_a_while or full_ios / full_seconds > (1 - _MIN_HELD_RATIO) * free_ios / free_seconds:
        return None
    return share if met_rate(table.facts, load) is None else None

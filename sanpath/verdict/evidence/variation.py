"""How the windows of one step differ: whether something holds the load back, or slows it down, for a while only."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log, sqrt

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.slow_windows import slow_windows
from sanpath.units import percent
from sanpath.verdict.evidence.healthy import rate_met
from sanpath.verdict.evidence.likelihoods import UNEXPLAINED
from sanpath.verdict.places.submission import FILLED_ERROR
from sanpath.verdict.places.table import PlaceTable

_FOR_A_WHILE = 0.1
"""Share of the time in which a load is held back from which this counts, and by how much: sanpath's own choice."""
_SUMMED_SECONDS = 0.5
"""Length of the windows that a load sums up (fio: bwavgtime)."""
_AS_MANY = 1.15
"""Ratio of the outstanding I/Os, either way, up to which a window has as many as the fastest ones."""
_MOST, _HALF = -4.0, 8.0
"""The most that it counts against the load as the limit, and the outstanding I/Os at which it counts half of that:
sanpath's own choices. Few I/Os seldom wait for each other, and may take longer for themselves (a cache that no longer
holds the data)."""


def slowdown_weight(load: LoadFacts) -> tuple[float, str]:
    """Return the log-odds against the load itself as the limit, at most 0, and what says so.

    A load that only lacks I/Os gets the same latency as long as it keeps as many outstanding. If its I/Os take longer
    for a while, they wait for something else, even where nothing measures that.
    """
    found = [_slowed_windows(load) or _slowed_in_all(load)]
    share, in_flight, words = max([*found, *_slowed_since_it_began(load)], key=lambda each: each[0])
    most = _MOST * in_flight / (in_flight + _HALF)
    weight = max(most, min(0.0, -share / UNEXPLAINED - log(UNEXPLAINED)))
    return weight, f"{words}: {percent(share)} of the mean latency"


def _slowed_since_it_began(load: LoadFacts) -> Iterator[tuple[float, float, str]]:
    """The same of a load whose I/Os took less time at its beginning, with as many outstanding, as while a cache had
    room for them; and of its slow periods, whose I/Os take longer than those of all the step. A single window may be
    chance."""
    for other, words in (
        (load.before, "since the load began, as many I/Os take longer"),
        (load.in_all, "in the mean of the step as many I/Os take less time"),
    ):
        if other is None or other.windows < 2 or not load.in_flight_measured:
            continue
        as_many = 1 / _AS_MANY <= other.in_flight_measured / load.in_flight_measured <= _AS_MANY
        if as_many and other.comparable(load):
            share = max(0.0, 1 - other.latency_seconds / load.latency_seconds)
            yield share, load.in_flight_measured, words


def _slowed_windows(load: LoadFacts) -> tuple[float, float, str] | None:
    """The share of the mean latency that passes because as many I/Os take longer for a while, how many these are, and
    words for it. None: the load has too few windows, or throughput and latency have different ones."""
    slow = slow_windows(*load.whole_windows())
    if slow is None:
        return None
    return slow.latency_ratio, slow.in_flight, f"in {percent(slow.time_ratio)} of the time as many I/Os take longer"


def _slowed_in_all(load: LoadFacts) -> tuple[float, float, str]:
    """The same of a load that only sums up how its throughput differed. Its latency differs as much where it always
    keeps all of its I/Os outstanding (N = X R); I/Os that are counted differ by chance, too (Poisson)."""
    configured, in_flight = load.in_flight_configured, load.in_flight_measured
    deviation, most = load.throughput_deviation_ratio, load.throughput_max_ratio
    if not configured or in_flight < (1 - FILLED_ERROR) * configured or deviation is None or most is None:
        return 0.0, in_flight, ""
    by_chance = 1 / (load.ops_per_second * _SUMMED_SECONDS)
    fastest = min(most, 1 + sqrt(max(0.0, deviation**2 - by_chance)))
    return 1 - 1 / fastest, in_flight, f"throughput differs by {percent(deviation)} with as many I/Os outstanding"


def held_back_for_a_while(table: PlaceTable) -> float | None:
    """The share of the time in which all I/Os of the load are outstanding, and fewer complete than in the rest of it.

    Something else limits the load then, however few are outstanding in the mean. None: not so, or the load reaches
    its rate all the same.
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
    is_for_a_while = _FOR_A_WHILE <= share <= 1 - _FOR_A_WHILE
    if not is_for_a_while or full_ios / full_seconds > (1 - _FOR_A_WHILE) * free_ios / free_seconds:
        return None
    return share if rate_met(table.facts, load) is None else None

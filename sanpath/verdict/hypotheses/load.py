"""The load itself is the limit: it asks for no more, or has too few I/Os in flight."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, hypot, inf, isclose, log, prod

from sanpath.facts.load.loads import FLAT, LoadFacts
from sanpath.facts.table import number
from sanpath.units import count, duration, iops, kibibytes, percent
from sanpath.verdict.evidence.healthy import rate_error, rate_in_words, rate_met, requested_rate
from sanpath.verdict.evidence.likelihoods import normal, set_by_hand
from sanpath.verdict.evidence.outstanding import never_idle, saturates_many
from sanpath.verdict.evidence.tail import tail_weight
from sanpath.verdict.evidence.variation import held_back_for_a_while, slowdown_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, of_the_load, weighed
from sanpath.verdict.places.submission import (
    FILLED_ERROR,
    closed_loop_density,
    closed_loop_ratio,
    density_of_others,
    threads_of,
)
from sanpath.verdict.places.table import PlaceTable

_SHORTEST_PAUSE_SECONDS = 50e-6
"""A thread that sleeps wakes up no earlier (Linux: PR_SET_TIMERSLACK of 50 microseconds; Windows: a millisecond)."""
_NO_PAUSE_WEIGHT, _NO_PAUSE_LEAST = 2.0, -4.0
"""Weight of the logarithm of a shorter time between I/Os, and the lowest result."""
_RATE_ERROR = 0.015
"""A requested rate is met to a few percent: generators pace in bursts."""
_REACH_RATE = 0.9
"""Share of the loads that ask for no more that reach their requested rate: the others think, or wait for each
other."""
_HAS_RATE = 3.0
"""Log-likelihood ratio of a rate, or a time to think, that was set: of the loads that something else limits, one in
twenty has one, and unused I/Os as well."""
_OF_GAIN = 3.0
"""Weight of the logarithm of what a load would gain without its pauses, which is twice its throughput where half of
its I/Os are outstanding: sanpath's own choice."""
_NOTHING_HOLDS_BACK = -6.0
"""Log-odds of a load that asks for no more although nothing was set that holds it back: it starts each I/O when
another one ends. Hardly any has pauses that its settings do not show."""
_OF_OTHERS, _SHARED_DEVICE = 2.0, -4.0
"""Ratio of what the tested devices do to what the load does from which others use them, as of the rule
`device-shared`, and the log-odds of too few outstanding I/Os there: many of others are outstanding as well."""
_FOLLOWS = 0.3
"""Elasticity from which more I/Os in flight clearly bring more throughput."""
_MOSTLY = 0.9
"""Share of an I/O's time at its device from which it is mentioned."""
_REFUTED = -5.0
"""Log-odds of too few outstanding I/Os where twice as many were given without effect."""
_LARGER, _AS_MANY, _BYTES_LIMIT = 2.0, 0.1, -7.0
"""Ratio of the sizes of clearly larger I/Os, relative difference of as many of them, and the log-odds of too few
outstanding I/Os where these larger ones move no more bytes."""
_THE_SAME, _RATE_LIMITS = 0.02, -3.0
"""Relative difference of throughputs that are the same, and the log-odds of too few outstanding I/Os where reads and
writes have the same: sanpath's own choice."""
_FLUSHES_MATTER = 0.1
"""Ratio of flushes to I/Os in flight from which they are mentioned."""
_TOO_ROUNDED = 0.3
"""A smaller log-likelihood ratio of a number of I/Os says nothing: a large number of I/Os is not known to a fraction
of one."""
_MOST_VARIATION = 1.5
"""Most by which the I/Os in flight of a closed loop differ between windows, as a ratio: sanpath's own choice."""
_ABOVE = log(3)
"""Log-odds of a limit above the array: the load, its host and that host's queues are three places in one."""
_NO_RATE = -2.0
"""Log-odds of a load that does not report whether it has a rate: one in eight has."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """Yield two claims: the load asks for no more, and too few I/Os are in flight. To an array both look alike, and
    like a full queue of a host: one claim then."""
    if table.load.seen_at_array:
        yield _above_the_array(table)
        return
    yield _demand(table)
    yield _concurrency(table)


def _above_the_array(table: PlaceTable) -> Claim:
    """Too few I/Os reach the array, for whatever reason."""
    inside = count(table.facts.in_flight_in(table.load.step))
    words = f"{inside} I/Os are in the array, and how many wait above it was not read"
    several = len(table.machines) > 1
    return Claim(
        "unread_host",
        None,
        frozenset(),
        [Evidence(words, 0.0)],
        prior=_ABOVE,
        verdict="cannot_tell",
        growth="any",
        place="the hosts, or what they ask for" if several else "the host, or what it asks for",
    )


def _demand(table: PlaceTable) -> Claim:
    """The load asks for no more."""
    configured, total = table.load.in_flight_configured, table.facts.in_flight_in(table.load.step)
    subject = f"{count(total)} of {count(configured)} I/Os" if configured else f"{count(total)} I/Os"
    if table.load.flushes_in_flight >= _FLUSHES_MATTER * total:
        subject += f" and {count(table.load.flushes_in_flight)} flushes"
    elif configured and (in_all := (table.in_flight_ratio or 0.0) * configured) > (1 + FILLED_ERROR) * total:
        subject += f", but {count(in_all)} with those of its device,"
    because = [f"{subject} outstanding: the load asks for no more"]
    evidence = [*_share_outstanding(table, subject), *_held_back(table)]
    if (rate := requested_rate(table.facts, table.load)) is not None:
        error = hypot(_RATE_ERROR, rate_error(table.facts, table.load))
        density_of_rate = normal(min(rate.reached_ratio, 1.0), 1.0, error)
        evidence.append(Evidence(rate_in_words(rate), log(_REACH_RATE * density_of_rate + 1 - _REACH_RATE)))
        if rate_met(table.facts, table.load) is not None:
            because = [f"{rate_in_words(rate)}, with {because[0]}"]
    elif (between := _time_between(table)) is not None and between < _SHORTEST_PAUSE_SECONDS:
        words = f"only {duration(between)} pass between two I/Os: whoever waits on purpose waits longer"
        weight = max(_NO_PAUSE_LEAST, _NO_PAUSE_WEIGHT * log(max(between, 1e-9) / _SHORTEST_PAUSE_SECONDS))
        evidence.append(Evidence(words, weight))
    else:
        evidence += _saturates_many(table)
    weight, busy_ratio = never_idle(table)
    evidence += weighed(weight, f"its device is busy in {percent(busy_ratio)} of the time")
    if (share := held_back_for_a_while(table)) is not None:
        words = f"in {percent(share)} of the time all of its I/Os are outstanding, and fewer complete than otherwise"
        evidence.append(Evidence(words, _NOTHING_HOLDS_BACK))
    evidence += weighed(*slowdown_weight(table.load))
    # A rate is reached on slow storage too. A load that thinks after each I/O waits for it first.
    return of_the_load("demand_limited", frozenset(), evidence, because, "follows" if _thinks(table) else "any")


def _thinks(table: PlaceTable) -> bool:
    """Whether a load pauses between its I/Os, and not for a rate that is known."""
    return bool(table.step.rate_limited) and requested_rate(table.facts, table.load) is None


def _share_outstanding(table: PlaceTable, subject: str) -> Iterator[Evidence]:
    """Evidence of the share of its I/Os that the load keeps outstanding; `subject`: their number in words."""
    ratio = table.in_flight_ratio
    if ratio is None:
        return
    if _thinks(table) and ratio < 1 - FILLED_ERROR:
        # It pauses whatever limits. Without its pauses it would do as many more I/Os at most as are not outstanding,
        # over those that are (Little's law).
        most_gain = max(1 - ratio, FILLED_ERROR) / max(ratio, FILLED_ERROR)
        yield Evidence(f"{subject} are outstanding", _OF_GAIN * log(most_gain))
        return
    # Any ratio below full is equally probable: a load that asks for less may ask for anything.
    density = 1 / (1 - FILLED_ERROR) if ratio < 1 - 2 * FILLED_ERROR else normal(ratio, 0.9, FILLED_ERROR) / 10
    yield Evidence(
        f"{subject} are outstanding", log(max(density, 1e-3) / density_of_others(ratio, table.blocked_ratio))
    )


def _held_back(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of what is known of a rate, or a time to think, that was set."""
    ratio = table.in_flight_ratio
    if table.load.unlimited_ratio is not None:
        yield Evidence("the jobs that hold most I/Os have no rate and no time to think", _NOTHING_HOLDS_BACK)
        return
    if table.step.rate_limited:
        if ratio is not None and ratio <= 1 - FILLED_ERROR:
            yield Evidence("it was given a rate, or time to think", _HAS_RATE)
        return
    if table.facts.row_of(table.load)["rate_limited"] is False:
        yield Evidence("neither a rate nor time to think was set", _NOTHING_HOLDS_BACK)
        return
    yield Evidence("whether it was given a rate, or time to think, is not known", _NO_RATE)
    total = table.facts.ops_per_second_in(table.load.step)
    if (weight := set_by_hand(total)) > 0 and ratio is not None and ratio <= 1 - FILLED_ERROR:
        yield Evidence(f"{iops(total)} is close to a round number, as rates are that somebody has set", weight)
    elif ratio is None:
        yield from _paced(table)


def _time_between(table: PlaceTable) -> float | None:
    """Seconds between the end of an I/O and the start of the next one in its place, by Little's law, without the
    processor time of its thread. None: the load does not report how many it keeps outstanding, or has a rate, or all
    of them are outstanding."""
    load, ratio = table.load, table.in_flight_ratio
    if not load.in_flight_configured or ratio is None or ratio > 1 - FILLED_ERROR or table.step.rate_limited:
        return None
    busy_threads = threads_of(table.facts, load) * (load.cpu_ratio or 0.0)
    waiting = max(0.0, (1 - ratio) * load.in_flight_configured - busy_threads)
    return waiting / table.facts.ops_per_second_in(load.step)


def _paced(table: PlaceTable) -> list[Evidence]:
    """Evidence, of the I/Os in flight in all steps, that a load of unknown settings starts them at a rate.

    A load that has a rate in one step has one in all, and may be at a limit below it in any of them: the other steps
    tell no more than that it has one. What several programs of a host keep outstanding together may be any number.
    """
    in_flight = {
        load.step: (table.facts.in_flight_in(load.step), load.latency_error_ratio)
        for load in (*table.same_io, table.load)
        if load.latency_seconds
    }
    ratios = {step: closed_loop_ratio(*measured) for step, measured in in_flight.items()}
    if _varies(table.load):
        return []  # The mean of different numbers is seldom a whole one.
    weight = -log(ratios.pop(table.load.step, 1.0))
    has_rate, of_others = exp(_NO_RATE), prod((1 + 1 / ratio) / 2 for ratio in ratios.values())
    weight += log(of_others / (has_rate * of_others + 1 - has_rate))
    if table.load.seen_at_host:
        weight = min(0.0, weight)
    totals = [total for total, _ in in_flight.values()]
    words = f"{totals[-1]:.1f} I/Os are outstanding"
    if len(totals) > 1:
        words = f"{min(totals):.1f} to {max(totals):.1f} I/Os are outstanding in {len(totals)} steps"
    words += ": a load without a rate keeps a whole number of them outstanding"
    return [Evidence(words, weight)] if abs(weight) >= _TOO_ROUNDED else []


def _varies(load: LoadFacts) -> bool:
    """Whether the I/Os in flight differ between the windows of a load by more than clocks account for."""
    in_flight = [ops * latency_seconds for ops, latency_seconds, _ in load.windows_with_latency if ops]
    return len(in_flight) > 1 and max(in_flight) > _MOST_VARIATION * min(in_flight)


def _concurrency(table: PlaceTable) -> Claim:
    """Too few I/Os are in flight."""
    total = table.facts.in_flight_in(table.load.step)
    counted = [row for row in table.on_path if row["utilisation"] is not None]
    busiest = max(counted, key=lambda row: number(row, "utilisation"), default=None)
    words = f"{count(total)} I/Os are outstanding and nothing measured is saturated"
    if table.load.flushes_in_flight > total:
        words = f"{count(table.load.flushes_in_flight)} flushes are outstanding and nothing measured is saturated"
    elif (table.in_flight_ratio or 0.0) < 1 - 2 * FILLED_ERROR and table.load.in_flight_configured:
        configured = count(table.load.in_flight_configured)
        words = f"{count(total)} of {configured} I/Os are outstanding and nothing measured is saturated"
    elif table.load.in_flight_configured:
        words = f"every configured I/O is outstanding ({count(total)}) and nothing measured is saturated"
    if busiest is not None:
        words += f": the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}"
    because = [words, *_mostly_at_device(table)]
    if (slope := table.towards_more) is not None and slope.elasticity > _FOLLOWS:
        more_load = slope.other_load
        because.append(
            f"{count(table.load.in_flight_measured)} outstanding I/Os gave {iops(table.load.ops_per_second)}, and "
            f"{count(more_load.in_flight_measured)} gave {iops(more_load.ops_per_second)} over the same path"
        )
    evidence, ratio = [], table.in_flight_ratio
    if (
        ratio is not None
        and (weight := log(closed_loop_density(ratio) / density_of_others(ratio, table.blocked_ratio))) < 0
    ):
        # The threads cannot submit those that they have.
        words = f"only {percent(ratio)} of the configured I/Os are outstanding, so configuring more changes nothing"
        evidence.append(Evidence(words, weight))
    weight, words = tail_weight(table.load)
    evidence += weighed(-weight, words)
    evidence += weighed(*slowdown_weight(table.load))
    evidence += _saturates_many(table)
    if (times := number(table.facts.row_of(table.load), "device_share")) > _OF_OTHERS:
        words = f"the devices that it tests do {times:.1f} times its {table.load.direction}s: others use them as well"
        evidence.append(Evidence(words, _SHARED_DEVICE))
    if (larger := _as_many_bytes_of_larger(table)) is not None:
        size = kibibytes(larger.operation_bytes or 0.0)
        words = f"with blocks of {size}, and as many outstanding, as many bytes were moved"
        evidence.append(Evidence(words, _BYTES_LIMIT))
    if (opposite := _as_many_of_other_direction(table)) is not None:
        words = f"with as many outstanding, {opposite.direction}s reached {iops(opposite.ops_per_second)} as well"
        evidence.append(Evidence(words, _RATE_LIMITS))
    if (no_more := _no_more_with_more(table)) is not None:
        words = f"with {count(no_more.in_flight_configured or 0.0)} configured throughput is no higher"
        evidence.append(Evidence(words, _REFUTED))
    return of_the_load("concurrency_limited", frozenset(), evidence, because, "follows")


def _saturates_many(table: PlaceTable) -> list[Evidence]:
    total = table.facts.in_flight_in(table.load.step)
    words = f"{count(total)} outstanding I/Os are enough to saturate many devices"
    return weighed(saturates_many(table, total), words)


def _mostly_at_device(table: PlaceTable) -> Iterator[str]:
    """Says that nearly all of an I/O's time is that of its block device, which serves those that it gets."""
    if not table.queues:
        return
    share = table.seconds(range(1, len(table.segments))) / table.load.latency_seconds
    if share >= _MOSTLY:
        entity = table.queues[0].entity
        yield f"an I/O spends {percent(min(1.0, share))} of its time in {entity} and below"


def _as_many_bytes_of_larger(table: PlaceTable) -> LoadFacts | None:
    """Another load with as many outstanding I/Os of at least twice the size that moved no more bytes. None: there is
    none. With twice as many bytes outstanding, it is bytes that something limits."""
    load = table.load
    return next(
        (
            other
            for other in table.facts.loads
            if other.step != load.step
            and other.direction == load.direction
            and other.same_data(load, "align_bytes")
            and (other.operation_bytes or 0.0) >= _LARGER * (load.operation_bytes or inf)
            and isclose(other.in_flight_measured, load.in_flight_measured, rel_tol=_AS_MANY)
            and other.bytes_per_second <= (1 + FLAT) * load.bytes_per_second
        ),
        None,
    )


def _as_many_of_other_direction(table: PlaceTable) -> LoadFacts | None:
    """Another load with as many outstanding I/Os of the other direction that has the same throughput. None: there is
    none. Storage takes different times for reads and writes; a limit of I/Os a second counts both alike."""
    load = table.load
    return next(
        (
            other
            for other in table.facts.loads
            if other.step != load.step
            and other.direction != load.direction
            and other.same_size(load)
            and other.same_data(load, "read_ratio")
            and isclose(other.in_flight_measured, load.in_flight_measured, rel_tol=_AS_MANY)
            and isclose(other.ops_per_second, load.ops_per_second, rel_tol=_THE_SAME)
        ),
        None,
    )


def _no_more_with_more(table: PlaceTable) -> LoadFacts | None:
    """Another load of the same I/O that could keep twice as many outstanding and got no more. None: there is none.
    Where more got clearly less, and only once, something may have begun in that step."""
    load, configured = table.load, table.load.in_flight_configured
    others = (other for other in table.same_io if configured and other.at_least_as_many(load))
    return next(
        (
            other
            for other in others
            if (other.in_flight_configured or 0.0) >= 2 * (configured or 0.0)
            and other.ops_per_second <= (1 + FLAT) * load.ops_per_second
            and (other.ops_per_second >= (1 - FLAT) * load.ops_per_second or table.falls_each_time(other))
        ),
        None,
    )

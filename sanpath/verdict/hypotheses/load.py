"""The load itself is the limit: it requests no more I/O, or has too few I/Os in flight."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, hypot, isclose, log, prod

from sanpath.facts.load.loads import FLAT, LoadFacts
from sanpath.facts.table import number
from sanpath.units import count, duration, iops, kibibytes, percent
from sanpath.verdict.evidence.healthy import met_rate, rate_error, rate_in_words, requested_rate
from sanpath.verdict.evidence.likelihoods import normal_density, round_number_weight
from sanpath.verdict.evidence.outstanding import idle_weight, saturation_weight, sent_together
from sanpath.verdict.evidence.tail import tail_weight
from sanpath.verdict.evidence.variation import held_back_ratio, slowdown_weight
from sanpath.verdict.hypotheses.claim import Claim, Evidence, load_claim, weighed
from sanpath.verdict.places.submission import (
    FILLED_ERROR,
    closed_loop_density,
    closed_loop_ratio,
    density_of_others,
    threads_of,
)
from sanpath.verdict.places.table import PlaceTable

_MIN_PAUSE_SECONDS = 50e-6
"""Shortest sleep of a thread (Linux: PR_SET_TIMERSLACK of 50 microseconds; Windows: a millisecond)."""
_NO_PAUSE_WEIGHT, _MIN_NO_PAUSE_WEIGHT = 2.0, -4.0
"""Weight of the logarithm of a shorter time between I/Os, and the smallest result."""
_RATE_ERROR = 0.015
"""Relative error of a requested rate that is met: generators pace in bursts."""
_REACHED_SHARE = 0.9
"""Share of the loads that request no more and reach their requested rate. The others pause between I/Os, or wait for
each other."""
_RATE_SET_WEIGHT = 3.0
"""Log-likelihood ratio of a configured rate limit or think time: one in twenty of the loads with another limit has
one, and unused I/Os too."""
_GAIN_WEIGHT = 3.0
"""Weight of the logarithm of the throughput that a load would gain without its pauses. Without pauses it would reach
twice its throughput if half of its I/Os are outstanding. sanpath's own choice."""
_NOT_HELD_BACK_WEIGHT = -6.0
"""Log-odds that a load requests no more although no setting holds it back. Hardly any load pauses without a setting:
it starts an I/O whenever another one ends."""
_SHARED_DEVICE_RATIO, _SHARED_DEVICE_WEIGHT = 2.0, -4.0
"""Ratio of the tested devices' I/O to the load's from which others use them, as in the rule `device-shared`; and the
log-odds of too few outstanding I/Os at such devices, because many I/Os of others are outstanding too."""
_FOLLOWING_ELASTICITY = 0.3
"""Elasticity from which more I/Os in flight clearly raise throughput."""
_MOST_OF_THE_TIME = 0.9
"""Share of an I/O's time at its device from which the verdict mentions it."""
_NO_GAIN_WEIGHT = -5.0
"""Log-odds of too few outstanding I/Os if twice as many were configured without effect."""
_LARGER_RATIO, _SAME_IN_FLIGHT, _BYTES_LIMIT_WEIGHT = 2.0, 0.1, -7.0
"""Ratio of sizes from which I/Os are clearly larger; relative difference up to which two loads have the same number
of them; and log-odds of too few outstanding I/Os if larger ones move no more bytes."""
_SAME_THROUGHPUT, _RATE_LIMIT_WEIGHT = 0.02, -3.0
"""Relative difference up to which throughputs are the same, and log-odds of too few outstanding I/Os if reads and
writes have the same: sanpath's own choice."""
_NOTABLE_FLUSH_RATIO = 0.1
"""Ratio of flushes to I/Os in flight from which the verdict mentions them."""
_MIN_WEIGHT = 0.3
"""Smallest meaningful log-likelihood ratio of a number of I/Os: a large number is not known to a fraction of an
I/O."""
_MAX_VARIATION_RATIO = 1.5
"""Largest ratio of the I/Os in flight of a closed loop between windows: sanpath's own choice."""
_ABOVE_ARRAY_PRIOR = log(3)
"""Log-odds of a limit above the array: the load, its host and that host's queues are three places in one."""
_RATE_UNKNOWN_WEIGHT = -2.0
"""Log-odds of a load that does not report whether it has a rate limit: one in eight has one."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """Yield two claims: the load requests no more, and too few I/Os are in flight. If only an array counts the load,
    these two and a full host queue look alike: then they are one claim."""
    if table.load.seen_at_array:
        yield _above_the_array(table)
        return
    yield _demand(table)
    yield _concurrency(table)


def _above_the_array(table: PlaceTable) -> Claim:
    """Too few I/Os reach the array, for any reason."""
    inside = count(table.facts.in_flight_in(table.load.step))
    words = f"{inside} I/Os are in the array; how many wait above it was not measured"
    several = len(table.machines) > 1
    return Claim(
        "unread_host",
        None,
        frozenset(),
        [Evidence(words, 0.0)],
        prior=_ABOVE_ARRAY_PRIOR,
        verdict="cannot_tell",
        growth="any",
        place="the hosts, or what they ask for" if several else "the host, or what it asks for",
    )


def _demand(table: PlaceTable) -> Claim:
    """The load requests no more I/O."""
    configured, total = table.load.in_flight_configured, table.facts.in_flight_in(table.load.step)
    subject = f"{count(total)} of {count(configured)} I/Os" if configured else f"{count(total)} I/Os"
    if table.load.flushes_in_flight >= _NOTABLE_FLUSH_RATIO * total:
        subject += f" and {count(table.load.flushes_in_flight)} flushes"
    elif configured and (in_all := (table.in_flight_ratio or 0.0) * configured) > (1 + FILLED_ERROR) * total:
        subject += f", but {count(in_all)} with those of its device,"
    because = [f"{subject} outstanding: the load asks for no more"]
    evidence = [*_outstanding_evidence(table, subject), *_configured_rate_evidence(table)]
    if (rate := requested_rate(table.facts, table.load)) is not None:
        error = hypot(_RATE_ERROR, rate_error(table.facts, table.load))
        density_of_rate = normal_density(min(rate.reached_ratio, 1.0), 1.0, error)
        evidence.append(Evidence(rate_in_words(rate), log(_REACHED_SHARE * density_of_rate + 1 - _REACHED_SHARE)))
        if met_rate(table.facts, table.load) is not None:
            because = [f"{rate_in_words(rate)}, with {because[0]}"]
    elif (between := _time_between(table)) is not None and between < _MIN_PAUSE_SECONDS:
        words = f"only {duration(between)} pass between two I/Os: a deliberate pause is longer"
        weight = max(_MIN_NO_PAUSE_WEIGHT, _NO_PAUSE_WEIGHT * log(max(between, 1e-9) / _MIN_PAUSE_SECONDS))
        evidence.append(Evidence(words, weight))
    else:
        evidence += _saturation_evidence(table)
    weight, busy_ratio = idle_weight(table)
    evidence += weighed(weight, f"its device is busy {percent(busy_ratio)} of the time")
    if (share := held_back_ratio(table)) is not None:
        words = f"all of its I/Os are outstanding for {percent(share)} of the time, and fewer complete then"
        evidence.append(Evidence(words, _NOT_HELD_BACK_WEIGHT))
    evidence += weighed(*slowdown_weight(table.load))
    # A rate can also be reached on slow storage. A load that pauses after each I/O waits for it first.
    return load_claim("demand_limited", frozenset(), evidence, because, "follows" if _has_pauses(table) else "any")


def _has_pauses(table: PlaceTable) -> bool:
    """Whether a load pauses between its I/Os without a known rate."""
    return bool(table.step.rate_limited) and requested_rate(table.facts, table.load) is None


def _outstanding_evidence(table: PlaceTable, subject: str) -> Iterator[Evidence]:
    """Evidence from the share of its I/Os that the load keeps outstanding. `subject`: their number in words."""
    ratio = table.in_flight_ratio
    if ratio is None:
        return
    if _has_pauses(table) and ratio < 1 - FILLED_ERROR:
        # It pauses, whatever limits. Without pauses it would gain at most the ratio of its idle to its outstanding
        # I/Os (Little's law).
        most_gain = max(1 - ratio, FILLED_ERROR) / max(ratio, FILLED_ERROR)
        yield Evidence(f"{subject} are outstanding", _GAIN_WEIGHT * log(most_gain))
        return
    # Every ratio below full is equally probable: a load may request any smaller amount.
    density = (
        1 / (1 - FILLED_ERROR) if ratio < 1 - 2 * FILLED_ERROR else normal_density(ratio, 0.9, FILLED_ERROR) / 10
    )
    yield Evidence(
        f"{subject} are outstanding", log(max(density, 1e-3) / density_of_others(ratio, table.blocked_ratio))
    )


def _configured_rate_evidence(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence from a configured rate limit or think time."""
    ratio = table.in_flight_ratio
    if table.load.unlimited_ratio is not None:
        yield Evidence("the jobs with most of the I/Os have no rate limit and no think time", _NOT_HELD_BACK_WEIGHT)
        return
    if table.step.rate_limited:
        if ratio is not None and ratio <= 1 - FILLED_ERROR:
            yield Evidence("a rate limit or think time is configured", _RATE_SET_WEIGHT)
        return
    if table.facts.row_of(table.load)["rate_limited"] is False:
        yield Evidence("no rate limit or think time is configured", _NOT_HELD_BACK_WEIGHT)
        return
    yield Evidence("it is not known whether a rate limit or think time is configured", _RATE_UNKNOWN_WEIGHT)
    total = table.facts.ops_per_second_in(table.load.step)
    if (weight := round_number_weight(total)) > 0 and ratio is not None and ratio <= 1 - FILLED_ERROR:
        yield Evidence(f"{iops(total)} is close to a round number, like most configured rates", weight)
    elif ratio is None:
        yield from _rate_evidence(table)


def _time_between(table: PlaceTable) -> float | None:
    """Seconds between the end of an I/O and the start of the next one in its place (Little's law), without the
    processor time of its thread. None: the load does not report how many it keeps outstanding, has a rate, or keeps
    all of them outstanding."""
    load, ratio = table.load, table.in_flight_ratio
    if not load.in_flight_configured or ratio is None or ratio > 1 - FILLED_ERROR or table.step.rate_limited:
        return None
    busy_threads = threads_of(table.facts, load) * (load.cpu_ratio or 0.0)
    waiting = max(0.0, (1 - ratio) * load.in_flight_configured - busy_threads)
    return waiting / table.facts.ops_per_second_in(load.step)


def _rate_evidence(table: PlaceTable) -> list[Evidence]:
    """Evidence, from the I/Os in flight in all steps, that a load of unknown settings paces its I/Os.

    A load that has a rate in one step has one in all, and may be at a limit below the rate in any of them: the other
    steps only show that it has one. Several programs of a host together may keep any number outstanding.
    """
    in_flight = {
        load.step: (table.facts.in_flight_in(load.step), load.latency_error_ratio)
        for load in (*table.same_io, table.load)
        if load.latency_seconds
    }
    ratios = {step: closed_loop_ratio(*measured) for step, measured in in_flight.items()}
    if _varies(table.load):
        return []  # The mean of varying numbers is rarely a whole number.
    weight = -log(ratios.pop(table.load.step, 1.0))
    has_rate, of_others = exp(_RATE_UNKNOWN_WEIGHT), prod((1 + 1 / ratio) / 2 for ratio in ratios.values())
    weight += log(of_others / (has_rate * of_others + 1 - has_rate))
    if table.load.seen_at_host:
        weight = min(0.0, weight)
    totals = [total for total, _ in in_flight.values()]
    words = f"{totals[-1]:.1f} I/Os are outstanding"
    if len(totals) > 1:
        words = f"{min(totals):.1f} to {max(totals):.1f} I/Os are outstanding in {len(totals)} steps"
    words += ": a load without a rate keeps a whole number of them outstanding"
    return [Evidence(words, weight)] if abs(weight) >= _MIN_WEIGHT else []


def _varies(load: LoadFacts) -> bool:
    """Whether a load's I/Os in flight vary between windows by more than the clocks explain."""
    in_flight = [ops * latency_seconds for ops, latency_seconds, _ in load.windows_with_latency if ops]
    return len(in_flight) > 1 and max(in_flight) > _MAX_VARIATION_RATIO * min(in_flight)


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
    if (slope := table.towards_more) is not None and slope.elasticity > _FOLLOWING_ELASTICITY:
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
        # The threads have I/Os that they cannot submit.
        words = f"only {percent(ratio)} of the configured I/Os are outstanding, so configuring more changes nothing"
        evidence.append(Evidence(words, weight))
    weight, words = tail_weight(table.load)
    evidence += weighed(-weight, words)
    evidence += weighed(*slowdown_weight(table.load))
    evidence += _saturation_evidence(table)
    row = table.facts.row_of(table.load)
    if (times := number(row, "device_share")) > _SHARED_DEVICE_RATIO and row["others_outstanding"]:
        words = f"its devices do {times:.1f} times its {table.load.direction}s: other I/Os are outstanding there, too"
        evidence.append(Evidence(words, _SHARED_DEVICE_WEIGHT))
    if (of_other_size := _same_bytes_with_other_sizes(table)) is not None:
        size = kibibytes(of_other_size.operation_bytes or 0.0)
        words = f"with blocks of {size} and the same number outstanding, bytes/s were the same"
        evidence.append(Evidence(words, _BYTES_LIMIT_WEIGHT))
    if (opposite := _same_rate_in_other_direction(table)) is not None:
        words = f"{opposite.direction}s also reached {iops(opposite.ops_per_second)} with the same number outstanding"
        evidence.append(Evidence(words, _RATE_LIMIT_WEIGHT))
    if (no_more := _no_gain_with_more(table)) is not None:
        words = f"throughput is no higher with {count(no_more.in_flight_configured or 0.0)} configured"
        evidence.append(Evidence(words, _NO_GAIN_WEIGHT))
    return load_claim("concurrency_limited", frozenset(), evidence, because, "follows")


def _saturation_evidence(table: PlaceTable) -> list[Evidence]:
    total = sent_together(table)
    words = f"{count(total)} outstanding I/Os are enough to saturate many devices"
    return weighed(saturation_weight(table, total), words)


def _mostly_at_device(table: PlaceTable) -> Iterator[str]:
    """Words if an I/O spends nearly all of its time at its block device."""
    if not table.queues:
        return
    share = table.seconds(range(1, len(table.segments))) / table.load.latency_seconds
    if share >= _MOST_OF_THE_TIME:
        entity = table.queues[0].entity
        yield f"an I/O spends {percent(min(1.0, share))} of its time in {entity} or below it"


def _same_bytes_with_other_sizes(table: PlaceTable) -> LoadFacts | None:
    """A load with the same number of outstanding I/Os, of at least twice the size, that moved no more bytes, or of
    half the size that moved as many: then the limit is one of bytes. None: there is none."""
    own = table.load

    def is_bytes_limit(other: LoadFacts) -> bool:
        own_size, size = own.operation_bytes or 0.0, other.operation_bytes or 0.0
        if 0 < _LARGER_RATIO * own_size <= size:
            return other.bytes_per_second <= (1 + FLAT) * own.bytes_per_second
        # Smaller blocks that move more bytes are not at the same limit.
        moves_as_many = isclose(other.bytes_per_second, own.bytes_per_second, rel_tol=FLAT)
        return 0 < _LARGER_RATIO * size <= own_size and moves_as_many

    return next(
        (
            other
            for other in table.facts.loads
            if other.step != own.step
            and other.direction == own.direction
            and other.same_data(own, "align_bytes")
            and isclose(other.in_flight_measured, own.in_flight_measured, rel_tol=_SAME_IN_FLIGHT)
            and is_bytes_limit(other)
        ),
        None,
    )


def _same_rate_in_other_direction(table: PlaceTable) -> LoadFacts | None:
    """A load with the same number of outstanding I/Os of the other direction and the same throughput. Storage takes
    different times for reads and writes; a limit of I/Os a second counts both alike. None: there is none."""
    load = table.load
    return next(
        (
            other
            for other in table.facts.loads
            if other.step != load.step
            and other.direction != load.direction
            and other.same_size(load)
            and other.same_data(load, "read_ratio")
            and isclose(other.in_flight_measured, load.in_flight_measured, rel_tol=_SAME_IN_FLIGHT)
            and isclose(other.ops_per_second, load.ops_per_second, rel_tol=_SAME_THROUGHPUT)
        ),
        None,
    )


def _no_gain_with_more(table: PlaceTable) -> LoadFacts | None:
    """A load of the same I/O with at least twice the configured I/Os and no more throughput. A clear, single fall
    does not count, because something may have begun in that step. None: there is none."""
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

"""The load itself is the limit: its generator's processor, its machine's processors, its rate, or too few I/Os in
flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot, log, log1p
from typing import cast

from sanpath.diagnosis.experiment import Kind
from sanpath.facts.load.loads import FLAT, LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.units import count, duration, in_series, iops, percent
from sanpath.verdict.evidence.healthy import in_words, rate_error, rate_met, requested_rate
from sanpath.verdict.evidence.likelihoods import at_limit, normal, set_by_hand, without_pause
from sanpath.verdict.evidence.tail import tail_weight
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Conclusion, Evidence, Growth, limited_by
from sanpath.verdict.places.cpu_quota import quota_used
from sanpath.verdict.places.processors import as_busy_with_fewer, follows_load
from sanpath.verdict.places.submission import FILLED_ERROR, closed_loop_density, closed_loop_ratio, threads_of
from sanpath.verdict.places.table import PlaceTable

_CPU_ERROR = 0.04
"""A process limited by its core shows 97 to 100 % of it: the kernel spends some of the time on other work."""
_CPU_UNREAD = -1.5
_USUAL_COST_SECONDS = 4e-6
"""Processor time that a generator takes for an I/O, to a factor of a few: fio and DiskSpd 2 to 10 microseconds."""
_HALF_BUSY, _COST_WEIGHT, _COST_LEAST, _COST_MOST = 0.2, 1.5, -3.0, 2.0
"""Utilisation of a thread by that cost which says nothing, weight of its logarithm, and the limits of the result."""
_FULL_CORE = 3.5
"""Largest log-likelihood ratio of a full core, or of full processors: unrelated threads may fill them, or an engine
that polls."""
_CORES = (1, 0.04), (2, 0.16), (4, 0.36), (8, 0.56), (16, 0.74), (32, 0.86), (64, 0.94), (128, 0.98)
"""Numbers of processors, with the share of machines that have no more: the smallest cloud instances have one or two,
servers of two sockets up to some hundred threads."""
_LEAST_CORES_USED = 0.5
"""No machine has less than one."""
_FAIR_SHARE = 0.2
"""Share of a core that a thread gets beside many others that never pause."""
_NOT_STARVED = -4.0
"""Least log-odds of processors that make a load wait which hardly wants any."""
_BUSY_ANYWAY = -1.5
"""Log-odds of a processor that was as busy at clearly less throughput, with fewer I/Os in flight: it polls, or does
other work. One that limits is busy in proportion to its I/Os (utilisation law, Denning and Buzen 1978)."""
_ALL_BUSY = 0.05
"""Idle share of all processors together below which a full core is that of a full machine."""
_NOT_ONE_CORE = -3.0
"""Least log-odds of one full core as the limit on such a machine."""
_OF_THE_LOAD = 0.9
"""From this share of a core on, a process of the load accounts for a full core itself."""
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
_NOTHING_HOLDS_BACK = -6.0
"""Log-odds of a load that asks for no more although nothing was set that holds it back: it starts each I/O when
another one ends. Hardly any has pauses that its settings do not show."""
_FILL_HALF = 32.0
"""Outstanding I/Os that saturate half of what is tested: a disk takes a few, a flash drive some dozens, an array
hundreds. Other steps tell more."""
_OF_OTHERS, _SHARED_DEVICE = 2.0, -4.0
"""Ratio of what the tested devices do to what the load does from which others use them, as of the rule
`device-shared`, and the log-odds of too few outstanding I/Os there: many of others are outstanding as well."""
_FOLLOWS = 0.3
"""Elasticity from which more I/Os in flight clearly bring more throughput."""
_REFUTED = -5.0
"""Log-odds of too few outstanding I/Os where twice as many were given without effect."""
_FLUSHES_MATTER = 0.1
"""Ratio of flushes to I/Os in flight from which they are mentioned."""
_TOO_ROUNDED = 0.3
"""A smaller log-likelihood ratio of a number of I/Os says nothing: it is too large to be exact to a part of one."""
_NO_RATE = -2.0
"""Log-odds of a load that does not report whether it has a rate: one in eight has."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each of them."""
    yield _generator(table)
    yield from _machine(table)
    yield _demand(table)
    yield _concurrency(table)


def _generator(table: PlaceTable) -> Claim:
    """The processes of the load generator use their cores, or the CPU quota of their control group, fully."""
    cpu_ratio, (quota_ratio, quota_words) = table.load.cpu_ratio, quota_used(table.facts, table.load)
    # Above the first clock below the load, the host's or the array's, an I/O waits for the generator's own thread.
    # Where no such clock is read, only a thread that was seen to be busy, or stopped, accounts for it.
    is_timed = bool(table.segments) and (
        table.segments[0].kind != "below" or cpu_ratio is not None or bool(quota_words)
    )
    explains = frozenset({0}) if is_timed else frozenset[int]()
    if cpu_ratio is None:
        # None of its threads is busier than the busiest core of its machine, and a full core is mostly its own.
        words = "how busy the generator's processes are is not known"
        weight = _CPU_UNREAD
        cores = [used for row in table.machine_rows if isinstance(used := row["busiest_core_ratio"], float)]
        if cores:
            weight += min(_FULL_CORE, without_pause(max(cores)))
        else:
            ops, threads = table.facts.ops_per_second_in(table.load.step), threads_of(table.facts, table.load)
            if threads:
                words, weight = f"each of its threads starts {iops(ops / threads)}", _by_usual_cost(ops / threads)
            elif (of_one_thread := _by_usual_cost(ops)) < weight:
                words, weight = f"its threads start {iops(ops)} together", of_one_thread
    else:
        words, weight = f"a process of the load used {percent(cpu_ratio)} of a core", at_limit(cpu_ratio, _CPU_ERROR)
    is_shared = cpu_ratio is None
    if quota_words and (of_quota := at_limit(quota_ratio, _CPU_ERROR)) > weight:
        # A quota is shared by all processes, however many there are, and holds them on cores that idle.
        words, weight, is_shared = quota_words, of_quota, True
    evidence = [Evidence(words, weight), *_unused_slots(table)]
    because = (f"{words}; nothing measured below it is saturated",)
    # More outstanding I/Os may be those of more processes, each of which was seen to have a core of its own.
    return _claim("generator_limited", explains, evidence, because, "saturates" if is_shared else "any")


def _by_usual_cost(ops_per_second: float) -> float:
    """Log-likelihood ratio of threads that nothing shows to be busy, by the I/Os that each of them starts."""
    busy_ratio = _USUAL_COST_SECONDS * ops_per_second
    return max(_COST_LEAST, min(_COST_MOST, _COST_WEIGHT * log(max(busy_ratio, 1e-9) / _HALF_BUSY)))


def _machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of the load's machine are busy.

    They also handle what arrives from the network. So I/Os wait for them above the array, wherever the clocks are.
    """
    busiest = max(table.machine_rows, key=lambda row: number(row, "cpu_ratio"), default=None)
    if busiest is None or busiest["cpu_ratio"] is None:
        yield from _unread_machine(table)
        return
    words = f"{percent(number(busiest, 'cpu_ratio'))} of the processors of {busiest['entity']} are busy"
    explains = table.indices("host_queue", "host_receive", "fabric", "array_door", "below") | {0}
    weight = min(_FULL_CORE, without_pause(number(busiest, "cpu_ratio")))
    evidence = [Evidence(words, weight), *_busy_anyway(table, busiest, "cpu_ratio", weight)]
    used = table.load.cpu_ratio
    if used is not None and used < _FAIR_SHARE and not _works_for_load(table, busiest):
        # A thread that always wants to run gets its share of a core, whatever else runs.
        weight = max(_NOT_STARVED, 2 * log(max(used, 1e-3) / _FAIR_SHARE))
        evidence.append(Evidence(f"a process of the load wanted only {percent(used)} of a core", weight))
    evidence += _unused_slots(table)
    because = (f"{words}; nothing measured below it is saturated",)
    yield _claim("generator_limited", explains, evidence, because, prior=SELDOM)


def _unread_machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of a machine that no source reads: it may have no more than the processes of the load use."""
    threads = threads_of(table.facts, table.load)
    cores_used = threads * (table.load.cpu_ratio or 0.0)
    if threads < 2 or cores_used < _LEAST_CORES_USED:
        return
    fewer, (cores, no_more) = 0.0, _CORES[0]
    for larger, share in _CORES[1:]:
        if cores < cores_used:
            fewer, cores, no_more = no_more, larger, share
    words = f"its {count(threads)} processes use {cores_used:.2g} cores together, and the machine's are not known"
    explains = table.indices("host_queue", "host_receive", "fabric", "array_door", "below") | {0}
    just_as_many = log((no_more - fewer) / (1 - no_more))
    weight = just_as_many + min(_FULL_CORE, without_pause(min(1.0, cores_used / cores)))
    because = (f"{words}; nothing measured below it is saturated",)
    yield _claim("generator_limited", explains, [Evidence(words, weight)], because, prior=SELDOM)


def of_cores(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each machine of the load, or host of that, with a full core while the others idle.

    It serves the interrupts of an adapter, or a thread of the I/O path. Completions wait for the core, between the
    host's last clock and the array's. What has arrived and is not read waits for a core, also where none was read.
    """
    late = table.indices("host_receive")
    gaps = table.gaps | late
    waits = [Evidence(f"data wait until the host reads them, {table.wait_words(late)}", 0.0)] if late else []
    for row in table.machine_rows:
        entity, used = str(row["entity"]), cast("float | None", row["busiest_core_ratio"])
        evidence = list(waits)
        if used is not None:
            weight = min(_FULL_CORE, without_pause(used))
            # Where all processors are busy, it is not one core.
            idle_ratio = 1 - number(row, "cpu_ratio")
            if weight > 0:
                weight *= min(1.0, 2 * idle_ratio)
                weight += max(_NOT_ONE_CORE, min(0.0, log(max(idle_ratio, 1e-3) / _ALL_BUSY)))
            if (table.load.cpu_ratio or 0.0) >= _OF_THE_LOAD:
                weight = min(0.0, weight)
            evidence.insert(0, Evidence(f"the busiest core of {entity} is at {percent(used)}", weight))
            evidence += _busy_anyway(table, row, "busiest_core_ratio", weight)
        words = (reading.words for reading in evidence)
        because = (*words, "interrupts of an adapter, or one thread, can fill a core while the others idle")
        overturn_if = ("the same throughput while no core of the host is full",)
        conclude = limited_by(table, "host", because, overturn_if, waits_inside=True, utilisation=used)
        for index in sorted(late if used is None else gaps):
            gap = frozenset({index})
            yield Claim("core", entity, gap, evidence, conclude, SELDOM, group="cores", may_explain=gaps - gap)


def _works_for_load(table: PlaceTable, row: FactRow) -> bool:
    """Whether the processors of a host are busy in proportion to the load's I/Os."""
    return follows_load(table.facts, table.load, table.same_io, str(row["entity"]), "cpu_ratio")


def _busy_anyway(table: PlaceTable, row: FactRow, fact: str, weight: float) -> list[Evidence]:
    """Evidence that I/Os do not fill a processor. It outweighs how busy it is, whose log-likelihood ratio is
    `weight`. `row`: of the host in this step."""
    machine = str(row["entity"])
    words = as_busy_with_fewer(table.facts, table.load, table.same_io, machine, fact) if weight > 0 else None
    return [Evidence(words, _BUSY_ANYWAY - weight)] if words is not None else []


def _demand(table: PlaceTable) -> Claim:
    """The load asks for no more."""
    configured, total = table.load.in_flight_configured, table.facts.in_flight_in(table.load.step)
    subject = f"{count(total)} of {count(configured)} I/Os" if configured else f"{count(total)} I/Os"
    if table.load.flushes_in_flight >= _FLUSHES_MATTER * total:
        subject += f" and {count(table.load.flushes_in_flight)} flushes"
    because = [f"{subject} outstanding: the load asks for no more"]
    evidence = [*_share_outstanding(table, subject), *_held_back(table)]
    if (rate := requested_rate(table.facts, table.load)) is not None:
        error = hypot(_RATE_ERROR, rate_error(table.facts, table.load))
        density_of_rate = normal(min(rate[1] / rate[0], 1.0), 1.0, error)
        evidence.append(Evidence(in_words(rate), log(_REACH_RATE * density_of_rate + 1 - _REACH_RATE)))
        if rate_met(table.facts, table.load) is not None:
            because = [f"{in_words(rate)}, with {because[0]}"]
    elif (between := _time_between(table)) is not None and between < _SHORTEST_PAUSE_SECONDS:
        words = f"only {duration(between)} pass between two I/Os: whoever waits on purpose waits longer"
        weight = max(_NO_PAUSE_LEAST, _NO_PAUSE_WEIGHT * log(max(between, 1e-9) / _SHORTEST_PAUSE_SECONDS))
        evidence.append(Evidence(words, weight))
    return _claim("demand_limited", frozenset(), evidence, because, "any")


def _share_outstanding(table: PlaceTable, subject: str) -> Iterator[Evidence]:
    """Evidence of the share of its I/Os that the load keeps outstanding; `subject`: their number in words."""
    ratio = table.in_flight_ratio
    if ratio is None:
        return
    # Any ratio below full is equally probable: a load that asks for less may ask for anything.
    density = 1 / (1 - FILLED_ERROR) if ratio < 1 - 2 * FILLED_ERROR else normal(ratio, 0.9, FILLED_ERROR) / 10
    yield Evidence(f"{subject} are outstanding", log(max(density, 1e-3) / _density_of_others(table, ratio)))


def _held_back(table: PlaceTable) -> Iterator[Evidence]:
    """Evidence of what is known of a rate, or a time to think, that was set."""
    ratio = table.in_flight_ratio
    if table.step.rate_limited:
        if ratio is not None and ratio <= 1 - FILLED_ERROR:
            yield Evidence("it was given a rate, or time to think", _HAS_RATE)
        return
    if [row["rate_limited"] for row in _own_rows(table)] == [False]:
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

    A load that has a rate in one step has one in all, and may be at a limit below it in any of them.
    """
    in_flight = {
        load.step: (table.facts.in_flight_in(load.step), load.latency_error_ratio)
        for load in (*table.same_io, table.load)
        if load.latency_seconds
    }
    ratios = {step: closed_loop_ratio(*measured) for step, measured in in_flight.items()}
    weight = -log(ratios.pop(table.load.step, 1.0)) + sum(log((1 + 1 / ratio) / 2) for ratio in ratios.values())
    counts = in_series([f"{total:.1f}" for total, _ in in_flight.values()])
    words = f"{counts} I/Os are outstanding: a load without a rate has a whole number"
    return [Evidence(words, weight)] if abs(weight) >= _TOO_ROUNDED else []


def _concurrency(table: PlaceTable) -> Claim:
    """Too few I/Os are in flight."""
    total = table.facts.in_flight_in(table.load.step)
    counted = [row for row in table.on_path if row["utilisation"] is not None]
    busiest = max(counted, key=lambda row: number(row, "utilisation"), default=None)
    words = f"{count(total)} I/Os are outstanding and nothing measured is saturated"
    if table.load.flushes_in_flight > total:
        words = f"{count(table.load.flushes_in_flight)} flushes are outstanding and nothing measured is saturated"
    elif table.load.in_flight_configured:
        words = f"every configured I/O is outstanding ({count(total)}) and nothing measured is saturated"
    if busiest is not None:
        words += f": the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}"
    because = [words]
    if (slope := table.towards_more) is not None and slope.elasticity > _FOLLOWS:
        more_load = slope.other_load
        because.append(
            f"{count(table.load.in_flight_measured)} outstanding I/Os gave {iops(table.load.ops_per_second)}, and "
            f"{count(more_load.in_flight_measured)} gave {iops(more_load.ops_per_second)} over the same path"
        )
    evidence, ratio = [], table.in_flight_ratio
    if ratio is not None and (weight := log(closed_loop_density(ratio) / _density_of_others(table, ratio))) < 0:
        # The threads cannot submit those that they have.
        words = f"only {percent(ratio)} of the configured I/Os are outstanding, so configuring more changes nothing"
        evidence.append(Evidence(words, weight))
    weight, words = tail_weight(table.load)
    evidence += [Evidence(words, -weight)] if weight else []
    is_alone = not (table.towards_fewer or table.towards_more)
    if is_alone and table.array is None and total >= _FILL_HALF / 2:
        evidence.append(Evidence(f"{count(total)} outstanding I/Os fill many a path", -log1p(total / _FILL_HALF)))
    if (times := max((share for row in _own_rows(table) if (share := _share(row))), default=0.0)) > _OF_OTHERS:
        words = f"the devices that it tests do {times:.1f} times its {table.load.direction}s: others use them as well"
        evidence.append(Evidence(words, _SHARED_DEVICE))
    if (no_more := _no_more_with_more(table)) is not None:
        words = f"with {count(no_more.in_flight_configured or 0.0)} configured throughput is the same"
        evidence.append(Evidence(words, _REFUTED))
    return _claim("concurrency_limited", frozenset(), evidence, because, "follows")


def _own_rows(table: PlaceTable) -> list[FactRow]:
    return table.rows("load", direction=table.load.direction, entity=table.load.entity)


def _share(row: FactRow) -> float | None:
    return cast("float | None", row["device_share"])


def _no_more_with_more(table: PlaceTable) -> LoadFacts | None:
    """Another load of the same I/O that could keep twice as many outstanding and got no more. None: there is none."""
    load, configured = table.load, table.load.in_flight_configured
    others = (other for other in table.same_io if configured and other.at_least_as_many(load))
    return next(
        (
            other
            for other in others
            if (other.in_flight_configured or 0.0) >= 2 * (configured or 0.0)
            and other.ops_per_second <= (1 + FLAT) * load.ops_per_second
        ),
        None,
    )


def _density_of_others(table: PlaceTable, in_flight_ratio: float) -> float:
    """Density of the share of configured I/Os that are outstanding if something else limits: nearly all, unless the
    load's threads are kept from submitting them."""
    return table.blocked_ratio + (1 - table.blocked_ratio) * closed_loop_density(in_flight_ratio)


def _unused_slots(table: PlaceTable) -> list[Evidence]:
    """Evidence of unused I/Os in flight: a generator that cannot keep up leaves some unused with even odds."""
    if table.in_flight_ratio is None:
        return []
    others = _density_of_others(table, table.in_flight_ratio)
    weight = log(0.5 + 0.5 * others) - log(others)
    return [Evidence(f"{percent(table.in_flight_ratio)} of the configured I/Os are outstanding", weight)]


def _claim(
    verdict: Kind,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    because: Sequence[str],
    growth: Growth = "saturates",
    prior: float = 0.0,
) -> Claim:
    conclusion = Conclusion((), tuple(because))
    return Claim(
        verdict, None, explains, tuple(evidence), lambda _: conclusion, prior, verdict, growth=growth, hidden=True
    )

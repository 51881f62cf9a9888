"""The load itself holds the test: its generator's processor, those of its machine, a rate that it keeps to, or too
little in flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import log

from sanpath.verdict.evidence.healthy import in_words, rate_met, requested_rate
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, Growth, at_limit, normal
from sanpath.verdict.model import Kind
from sanpath.verdict.places.table import PlaceTable, processors
from sanpath.verdict.units import count, iops, percent

_CPU_ERROR = 0.04
"""A process that is limited by its core shows 97 to 100 % of it: some time is spent in the kernel on others."""
_CPU_UNREAD = -1.5
_MACHINE_ERROR = 0.03
_NO_BURSTS = 0.03
"""Share of the machines whose processors limit while they are idle for a part of the time: those of a step's mean."""
_MACHINE = -1.0
"""Log-odds that a machine's processors limit, before they were read: storage is tested with machines that can."""
_FILLED_ERROR = 0.03
"""I/Os in flight are throughput times latency, and a generator takes a moment between two I/Os."""
_RATE_ERROR = 0.015
"""A rate that was asked for is met to a few percent: generators pace in bursts."""
_PACED = 0.9
"""Share of the loads that want no more that reach the rate they ask for: others think, or wait for one another."""
_MISSED = -2.0
_FOLLOWS = 0.3
"""Elasticity from which on more in flight clearly brings more."""
_NO_RATE = -3.0
"""A load that tells neither a rate nor how many I/Os it may keep in flight hardly holds any back."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One each."""
    yield _generator(table)
    yield from _machine(table)
    yield _demand(table)
    yield _concurrency(table)


def _generator(table: PlaceTable) -> Claim:
    used = table.load.cpu_ratio
    # Above the first clock below it, be it the host's or the array's, an I/O waits for the generator's own thread.
    timed = table.segments[0].kind != "below" if table.segments else False
    explains = frozenset({0}) if timed else frozenset[int]()
    if used is None:
        evidence = [Evidence("how busy the generator's processes are is not known", _CPU_UNREAD)]
    else:
        evidence = [Evidence(f"a process of the load used {percent(used)} of a core", at_limit(used, _CPU_ERROR))]
    evidence += _filled(table, 0.5)
    because = (f"{evidence[0].words}; nothing below it is full",)
    return _claim("generator_limited", explains, evidence, "saturates", because)


def _machine(table: PlaceTable) -> Iterator[Claim]:
    """The processors of the machine that the load runs on: they take what arrives from the network, too, so that I/Os
    wait for them above the array wherever the clocks are."""
    busiest = max(processors(table.facts, table.load), default=None)
    if busiest is None:
        return
    used, machine = busiest
    words = f"{percent(used)} of the processors of {machine} are busy"
    explains = table.indices("host_queue", "fabric", "array_door", "below") | {0}
    evidence = [Evidence(words, at_limit(used, _MACHINE_ERROR, _NO_BURSTS)), *_filled(table, 0.5)]
    because = (f"{words}; nothing below it is full",)
    claim = _claim("generator_limited", explains, evidence, "saturates", because)
    yield replace(claim, prior=_MACHINE)


def _demand(table: PlaceTable) -> Claim:
    told, filled = table.load.in_flight_configured, table.in_flight_ratio
    total = sum(f.in_flight_measured for f in table.facts.loads if f.step == table.load.step)
    of = f"{count(total)} of {count(told)} I/Os were" if told else f"it has a rate, and {count(total)} I/Os were"
    because = [f"{of} in flight: the load wants no more"]
    evidence = []
    if filled is not None:
        # Anything less than full is as probable as any other: a load that wants less may want anything.
        likely = (
            1 / (1 - _FILLED_ERROR) if filled < 1 - 2 * _FILLED_ERROR else normal(filled, 0.9, _FILLED_ERROR) / 10
        )
        evidence.append(Evidence(because[0], log(max(likely, 1e-3) / _closed(filled))))
    elif not table.step.rate_limited:
        evidence.append(Evidence("it tells neither a rate nor how many I/Os it may keep in flight", _NO_RATE))
    if (rate := requested_rate(table.facts, table.load)) is not None:
        reached = normal(min(rate[1] / rate[0], 1.0), 1.0, _RATE_ERROR)
        evidence.append(Evidence(in_words(rate), log(_PACED * reached + 1 - _PACED)))
        if rate_met(table.facts, table.load) is not None:
            because = [f"{in_words(rate)}, with {because[0]}"]
    elif table.step.rate_limited and filled is not None and filled > 1 - _FILLED_ERROR:
        evidence.append(Evidence("every I/O that could be is in flight", _MISSED))
    return _claim("demand_limited", frozenset(), evidence, "any", tuple(because))


def _concurrency(table: PlaceTable) -> Claim:
    total = sum(f.in_flight_measured for f in table.facts.loads if f.step == table.load.step)
    busiest = max(
        (row for row in table.on_path if row["utilisation"] is not None),
        key=lambda row: float(row["utilisation"] or 0.0),
        default=None,
    )
    at = (
        f": the busiest link, {busiest['entity']}, is at {percent(float(busiest['utilisation'] or 0))}"
        if busiest
        else ""
    )
    told = table.load.in_flight_configured
    flying = (
        f"every I/O that was configured is in flight ({count(total)})" if told else f"{count(total)} are in flight"
    )
    because = [f"{flying} and nothing is full{at}"]
    if (slope := table.scaling.more) is not None and slope.elasticity > _FOLLOWS:
        more = slope.other
        because.append(
            f"{count(table.load.in_flight_measured)} in flight gave {iops(table.load.ops_per_second)}, and "
            f"{count(more.in_flight_measured)} gave {iops(more.ops_per_second)} over the same"
        )
    return _claim("concurrency_limited", frozenset(), (), "follows", tuple(because))


def _closed(filled: float) -> float:
    """Density of the share of configured I/Os that a closed loop keeps in flight."""
    return 0.99 * normal(min(filled, 1.0), 1.0, _FILLED_ERROR) + 0.01


def _filled(table: PlaceTable, share_open: float) -> list[Evidence]:
    """A generator that cannot keep up may leave slots unused, or not."""
    if table.in_flight_ratio is None:
        return []
    weight = log(share_open + (1 - share_open) * _closed(table.in_flight_ratio)) - log(_closed(table.in_flight_ratio))
    return [Evidence(f"{percent(table.in_flight_ratio)} of the configured I/Os are in flight", weight)]


def _claim(
    verdict: Kind,
    explains: frozenset[int],
    evidence: Sequence[Evidence],
    growth: Growth,
    because: tuple[str, ...],
) -> Claim:
    conclude = partial(_conclude, because)
    return Claim(verdict, verdict, None, explains, tuple(evidence), growth, conclude, hidden=True)


def _conclude(because: tuple[str, ...], _named: Sequence[Claim]) -> Conclusion:
    return Conclusion((), because)

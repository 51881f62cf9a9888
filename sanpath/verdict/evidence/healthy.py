"""Whether a test is healthy: the requested rate is met, with headroom and with nothing near its limit.

Anything that limits is never healthy. Anything that was not seen, not steady or hidden in an average does not count
as healthy.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.units import iops, percent
from sanpath.verdict.evidence.step import BUSY, drift, not_seen
from sanpath.verdict.places.processors import quota_used
from sanpath.verdict.places.table import PlaceTable

_MET = 0.97
"""Share of the requested rate from which it is met: generators pace in bursts."""
_RANDOM_STARTS = 2.0
"""Standard errors by which a rate is missed by chance, where I/Os start at random (vdbench): the square root of their
number."""
_BURSTS = 5.0
"""A 99th percentile of this many times the mean is a burst that the means of a step hide."""


class RequestedRate(NamedTuple):
    """What all loads of a step together ask for, and what they reach."""

    requested_ops_per_second: float
    reached_ops_per_second: float

    @property
    def reached_ratio(self) -> float:
        """Share of the requested rate that is reached."""
        return self.reached_ops_per_second / self.requested_ops_per_second


def requested_rate(facts: Facts, load: LoadFacts) -> RequestedRate | None:
    """The requested rate of the load's step. None: it is not known of all loads."""
    rows = [row for row in facts.tables["load"].select(step=load.step) if row["requested_ops_per_second"] is not None]
    requested = {str(row["entity"]): number(row, "requested_ops_per_second") for row in rows}
    total = sum(requested.values())
    is_known = len(rows) == len(facts.loads_in(load.step)) and total > 0
    return RequestedRate(total, facts.ops_per_second_in(load.step)) if is_known else None


def rate_met(facts: Facts, load: LoadFacts) -> RequestedRate | None:
    """The same where the requested rate is met. None: it is not met, or none is known."""
    rate = requested_rate(facts, load)
    least = min(_MET, 1 - _RANDOM_STARTS * rate_error(facts, load))
    if rate is None or rate.reached_ops_per_second < least * rate.requested_ops_per_second:
        return None
    return rate


def rate_error(facts: Facts, load: LoadFacts) -> float:
    """Standard error of the reached rate, as a ratio, if I/Os start at random times: of few, some more or less fall
    into a step (Poisson)."""
    seconds = next(step.seconds for step in facts.steps if step.name == load.step)
    return 1 / sqrt(max(1.0, facts.ops_per_second_in(load.step) * seconds))


def not_healthy(table: PlaceTable) -> str | None:
    """Why a load whose requested rate is met is not healthy. None: it is."""
    facts, load, array, links = table.facts, table.load, table.array, table.on_path
    not_read = not_seen(facts, load, links, array)
    if not_read:
        return f"not measured: {not_read[0]}"
    for row in links:
        if (utilisation := max(number(row, "utilisation"), number(row, "utilisation_p95"))) >= BUSY:
            return f"{row['entity']} is at {percent(utilisation)} in its busiest windows"
    if load.cpu_ratio is not None and load.cpu_ratio >= BUSY:
        return f"a process of the load uses {percent(load.cpu_ratio)} of a core"
    quota_ratio, quota_words = quota_used(facts, load)
    if quota_ratio >= BUSY:
        return quota_words
    if load.p99_seconds is not None and load.p99_seconds > _BURSTS * load.latency_seconds:
        times = load.p99_seconds / load.latency_seconds
        return f"the 99th percentile is {times:.0f} times the mean: the mean hides bursts"
    drift_words = drift(facts, load)
    return f"it is not steady: {drift_words}" if drift_words is not None else None


def rate_in_words(rate: RequestedRate) -> str:
    """The requested rate and the reached one, as a clause."""
    return f"{iops(rate.requested_ops_per_second)} were asked for and {iops(rate.reached_ops_per_second)} reached"

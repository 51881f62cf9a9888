"""Whether a test is healthy: it reaches the requested rate, has headroom, and nothing is near its limit.

A test with a bottleneck is never healthy. Neither is one that is unsteady, was not fully measured, or whose bursts
hide in a mean.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.units import iops, percent
from sanpath.verdict.evidence.step import BUSY, drift, unread_parts
from sanpath.verdict.places.processors import quota_used
from sanpath.verdict.places.table import PlaceTable

_MET_RATIO = 0.97
"""Share of the requested rate from which it is met: generators pace in bursts."""
_RANDOM_STARTS = 2.0
"""Standard errors by which a rate may be missed by chance if I/Os start at random times (vdbench). The standard error
is the square root of their number."""
_BURST_RATIO = 5.0
"""Ratio of 99th percentile to mean from which the means of a step hide bursts."""


class RequestedRate(NamedTuple):
    """What all loads of a step together request, and what they reach."""

    requested_ops_per_second: float
    reached_ops_per_second: float

    @property
    def reached_ratio(self) -> float:
        """Share of the requested rate that is reached."""
        return self.reached_ops_per_second / self.requested_ops_per_second


def requested_rate(facts: Facts, load: LoadFacts) -> RequestedRate | None:
    """The requested rate of the load's step. None: at least one load does not report it."""
    rows = [row for row in facts.tables["load"].select(step=load.step) if row["requested_ops_per_second"] is not None]
    requested = {str(row["entity"]): number(row, "requested_ops_per_second") for row in rows}
    total = sum(requested.values())
    is_known = len(rows) == len(facts.loads_in(load.step)) and total > 0
    return RequestedRate(total, facts.ops_per_second_in(load.step)) if is_known else None


def met_rate(facts: Facts, load: LoadFacts) -> RequestedRate | None:
    """The requested rate if it was reached. None: it was not, or is not known."""
    rate = requested_rate(facts, load)
    least = min(_MET_RATIO, 1 - _RANDOM_STARTS * rate_error(facts, load))
    if rate is None or rate.reached_ops_per_second < least * rate.requested_ops_per_second:
        return None
    return rate


def rate_error(facts: Facts, load: LoadFacts) -> float:
    """Standard error of the reached rate, as a ratio, if I/Os start at random times (Poisson): the fewer I/Os, the
    larger it is."""
    seconds = next(step.seconds for step in facts.steps if step.name == load.step)
    return 1 / sqrt(max(1.0, facts.ops_per_second_in(load.step) * seconds))


def unhealthy_reason(table: PlaceTable) -> str | None:
    """Why a load that reaches its requested rate is not healthy. None: it is healthy."""
    facts, load, array, links = table.facts, table.load, table.array, table.on_path
    not_read = unread_parts(facts, load, links, array)
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
    if load.p99_seconds is not None and load.p99_seconds > _BURST_RATIO * load.latency_seconds:
        times = load.p99_seconds / load.latency_seconds
        return f"the 99th percentile is {times:.0f} times the mean: the mean hides bursts"
    drift_words = drift(facts, load)
    return f"it is not steady: {drift_words}" if drift_words is not None else None


def rate_in_words(rate: RequestedRate) -> str:
    """The requested rate and the reached one, as a clause."""
    return f"{iops(rate.requested_ops_per_second)} were requested and {iops(rate.reached_ops_per_second)} reached"

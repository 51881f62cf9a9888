"""From the claims of one load to their probabilities: waits that they explain, how throughput scales, their evidence.

Each wait on the path is a share of the time from its door on. If a claim explains it, any share will do, and the more
the better; if not, it should be small. A queue of the host that is full above the accused place is held by it. What
throughput does with more I/Os in flight separates what is saturated from what only wants more of them. Steps with the
same throughput are held by the same thing: their evidence is taken together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, log, prod
from typing import NamedTuple

from sanpath.verdict.hypotheses import (
    array,
    data_sheet,
    device_ports,
    links,
    load,
    path_policy,
    queues,
    retries,
    slow_drain,
    uncounted_links,
    unread_host,
    unseen,
)
from sanpath.verdict.hypotheses.claim import DEPTH_ERROR, Claim, at_limit, normal
from sanpath.verdict.places.scaling import alike
from sanpath.verdict.places.segments import Segment
from sanpath.verdict.places.table import PlaceTable

HYPOTHESES: Sequence[Callable[[PlaceTable], Iterable[Claim]]] = (
    links.claims,
    uncounted_links.claims,
    device_ports.claims,
    path_policy.claims,
    slow_drain.claims,
    retries.claims,
    queues.claims,
    array.claims,
    data_sheet.claims,
    load.claims,
    unread_host.claims,
    unseen.claims,
)
"""All that may hold a load: to add one is to write its module and to name it here."""

_UNEXPLAINED = 0.08
"""Mean share of waiting at a place that does not limit: queueing at moderate load, and clocks that do not agree."""
_FOR_PROCESSORS = 0.5
"""The most that waiting for busy processors adds to that."""
_AT_KNEE = 0.15
"""Density of no waiting at all at a place that limits: just at the knee."""
_HARDLY = 0.01
_WEIGHTS = (0.25, 0.5, 0.25)
"""Of the low, likely and high wait."""
_FILLED_UNTOLD = 0.8
"""How probable it is that a queue of unknown depth above a saturated place is full."""
_NEVER = 1e-4
"""Any wait may be a clock's mistake."""
_SLOPE_ERROR = 0.1
"""Of an elasticity, between a step and one with twice as many in flight."""
_SAME_PLATEAU = 0.06
"""Throughputs that differ by about this are held by the same thing."""
_NO_WEIGHT = 0.01
_REPEATED = 0.25
"""What another step of the same plateau adds: its evidence is not independent."""
_TEMPERATURE = 0.8
"""Readings are not independent of each other: by the reliability of the verdicts on drawn cases."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A claim with its probability among all that were made of the load."""

    claim: Claim
    probability: float


_Key = tuple[str, str, str | None, frozenset[int]]


class _Local(NamedTuple):
    """What one step by itself says of a claim: by its readings, by where I/Os wait, and by how full queues are."""

    readings: float
    waits: float
    slots: float


def weighed(tables: Sequence[PlaceTable]) -> list[list[Suspicion]]:
    """Of each table the claims by probability, the most probable first."""
    made = [[claim for hypothesis in HYPOTHESES for claim in hypothesis(table)] for table in tables]
    local = [{_key(c): _local(table, c) for c in claims} for table, claims in zip(tables, made, strict=True)]
    return [_posterior(i, tables, made, local) for i in range(len(tables))]


def _key(claim: Claim) -> _Key:
    return claim.verdict, claim.kind, claim.entity, claim.explains


def _posterior(
    i: int, tables: Sequence[PlaceTable], made: Sequence[Sequence[Claim]], local: Sequence[Mapping[_Key, _Local]]
) -> list[Suspicion]:
    table = tables[i]
    beside = [
        (weight, other.load.in_flight_measured > table.load.in_flight_measured, scores)
        for other, scores in zip(tables, local, strict=True)
        if other is not table and (weight := _same_plateau(table, other)) > _NO_WEIGHT
    ]
    logits = []
    for claim in made[i]:
        key = _key(claim)
        readings, waits = [(1.0, local[i][key].readings)], [(1.0, local[i][key].waits)]
        for weight, more, scores in beside:
            if key in scores:
                readings.append((weight, scores[key].readings))
                # Waits stand out the more, the more I/Os are in flight: fewer tell nothing new.
                waits += [(weight, scores[key].waits)] if more else []
        score = _pooled(readings) + _pooled(waits) + local[i][key].slots + _scaling(table, claim)
        logits.append(_TEMPERATURE * (claim.prior + score))
    top = max(logits, default=0.0)
    shares = [exp(logit - top) for logit in logits]
    total = sum(shares)
    found = [Suspicion(claim, share / total) for claim, share in zip(made[i], shares, strict=True)]
    return sorted(found, key=lambda one: -one.probability)


def _pooled(told: Sequence[tuple[float, float]]) -> float:
    """(weight, log-likelihood) of several steps: their mean, worth a little more the more of them there are."""
    several = sum(weight for weight, _ in told)
    mean = sum(weight * score for weight, score in told) / several
    return mean * (1 + _REPEATED * (several - 1))


def _same_plateau(table: PlaceTable, other: PlaceTable) -> float:
    """How surely another step is held by the same thing: the same I/O, with more or fewer in flight, and the same
    throughput."""
    # Where a machine has moved, its steps before are not among those that are compared.
    if (
        other.load.step == table.load.step
        or other.load not in table.facts.loads
        or not alike(table.facts.loads, table.load, other.load)
    ):
        return 0.0
    apart = log(other.load.ops_per_second / table.load.ops_per_second) / _SAME_PLATEAU
    more = abs(log(other.load.in_flight_measured / table.load.in_flight_measured))
    return exp(-(apart**2)) * min(1.0, more / log(2.0))


def _local(table: PlaceTable, claim: Claim) -> _Local:
    readings = sum(one.weight for one in claim.evidence if not one.of_slots)
    slots = sum(one.weight for one in claim.evidence if one.of_slots) + _full_above(table, claim)
    return _Local(readings, _waits(table, claim), slots)


def _full_above(table: PlaceTable, claim: Claim) -> float:
    """That the slots of a queue are all in use is as probable where it is held from below as where it limits."""
    if not _holds(claim):
        return 0.0
    above = table.segments[: max(claim.explains, default=0)]
    return sum(
        _held_above(segment) * max(0.0, at_limit(segment.filled, DEPTH_ERROR))
        for index, segment in enumerate(above)
        if index not in claim.explains and index not in claim.also and segment.filled
    )


def _holds(claim: Claim) -> bool:
    """Whether it fills the slots above: I/Os that wait for a time-out do as those that wait for each other."""
    return claim.growth == "saturates" or claim.alone


def _waits(table: PlaceTable, claim: Claim) -> float:
    """Logarithm of the density of the waits, given the claim."""
    busy = table.processor_seconds
    lowest = max(claim.explains, default=-1)
    shown = sum(table.segments[index].wait[1] for index in claim.explains)
    total = 0.0
    if claim.verdict == "demand_limited":
        # Why an I/O takes as long as it does is another question than why there are no more of them: it may be
        # slow nowhere, at one place, or at several.
        strays = [_stray(segment, busy) for segment in table.segments if not segment.hides]
        once = sum(prod(strays) / stray for stray in strays) / max(1, len(strays))
        return log((prod(strays) + once + prod((stray + 1) / 2 for stray in strays)) / 3)
    for index, segment in enumerate(table.segments):
        if segment.hides:
            continue
        if index in claim.also:
            # Commands wait behind frames that stand still, about as long as these: where none does, neither do they.
            stands = claim.growth != "saturates" and segment.wait[1] > 0
            behind = min(1.0, shown / segment.wait[1]) / 2 if stands else 0.5
            total += log(behind * _limiting(segment, _HARDLY) + (1 - behind) * _stray(segment, busy))
        elif index not in claim.explains:
            held = _held_above(segment) if index < lowest and _holds(claim) else 0.0
            total += log(held + (1 - held) * _stray(segment, busy))
    own = [table.segments[index] for index in sorted(claim.explains)]
    hides = max((segment.hides for segment in own), default=0.0)
    if hides and len(own) > 1:
        # Service that nothing is compared with shows no wait and excludes none: then the rest shows it, or nothing.
        rest = [segment for segment in own if not segment.hides]
        elsewhere = prod(_stray(segment, busy) for segment in rest)
        return total + log((1 - hides) * _own(rest, claim, busy) + hides * elsewhere)
    if claim.alone:
        own = [replace(segment, wait=segment.lost) for segment in own]
    return total + log(_own(own, claim, busy)) if own else total


def _own(own: Sequence[Segment], claim: Claim, busy: float) -> float:
    """Density of the waits at the segments that a claim accounts for: it may show in one of them or be spread over
    several; one that no clock contains need not show at all. What holds frames up without being full shows in their
    time, or holds nothing."""
    at_knee = _AT_KNEE if claim.growth == "saturates" else _HARDLY
    everywhere = prod(_stray(segment, busy) for segment in own)
    likely = min(1.0, sum(segment.wait_shares[1] for segment in own))
    single = sum(
        _limiting(segment, at_knee) * prod(_stray(other, busy) for other in own if other is not segment)
        for segment in own
    ) / len(own)
    seen = (single + _at_limit(likely, at_knee)) / 2 if len(own) > 1 else single
    if claim.alone:
        # It takes no share of the others' room: what costs a few percent of the time limits nothing.
        seen *= max(_HARDLY, 1.5 * likely)
    return (seen + everywhere) / 2 if claim.hidden else seen


def _held_above(segment: Segment) -> float:
    """How surely a queue above is full, so that what waits there is held by what limits below. One that lets through
    all that it is offered holds nothing; of one whose depth nobody tells that is less probable than not."""
    if segment.queue is None:
        return 0.0
    if segment.filled is None:
        return _FILLED_UNTOLD
    return 0.95 / (1 + exp(-(segment.filled - 0.75) / 0.05)) if segment.queue.holds_back else 0.0


def _stray(segment: Segment, busy: float) -> float:
    """Density of the wait at a place that does not limit. `busy`: seconds that an I/O may wait for processors, here
    or elsewhere."""
    longer = min(_FOR_PROCESSORS, busy / segment.door_seconds) if segment.door_seconds else 0.0
    return (_of_mean(segment, _UNEXPLAINED) + _of_mean(segment, _UNEXPLAINED + longer)) / 2


def _of_mean(segment: Segment, usual: float) -> float:
    """Density of the wait where its mean share is known."""
    low, likely, high = segment.wait_shares
    if segment.blind and high > low + 1e-6:
        return (exp(-low / usual) - exp(-high / usual)) / (high - low) + _NEVER
    densities = (exp(-share / usual) / usual for share in (low, likely, high))
    return sum(weight * density for weight, density in zip(_WEIGHTS, densities, strict=True)) + _NEVER


def _limiting(segment: Segment, at_knee: float) -> float:
    """Density of the wait at a place that limits."""
    low, likely, high = segment.wait_shares
    if segment.blind:
        return _at_limit((low + high) / 2, at_knee)
    return sum(
        weight * _at_limit(share, at_knee) for weight, share in zip(_WEIGHTS, (low, likely, high), strict=True)
    )


def _at_limit(share: float, at_knee: float) -> float:
    """1 - knee / in flight of the time is waiting, and tests go well beyond the knee."""
    return at_knee + 2 * (1 - at_knee) * share


def _scaling(table: PlaceTable, claim: Claim) -> float:
    """What the slopes of throughput say of a claim."""
    found = 0.0
    if (slope := table.scaling.more) is not None:
        # The same throughput is the same give or take a few percent, however many more are in flight.
        apart = log(slope.other.in_flight_measured / table.load.in_flight_measured) / log(2.0)
        e, error = slope.elasticity, hypot(slope.error, _SLOPE_ERROR / max(1.0, apart))
        flat = 0.9 * (normal(e, 0.0, error) if e > 0 else normal(e, 0.0, 3 * error) * 3) + 0.01
        follows = 0.4 * normal(e, 1.0, error + 0.05) + (0.5 if -0.1 <= e <= 1.1 else 0.05)
        found += log({"saturates": flat, "follows": follows}.get(claim.growth, (flat + follows) / 2))
    if (slope := table.scaling.fewer) is not None:
        e, error = slope.elasticity, hypot(slope.error, _SLOPE_ERROR)
        flat = 0.4 * normal(e, 0.0, 2 * error) + (0.5 if -0.1 <= e <= 1.1 else 0.1)
        follows = 0.95 * normal(e, 1.0, error + 0.05) + 0.004
        found += log({"saturates": flat, "follows": follows}.get(claim.growth, (flat + follows) / 2))
    return found

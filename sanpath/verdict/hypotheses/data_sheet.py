"""An unread device is at the limit of its data sheet, as a person entered it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import log
from operator import attrgetter

from sanpath.facts.figures.model import BEATEN_RATIO
from sanpath.facts.figures.promises import Promise, promises_of
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.units import percent
from sanpath.verdict.evidence.likelihoods import limit_weight
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Conclusion, Evidence, conclusion_of, next_limit
from sanpath.verdict.places.table import PlaceTable

_PROMISE_ERROR = 0.04
"""Standard error of a data sheet's figure: it is rounded."""
_DEVICE_ERROR = 0.15
"""Relative standard error of a data sheet, compared with the real device."""
_EXCEEDED_RATIO = 1.05
"""Throughput of another step, as a multiple of the promise, from which the promise is no limit."""
_EXCEEDED_WEIGHT = -8.0
"""Log-odds of a promise that another step exceeded: sanpath's own choice, about 1 to 3000, because that step may have
had other I/Os."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each device below the load whose data sheet a person entered.

    A promise that another step exceeded is not the limit. One that any step exceeded by far limits nothing.
    """
    if not table.facts.by_hand.ceilings:
        return
    in_steps = [p for load in table.facts.loads if load.roots == table.load.roots for p in _promises(table, load)]
    # Entity → the largest share of its promise that any step of the same loads used.
    highest = {promise.entity: promise.used_ratio for promise in sorted(in_steps, key=attrgetter("used_ratio"))}
    promises = [p for p in _promises(table, table.load) if highest[p.entity] <= BEATEN_RATIO]
    promises.sort(key=lambda promise: -promise.used_ratio)
    for promise in promises:
        evidence = [Evidence(str(promise), limit_weight(min(1.0, promise.used_ratio), _PROMISE_ERROR))]
        if promise.used_ratio > 1:
            beyond = log(promise.used_ratio) / _DEVICE_ERROR
            evidence.append(Evidence("that is more than it promises", -(beyond**2) / 2))
        if highest[promise.entity] > promise.used_ratio * _EXCEEDED_RATIO:
            evidence.append(Evidence(f"another step used {percent(highest[promise.entity])} of it", _EXCEEDED_WEIGHT))
        other_promises = [candidate for candidate in promises if candidate is not promise]
        conclude = partial(_conclude, table, promise, other_promises)
        yield Claim("data_sheet", promise.entity, table.below_host, tuple(evidence), conclude, SELDOM)


def _conclude(
    table: PlaceTable, first: Promise, other_promises: Sequence[Promise], claims: Sequence[Claim]
) -> Conclusion:
    load = table.load
    because = (
        str(first),
        *(f"{promise.entity} does {percent(promise.used_ratio)}: {promise.words}" for promise in other_promises),
        "its own counters were not read: its limit was entered by hand",
    )
    # The promise that would be reached next if this device were replaced, unless it is already reached.
    following = None
    if other_promises and (second := other_promises[0]).used_ratio < 1:
        following = next_limit(load, second.entity, "by its data sheet", load.ops_per_second / second.used_ratio)
    overturn_if = (
        "more throughput of the same mix with more outstanding I/Os",
        "a saturated processor of the load generator: it was not measured",
    )
    # Measured throughput is at most the ceiling: an exceeded promise is a rough one.
    ratio, used = 1 / min(1.0, first.used_ratio), first.used_ratio
    return conclusion_of(
        table, "array_back", because, overturn_if, ceiling_ratio=ratio, following=following, utilisation=used
    )(claims)


def _promises(table: PlaceTable, load: LoadFacts) -> list[Promise]:
    """The promises of the devices below a table's load. `load`: the same load in any step."""
    facts = table.facts
    both = [step_load for step_load in facts.loads_in(load.step) if step_load.roots == load.roots]
    devices = sorted({*volumes_of(facts.topology, load, facts.tables), *table.arrays})
    ports = [facts.topology.related(array, "member_of", "array_port") for array in table.arrays]
    return list(promises_of(load, both, facts.by_hand.ceilings, devices, ports))

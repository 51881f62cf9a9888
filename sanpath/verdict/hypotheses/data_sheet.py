"""A device that no source reads does what its data sheet promises, as a person noted it down.

A device that shares its time between reads and writes is busy by the sum of both: U = X_read / C_read + X_write /
C_write (utilisation law, Denning and Buzen 1978). The ports of one device carry their sum, each direction by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from operator import attrgetter

from sanpath.facts.compute import Facts
from sanpath.facts.figures.model import BEATEN_RATIO
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.units import bandwidth, counted, iops, percent
from sanpath.verdict.evidence.likelihoods import at_limit
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Conclusion, Evidence, limited_by, next_of
from sanpath.verdict.places.table import PlaceTable

_ROUND = 0.04
"""Standard error of a promise: a data sheet's figure is a round number."""
_DEVICE_ERROR = 0.15
"""Relative standard error of a data sheet against the device in the rack."""
_EXCEEDED = 1.05
"""Factor of throughput in another step from which this promise is no limit."""
_REFUTED = -8.0


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a data sheet promises for a device, or for all its ports together. `used_ratio`: share of it that the step
    uses."""

    entity: str
    used_ratio: float
    words: str

    def __str__(self) -> str:
        return f"{self.entity} does {percent(self.used_ratio)} of the limit entered for it: {self.words}"


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each device below the load whose data sheet somebody noted down.

    A promise that another step exceeded is not the limit, and one that any step has beaten by far limits nothing.
    """
    in_steps = [p for load in table.facts.loads if load.roots == table.load.roots for p in _promises(table, load)]
    # Entity → the largest share of its promise that any step of the same loads used.
    highest = {promise.entity: promise.used_ratio for promise in sorted(in_steps, key=attrgetter("used_ratio"))}
    promises = [p for p in _promises(table, table.load) if highest[p.entity] <= BEATEN_RATIO]
    promises.sort(key=lambda promise: -promise.used_ratio)
    for promise in promises:
        evidence = [Evidence(str(promise), at_limit(min(1.0, promise.used_ratio), _ROUND))]
        if promise.used_ratio > 1:
            beyond = log(promise.used_ratio) / _DEVICE_ERROR
            evidence.append(Evidence("that is more than it promises", -(beyond**2) / 2))
        if highest[promise.entity] > promise.used_ratio * _EXCEEDED:
            evidence.append(Evidence(f"another step took {percent(highest[promise.entity])} of it", _REFUTED))
        other_promises = [candidate for candidate in promises if candidate is not promise]
        conclude = partial(_conclude, table, promise, other_promises)
        yield Claim("data_sheet", promise.entity, table.below_host, tuple(evidence), conclude, SELDOM)


def _conclude(
    table: PlaceTable, first: _Promise, other_promises: Sequence[_Promise], claims: Sequence[Claim]
) -> Conclusion:
    load = table.load
    because = (
        str(first),
        *(f"{promise.entity} does {percent(promise.used_ratio)}: {promise.words}" for promise in other_promises),
        "its own counters were not read: its limit was entered by hand",
    )
    # The promise that would be reached next if this device were replaced, unless it is reached already.
    following = None
    if other_promises and (second := other_promises[0]).used_ratio < 1:
        following = next_of(load, second.entity, "by its data sheet", load.ops_per_second / second.used_ratio)
    overturn_if = (
        "more throughput of the same mix with more outstanding I/Os",
        "a saturated processor of the load generator: it was not measured",
    )
    # What was measured is no more than the ceiling: a promise that is exceeded is a rough one.
    ratio, used = 1 / min(1.0, first.used_ratio), first.used_ratio
    return limited_by(
        table, "array_back", because, overturn_if, ceiling_ratio=ratio, following=following, utilisation=used
    )(claims)


def _promises(table: PlaceTable, load: LoadFacts) -> Iterator[_Promise]:
    """The promises of the devices below a table's load. `load`: the same load in any step."""
    facts = table.facts
    for entity in sorted({*volumes_of(facts.topology, load, facts.tables), *table.arrays}):
        if (promise := _both_directions(facts, load, entity)) is not None:
            yield promise
    for array in table.arrays:
        if (promise := _front(facts, load, array)) is not None:
            yield promise


def _both_directions(facts: Facts, load: LoadFacts, entity: str) -> _Promise | None:
    """The promise of the device itself, in the unit of which the largest share is used. None: nothing was noted
    down."""
    both = [step_load for step_load in facts.loads_in(load.step) if step_load.roots == load.roots]
    promises = []
    for unit, formatted in (("bytes_per_second", bandwidth), ("ops_per_second", iops)):
        used_ratio, words = 0.0, []
        for direction in (None, *dict.fromkeys(step_load.direction for step_load in both)):
            if (promised := facts.by_hand.ceilings.get((entity, unit, direction))) is not None:
                limit, source = promised
                these = [step_load for step_load in both if direction in (None, step_load.direction)]
                throughput = sum(float(getattr(step_load, unit)) for step_load in these)
                used_ratio += throughput / limit
                name = "" if direction is None else f"{direction} "
                words.append(f"{name}{formatted(throughput)} of {formatted(limit)} ({source})")
        if words:
            promises.append(_Promise(entity, used_ratio, " and ".join(words)))
    return max(promises, key=lambda promise: promise.used_ratio, default=None)


def _front(facts: Facts, load: LoadFacts, array: str) -> _Promise | None:
    """The promise of all ports of a device together. None: the data sheet does not give every port."""
    ports = facts.topology.related(array, "member_of", "array_port")
    promised = [facts.by_hand.ceilings.get((port, "bytes_per_second", None)) for port in ports]
    port_rates = [port_promise[0] for port_promise in promised if port_promise is not None]
    if not port_rates or len(port_rates) < len(ports):
        return None
    words = f"{load.direction} {bandwidth(load.bytes_per_second)} of {bandwidth(sum(port_rates))}"
    words += f" over {counted(len(ports), 'port')}"
    if len(ports) > 1 and load.bytes_per_second > max(port_rates):
        words += f", more than one alone carries ({bandwidth(max(port_rates))}): several are in use"
    return _Promise(ports[0], load.bytes_per_second / sum(port_rates), words)

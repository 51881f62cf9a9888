"""What a data sheet promises, reached: a device that nobody reads, beside what a person noted down that it can do.

A device that shares its time between reads and writes is busy by the sum of both: U = X_read / C_read + X_write /
C_write (utilisation law, Denning and Buzen 1978). Ports of one device carry their sum, each direction by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import log

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.topology.paths import targets_of
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, at_limit
from sanpath.verdict.model import Bottleneck, Next
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import bandwidth, iops, percent

_ROUND = 0.04
"""A data sheet's figure is a round number."""
_OFF = 0.15
"""Relative: how far the device in the rack may differ from what is written of it."""
_MORE = 1.05
"""Throughput of another step that shows that this is no limit."""
_REFUTED = -8.0
_SHEET = -1.0
"""Log-odds of a promise being the limit, against what was measured."""


@dataclass(frozen=True, slots=True)
class _Promise:
    """What a data sheet says of a device, or of all its ports together. `used`: share of it that the step takes."""

    entity: str
    used: float
    said: str


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One for each device below the load whose data sheet somebody noted down. What was beaten is no limit: of a
    promise that another step went beyond only the share of that is in use."""
    promises = sorted(_promises(table.facts, table.load), key=lambda promise: -promise.used)
    explains = table.indices("below", "fabric", "array_door", "array_queue", "array_service")
    for first in promises:
        most = max(
            (
                promise.used
                for other in table.facts.loads
                if other.roots == table.load.roots
                for promise in _promises(table.facts, other)
                if promise.entity == first.entity
            ),
            default=first.used,
        )
        words = f"{first.entity} does {percent(first.used)} of what its data sheet promises: {first.said}"
        evidence = [Evidence(words, at_limit(min(1.0, first.used), _ROUND))]
        if first.used > 1:
            beyond = log(first.used) / _OFF
            evidence.append(Evidence("that is more than it promises", -(beyond**2) / 2))
        if most > first.used * _MORE:
            evidence.append(Evidence(f"another step took {percent(most)} of it", _REFUTED))
        others = [promise for promise in promises if promise is not first]
        conclude = partial(_conclude, table, first, others)
        yield Claim(
            "bottleneck", "data_sheet", first.entity, explains, tuple(evidence), "saturates", conclude, _SHEET
        )


def _conclude(table: PlaceTable, first: _Promise, others: Sequence[_Promise], _named: Sequence[Claim]) -> Conclusion:
    facts, load = table.facts, table.load
    because = (
        f"{first.entity} does {percent(first.used)} of what its data sheet promises: {first.said}",
        *(f"{other.entity} does {percent(other.used)}: {other.said}" for other in others),
        "its own counters were not read: the data sheet alone tells its limit",
    )
    bottleneck = Bottleneck(
        entity=first.entity,
        kind="data_sheet",
        layer="array_back",
        direction=load.direction,
        utilisation=first.used,
        ceiling_bytes_per_second=load.bytes_per_second / first.used,
        ceiling_ops_per_second=load.ops_per_second / first.used,
        wait_at=wait_at(facts, load, first.entity),
        because=because,
        overturn_if=(
            "more throughput of the same mix with more I/Os in flight",
            "a processor of the load generator that is full: it was not seen",
        ),
    )
    return Conclusion((bottleneck,), because, _next(load, others))


def _next(load: LoadFacts, others: Sequence[_Promise]) -> Next | None:
    """The next promise that would be reached with another device in its place."""
    if not others or others[0].used >= 1:
        return None
    low, high, flight = load.ops_per_second, load.ops_per_second / others[0].used, load.in_flight_measured
    return Next(others[0].entity, "by its data sheet", (low, high), (flight / high, flight / low))


def _promises(facts: Facts, load: LoadFacts) -> Iterator[_Promise]:
    ports, volumes = targets_of(facts.topology, *load.roots)
    arrays = {array for end in (*ports, *volumes) for array in facts.topology.related(end, "member_of", "array")}
    for entity in sorted(volumes | arrays):
        if (told := _both_directions(facts, load, entity)) is not None:
            yield told
    for array in sorted(arrays):
        if (told := _front(facts, load, array)) is not None:
            yield told


def _both_directions(facts: Facts, load: LoadFacts, entity: str) -> _Promise | None:
    """The device itself, in the unit in which most of what its data sheet promises is used."""
    both = [other for other in facts.loads if other.step == load.step and other.roots == load.roots]
    found = []
    for unit, say in (("bytes_per_second", bandwidth), ("ops_per_second", iops)):
        used, said = 0.0, []
        if (whole := facts.by_hand.ceilings.get((entity, unit, None))) is not None:
            moved = sum(float(getattr(other, unit)) for other in both)
            used, said = moved / whole[0], [f"{say(moved)} of {say(whole[0])} ({whole[1]})"]
        for other in both:
            if (told := facts.by_hand.ceilings.get((entity, unit, other.direction))) is not None:
                moved = float(getattr(other, unit))
                used += moved / told[0]
                said.append(f"{other.direction} {say(moved)} of {say(told[0])} ({told[1]})")
        if said:
            found.append(_Promise(entity, used, " and ".join(said)))
    return max(found, key=lambda promise: promise.used, default=None)


def _front(facts: Facts, load: LoadFacts, array: str) -> _Promise | None:
    """The ports of a device together, where the data sheet tells of each."""
    ports = facts.topology.related(array, "member_of", "array_port")
    each = [facts.by_hand.ceilings.get((port, "bytes_per_second", None)) for port in ports]
    known = [told[0] for told in each if told is not None]
    if not known or len(known) < len(ports):
        return None
    said = f"{load.direction} {bandwidth(load.bytes_per_second)} of {bandwidth(sum(known))} over {len(ports)} ports"
    if load.bytes_per_second > max(known):
        said += f", more than one alone carries ({bandwidth(max(known))}): several are in use"
    return _Promise(ports[0], load.bytes_per_second / sum(known), said)

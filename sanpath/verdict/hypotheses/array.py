"""The array is saturated: in front of its own clock, at its controllers, or behind them; or a limit that was set is
reached there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import log

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer, Scalar
from sanpath.topology.paths import host_of, targets_of
from sanpath.verdict.evidence.step import flat_throughput, queues_inside, slowed_within, takes_from_others
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, at_limit
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.places.host_queues import below_queues, wait_at
from sanpath.verdict.places.segments import wire_seconds
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import bandwidth, duration, iops, percent

_REACHED = 0.9
"""Share of its QoS limit at which a volume is held by it: the mean over a step lies a little below the limit."""
_USUAL_CAP = 0.01
"""Mean share of the latency that waits for a limit that is not reached: bursts that are smoothed."""
_UNSEEN = -0.5
"""Log-odds of what nobody looks into, against what has a counter of its own that could have shown it."""
_UNCOUNTED = -1.2
"""Links that nobody counted are as good an explanation of a gap as the array's door."""
_SLOWED = 3.0
"""The array took clearly longer and the load got clearly less, within one step: nothing else does that."""
_TAKEN = 1.5
_NO_BURSTS = 0.03
"""Share of what limits inside an array that its means over a step do not show at its limit."""
_BUSY = 0.9
"""Share of their time from which on controllers are the front end that limits."""
_PARTS = {
    "controller_busy_ratio": "the processors of the busiest controller",
    "media_busy_ratio": "the busiest media",
    "write_cache_used_ratio": "the write caches",
}
_FRONT = 2.0
"""Queue over service time from which on I/Os clearly wait for the controllers and not for the media, as long as"""
_SAME = 1.5
"""service time is below this many times that at the other loads: media that are full make it grow with the load."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One for each array behind the load, in front of its clock and behind it, and one for a limit that was set."""
    row = table.array
    if row is None or not table.indices("array_service", "cap"):
        yield from _unread(table)
    else:
        entity = _whole(table.facts, str(row["entity"]))
        # Where the array times the transfer itself, what waits in that is no wait for its door.
        door = table.indices("array_door") or table.indices("fabric")
        before = (*_door(table), *_used_up(row, "controller_busy_ratio"))
        yield Claim("bottleneck", "array", entity, door, before, "saturates", partial(_at_door, table), _UNSEEN)
        inside = table.indices("array_queue", "array_service")
        evidence = tuple(_inside(table, row))
        yield Claim("bottleneck", "array", entity, inside, evidence, "saturates", partial(_saturated, table))
    yield from _caps(table)


def _unread(table: PlaceTable) -> Iterator[Claim]:
    targets = sorted(targets_of(table.facts.topology, *table.load.roots)[0])
    for entity in table.arrays or [path.array_port for path in table.paths][:1] or targets[:1]:
        evidence = (Evidence("the array's own time was not read", 0.0),)
        explains = table.indices("below", "fabric", "array_door")
        yield Claim(
            "bottleneck", "array", entity, explains, evidence, "saturates", partial(_by_exclusion, table), _UNSEEN
        )


def _door(table: PlaceTable) -> tuple[Evidence, ...]:
    """The wire needs a time that is known, if its links were counted."""
    if any(row["utilisation"] is None for row in table.on_path) or table.uncounted:
        return (Evidence("the links between were not all counted", _UNCOUNTED),)
    return ()


def _used_up(row: FactRow, *facts: str) -> Iterator[Evidence]:
    """What the array says is full. Room left there excludes nothing: something else of it may be full."""
    for fact in facts:
        if (used := row.get(fact)) is not None and (weight := at_limit(float(used), bursts=_NO_BURSTS)) > 0:
            yield Evidence(f"{_PARTS[fact]} of {row['entity']} are at {percent(float(used))}", weight)


def _full_inside(table: PlaceTable, row: FactRow) -> Iterator[Evidence]:
    yield from _used_up(row, "controller_busy_ratio", "media_busy_ratio")
    if table.load.direction == "write":
        yield from _used_up(row, "write_cache_used_ratio")


def _inside(table: PlaceTable, row: FactRow) -> Iterator[Evidence]:
    yield from _full_inside(table, row)
    if slowed_within(row):
        yield Evidence(_slowed(row), _SLOWED)
    if takes_from_others(table.facts, table.load, row):
        yield Evidence("what the test gained from more I/Os in flight, others lost", _TAKEN)


def _caps(table: PlaceTable) -> Iterator[Claim]:
    explains = table.indices("cap")
    row = table.array
    reached = next(iter(_reached_limits(table.facts, table.load)), None)
    if explains:
        waited = number(row or {}, "qos_limit_seconds")
        words = f"I/Os wait {duration(waited)} for a limit that was set at the array"
        weight = max(0.0, at_limit(reached[2])) if reached is not None else _waits_for_cap(waited, table)
        entity = reached[0] if reached is not None else str((row or {})["entity"])
    elif reached is not None and (row is None or row["qos_limit_seconds"] is None):
        # An array that does not say how long I/Os wait for its limits may hold them back all the same.
        words, weight, entity = f"{reached[1]} is reached", at_limit(reached[2]), reached[0]
        explains = table.indices("below", "fabric", "array_door", "array_service")
    else:
        return
    evidence = (Evidence(words, weight),)
    yield Claim(
        "configured_cap", entity.partition(":")[0], entity, explains, evidence, "saturates", partial(_capped, table)
    )


def _waits_for_cap(waited: float, table: PlaceTable) -> float:
    """Log-likelihood ratio of a wait for a limit: where none is reached it is next to nothing, else any share."""
    return min(4.0, max(0.0, waited / table.load.latency_seconds / _USUAL_CAP + log(_USUAL_CAP)))


def _capped(table: PlaceTable, named: Sequence[Claim]) -> Conclusion:
    """A limit that was set is reached; of which volume is said where that volume stands at its limit."""
    facts, load, row = table.facts, table.load, table.array
    reached = _reached_limits(facts, load)
    entity, limit = (*reached, (str(named[0].entity), "a QoS limit", 0.0))[0][:2]
    because = (f"{limit} of {entity} is reached",)
    if row is not None and row["qos_limit_seconds"]:
        waited = f"{duration(number(row, 'qos_limit_seconds'))} of {duration(load.latency_seconds)}"
        because = (f"an I/O waits {waited} in {entity} because {limit} is reached there",)
    bottleneck = Bottleneck(
        entity=entity,
        kind=entity.partition(":")[0],
        layer="array_front",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        coincident=tuple(other for other, _, _ in reached[1:]),
        wait_at=wait_at(facts, load, entity),
        because=because,
        overturn_if=("no time waited for a QoS limit at the same IOPS",),
    )
    return Conclusion((bottleneck,), because)


def _saturated(table: PlaceTable, named: Sequence[Claim]) -> Conclusion:
    """Most of the time passes in the array, waiting."""
    facts, load, array = table.facts, table.load, table.array or {}
    entity = str(named[0].entity)
    inside, below = number(array, "array_seconds"), below_queues(facts, load)
    flat = flat_throughput(facts, load)
    layer = _layer(facts, load, array)
    slowed = slowed_within(array)
    reached = load.quarters[1] if slowed and load.quarters is not None else load.ops_per_second
    because = (
        *((_slowed(array),) if slowed else ()),
        *(one.words for one in _full_inside(table, array)),
        *_grown(array),
        *(("the array serves an I/O as fast as at the other loads",) if layer == "array_front" else ()),
        *(("throughput does not grow with the load",) if flat else ()),
        *(_taken(facts, load, array) if not flat else ()),
        f"its own time is {duration(inside)} of the {duration(below)} below the queue of the operating system",
    )
    return _conclusion(table, entity, layer, because, reached, _explains(array))


def _at_door(table: PlaceTable, named: Sequence[Claim]) -> Conclusion:
    """Most of the time passes between the host's clock and the array's, and no link between them accounts for it."""
    load, entity = table.load, str(named[0].entity)
    gap = sum(table.segments[i].middle for i in named[0].explains)
    wire = wire_seconds(table.facts, load)
    busiest = max(table.on_path, key=lambda row: number(row, "utilisation"), default=None)
    because = [
        f"{duration(gap)} of {duration(load.latency_seconds)} pass between the host's clock and that of {entity}"
    ]
    if wire is not None:
        because.append(f"the transfer of a block takes {duration(wire)}")
    if busiest is not None and busiest["utilisation"] is not None:
        because.append(f"the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}")
    because.append("an array that lets I/Os in one after the other waits before its own clock starts")
    return _conclusion(table, entity, "array_front", because, load.ops_per_second, None)


def _by_exclusion(table: PlaceTable, named: Sequence[Claim]) -> Conclusion:
    """Nobody read the array; what was read does not account for the wait."""
    load, entity = table.load, str(named[0].entity)
    wait = sum(table.segments[i].wait[1] for i in named[0].explains)
    because = (
        f"about {duration(wait)} of {duration(load.latency_seconds)} are waiting below the last clock that was read",
        f"nothing that was read accounts for it, and {entity} was not read",
    )
    return _conclusion(table, entity, "array_back", because, load.ops_per_second, None)


def _conclusion(
    table: PlaceTable, entity: str, layer: Layer, because: Sequence[str], reached: float, explains: float | None
) -> Conclusion:
    load = table.load
    bottleneck = Bottleneck(
        entity=entity,
        kind=entity.partition(":")[0],
        layer=layer,
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second * reached / load.ops_per_second,
        ceiling_ops_per_second=reached,
        wait_at=wait_at(table.facts, load, entity),
        explains=explains,
        because=tuple(because),
        overturn_if=(
            "throughput that grows by more than 5 % with more I/Os in flight",
            "a job of the array or another host's load that ends while the test runs",
        ),
    )
    return Conclusion((bottleneck,), tuple(because))


def _taken(facts: Facts, load: LoadFacts, array: FactRow) -> tuple[str, ...]:
    if not takes_from_others(facts, load, array):
        return ()
    return ("the array as a whole does no more than at a lower load: what the test gained, others lost",)


def _slowed(array: FactRow) -> str:
    held, grown = number(array, "held_throughput"), number(array, "growth_within")
    return (
        f"from the first quarter of the step to the last throughput falls to {percent(held)}, and the array takes "
        f"{grown:.1f} times as long: it was not saturated when the step began"
    )


def _whole(facts: Facts, entity: str) -> str:
    """The array: what is saturated is no volume of it, even where only the volume tells of the test's own I/Os."""
    return next(iter(facts.topology.related(entity, "member_of", "array")), entity)


def _reached_limits(facts: Facts, load: LoadFacts) -> list[tuple[str, str, float]]:
    """What stands at its QoS limit, reads and writes together, the limit in words, and the share of it in use: the
    volume, the group it is in, or the array for what it gives the host. []: none, or several that are not the limits
    of the load's volumes, one of each."""
    found = []
    volumes = sorted(targets_of(facts.topology, *load.roots)[1])
    for fact, say in (("bytes_per_second", bandwidth), ("ops_per_second", iops)):
        for volume in volumes:
            told = facts.topology.entities[volume].attributes
            if limit := _reached(told.get(f"qos_{fact}"), _sum(facts, load, [volume], fact)):
                found.append((volume, f"its QoS limit of {say(limit)}", _sum(facts, load, [volume], fact) / limit))
            group = told.get("volume_group")
            if limit := _reached(told.get(f"group_qos_{fact}"), _sum(facts, load, _members(facts, volume), fact)):
                moved = _sum(facts, load, _members(facts, volume), fact)
                found.append((volume, f"the QoS limit of {say(limit)} of its volume group {group}", moved / limit))
        host = host_of(facts.topology, load.roots[0]) if len(load.roots) == 1 else None
        if host is not None:
            moved = sum(getattr(one, fact) for one in facts.loads if one.step == load.step)
            if limit := _reached(facts.topology.entities[host].attributes.get(f"qos_{fact}"), moved):
                entity = volumes[0] if len(volumes) == 1 else host
                found.append(
                    (entity, f"the QoS limit of {say(limit)} of the host {host.partition(':')[2]}", moved / limit)
                )
    each = len({entity for entity, _, _ in found}) == len(found) and all(entity in volumes for entity, _, _ in found)
    return found if len(found) == 1 or each else []


def _reached(limit: Scalar, moved: float) -> float | None:
    """A limit that is there and reached."""
    reached = isinstance(limit, int | float) and moved >= _REACHED * limit > 0
    return float(limit) if reached and isinstance(limit, int | float) else None


def _sum(facts: Facts, load: LoadFacts, volumes: Sequence[str], fact: str) -> float:
    rows = facts.tables["volume"].select(step=load.step)
    return sum(number(row, fact) for row in rows if row["entity"] in volumes)


def _members(facts: Facts, volume: str) -> list[str]:
    """The volumes of the group that a volume is in."""
    group = facts.topology.entities[volume].attributes.get("volume_group")
    arrays = facts.topology.related(volume, "member_of", "array")
    same = [one.id for one in facts.topology.of_kind("volume") if one.attributes.get("volume_group") == group]
    return [one for one in same if facts.topology.related(one, "member_of", "array") == arrays]


def _layer(facts: Facts, load: LoadFacts, array: FactRow) -> Layer:
    """The front end where I/Os wait to be served and service takes no longer than at other loads, else the back."""
    if (busy := array.get("controller_busy_ratio")) is not None and float(busy) >= _BUSY:
        return "array_front"
    # What is full from the middle of a step on has filled: a buffer in front of the media.
    if slowed_within(array) or not queues_inside(array, _FRONT):
        return "array_back"
    entity = str(array["entity"])
    rows = facts.tables[entity.partition(":")[0]].select(entity=entity, direction=load.direction)
    others = {other.step for other in facts.loads if other.comparable(load) and other.step != load.step}
    served = [number(row, "service_seconds") for row in rows if row["step"] in others and row["service_seconds"]]
    return "array_front" if served and number(array, "service_seconds") < _SAME * min(served) else "array_back"


def _grown(array: FactRow) -> tuple[str, ...]:
    said = []
    if queues_inside(array):
        queue, service = number(array, "queue_seconds"), number(array, "service_seconds")
        said.append(f"I/Os wait {duration(queue)} in the array to be served for {duration(service)}")
    if number(array, "growth") > 1:
        grown = number(array, "growth")
        said.append(f"service and queue time of the array is {grown:.1f} times that of the lowest load")
    return tuple(said)


def _explains(array: FactRow) -> float | None:
    """(R - R without the limit) / R: an I/O would take as long as at the lowest load, or as its service alone. The
    wait above the array goes with it: it is there because of it.
    """
    inside, growth = number(array, "array_seconds"), number(array, "growth")
    calm = inside / growth if growth > 1 else number(array, "service_seconds")
    return min(1.0, max(0.0, 1 - calm / inside)) if inside and calm else None

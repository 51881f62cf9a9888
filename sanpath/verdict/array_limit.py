"""The array as what limits: saturated, at its front end or behind it, or holding back for a QoS limit."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.model import Layer, Scalar
from sanpath.topology.paths import host_of, targets_of
from sanpath.verdict.evidence import flat_throughput, not_seen, queues_inside, slowed_within, takes_from_others
from sanpath.verdict.judged import Judgement, graded, wait_at
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.queues import below_queues
from sanpath.verdict.units import bandwidth, duration, iops, percent

_REACHED = 0.9
"""Share of its QoS limit at which a volume is held by it: the mean over a step lies a little below the limit."""
_FRONT = 2.0
"""Queue over service time from which on I/Os clearly wait for the controllers and not for the media, as long as"""
_SAME = 1.5
"""service time is below this many times that at the other loads: media that are full make it grow with the load."""


def configured_cap(facts: Facts, load: LoadFacts, array: FactRow, windows: int) -> Judgement:
    """A QoS limit of the array is reached; of which volume is said where that volume stands at its limit."""
    entity, limit = _reached_limit(facts, load) or (str(array["entity"]), "a QoS limit")
    waited = f"{duration(number(array, 'qos_limit_seconds'))} of {duration(load.latency_seconds)}"
    because = (f"an I/O waits {waited} in {entity} because {limit} is reached there",)
    bottleneck = Bottleneck(
        entity=entity,
        kind=entity.partition(":")[0],
        layer="array_front",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        wait_at=wait_at(facts, load, entity),
        because=because,
        overturn_if=("no time waited for a QoS limit at the same IOPS",),
    )
    return Judgement(load, "configured_cap", graded("B", windows), (bottleneck,), because, None, windows)


def array_bottleneck(
    facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow, windows: int
) -> Judgement:
    """The array is saturated: no link is near its limit, and most of the time passes in it, waiting."""
    entity = _whole(facts, str(array["entity"]))
    inside, below = number(array, "array_seconds"), below_queues(facts, load)
    unseen = not_seen(facts, load, links, array)
    flat = flat_throughput(facts, load)
    layer = _layer(facts, load, array)
    slowed = slowed_within(array)
    reached = load.quarters[1] if slowed and load.quarters is not None else load.ops_per_second
    because = (
        *((_slowed(array),) if slowed else ()),
        *_grown(array),
        *(("the array serves an I/O as fast as at the other loads",) if layer == "array_front" else ()),
        *(("throughput does not grow with the load",) if flat else ()),
        *(_taken(facts, load, array) if not flat else ()),
        f"its own time is {duration(inside)} of the {duration(below)} below the queue of the operating system",
        *(f"{what} could not be seen" for what in unseen),
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind=entity.partition(":")[0],
        layer=layer,
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second * reached / load.ops_per_second,
        ceiling_ops_per_second=reached,
        wait_at=wait_at(facts, load, entity),
        explains=_explains(array),
        because=because,
        overturn_if=(
            "throughput that grows by more than 5 % with more I/Os in flight",
            "a job of the array or another host's load that ends while the test runs",
        ),
    )
    grade = graded("B", windows) if flat and not unseen else "C"
    return Judgement(load, "bottleneck", grade, (bottleneck,), because, None, windows)


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


def _reached_limit(facts: Facts, load: LoadFacts) -> tuple[str, str] | None:
    """What stands at its QoS limit, reads and writes together, and the limit: the volume, the group it is in, or the
    array for what it gives the host. None: none, or several."""
    found = []
    volumes = sorted(targets_of(facts.topology, *load.roots)[1])
    for fact, say in (("bytes_per_second", bandwidth), ("ops_per_second", iops)):
        for volume in volumes:
            told = facts.topology.entities[volume].attributes
            if limit := _reached(told.get(f"qos_{fact}"), _sum(facts, load, [volume], fact)):
                found.append((volume, f"its QoS limit of {say(limit)}"))
            group = told.get("volume_group")
            if limit := _reached(told.get(f"group_qos_{fact}"), _sum(facts, load, _members(facts, volume), fact)):
                found.append((volume, f"the QoS limit of {say(limit)} of its volume group {group}"))
        host = host_of(facts.topology, load.roots[0]) if len(load.roots) == 1 else None
        if host is not None:
            moved = sum(getattr(one, fact) for one in facts.loads if one.step == load.step)
            if limit := _reached(facts.topology.entities[host].attributes.get(f"qos_{fact}"), moved):
                entity = volumes[0] if len(volumes) == 1 else host
                found.append((entity, f"the QoS limit of {say(limit)} of the host {host.partition(':')[2]}"))
    return found[0] if len(found) == 1 else None


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

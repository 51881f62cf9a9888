"""Names of entities on the first screen: with their noun or owner, long identifiers shortened, others counted."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.diagnosis.model import Bottleneck
from sanpath.topology.names import IDENTIFIER, named, noun
from sanpath.topology.topology import Topology
from sanpath.units import counted

_MAX_LETTERS = 20
"""Longest identifier, in letters, that is not shortened in the middle (identifiers differ at their end): sanpath's
own choice, half a column."""
QUEUES = ("hba", "lun", "vdisk")
"""Kinds of a bottleneck that are queues of hosts."""


def described(topology: Topology, entity: str) -> str:
    """An entity with its noun: network port host1 eth1."""
    return named(noun_of(topology, entity), readable(entity))


def noun_of(topology: Topology, entity: str) -> str:
    """The kind of an entity in words."""
    known = topology.entities.get(entity)
    return noun(entity, None if known is None else known.attributes.get("technology"))


def readable(entity: str) -> str:
    """The name of an entity: `switch_port:sw1/fc1/7` is sw1 fc1/7; a link is its two ends."""
    ends = (entity.partition(":")[2] or entity).split("--")
    return "–".join(_end(end) for end in ends)


def with_owner(entity: str) -> str:
    """The name of a part with its owner: `lun:esx7/naa.1` is naa.1 on esx7."""
    owner, _, local_name = entity.partition(":")[2].partition("/")
    return f"{_shortened(local_name)} on {_shortened(owner)}" if local_name else readable(entity)


def _end(name: str) -> str:
    owner, _, local_name = name.partition("/")
    return " ".join(_shortened(word) for word in (owner, local_name) if word)


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_LETTERS or not IDENTIFIER.fullmatch(name) else f"{name[:4]}…{name[-12:]}"


def with_others(name: str, bottlenecks: Sequence[Bottleneck]) -> str:
    """The name of the first bottleneck, with the others of its kind: device db0 sda and 39 others."""
    others = [readable(entity) for entity in _others(bottlenecks)]
    return f"{name} and {others[0] if len(others) == 1 else counted(len(others), 'other')}" if others else name


def queue_names(noun: str, bottlenecks: Sequence[Bottleneck]) -> str:
    """The queues that limit: device sda on db0 and 39 others; sda and sdb on db0."""
    first, others = bottlenecks[0], _others(bottlenecks)
    owner, _, local_name = first.entity.partition("/")
    if len(others) == 1 and local_name and others[0].startswith(f"{owner}/"):
        other_name = others[0].removeprefix(f"{owner}/")
        return f"{_shortened(local_name)} and {_shortened(other_name)} on {readable(owner)}"
    return with_others(f"{noun} {with_owner(first.entity)}", bottlenecks)


def _others(bottlenecks: Sequence[Bottleneck]) -> list[str]:
    """The other bottlenecks of the first one's kind. Queues that are full together all have to be relieved."""
    first = bottlenecks[0]
    alike = dict.fromkeys(other.entity for other in bottlenecks[1:] if other.kind == first.kind)
    alike |= dict.fromkeys(first.coincident if first.kind in QUEUES else ())
    return [entity for entity in alike if entity != first.entity]


def possible_places(bottleneck: Bottleneck) -> str:
    """The number of elements of which one limits, with their noun: 2 links."""
    are_links = all(entity.startswith("link:") for entity in bottleneck.elements)
    return counted(len(bottleneck.elements), "link" if are_links else "port")

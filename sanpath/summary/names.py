"""Names of entities for people."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.diagnosis.model import Bottleneck
from sanpath.topology.names import IDENTIFIER, named, noun
from sanpath.topology.topology import Topology
from sanpath.units import counted

_LETTERS = 20
"""Longer identifiers are cut in the middle, because they differ at their end: sanpath's own choice, half a column."""
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
    """The name of a part and of what it belongs to: `lun:esx7/naa.1` is naa.1 on esx7."""
    owner, _, local_name = entity.partition(":")[2].partition("/")
    return f"{_cut(local_name)} on {_cut(owner)}" if local_name else readable(entity)


def _end(name: str) -> str:
    owner, _, local_name = name.partition("/")
    return " ".join(_cut(word) for word in (owner, local_name) if word)


def _cut(name: str) -> str:
    return name if len(name) <= _LETTERS or not IDENTIFIER.fullmatch(name) else f"{name[:4]}…{name[-12:]}"


def with_others(name: str, bottlenecks: Sequence[Bottleneck]) -> str:
    """The name of the first bottleneck, with the others of its kind: device db0 sda and 39 others. Of queues that are
    full together, all are relieved."""
    first = bottlenecks[0]
    alike = dict.fromkeys(other.entity for other in bottlenecks[1:] if other.kind == first.kind)
    alike |= dict.fromkeys(first.coincident if first.kind in QUEUES else ())
    others = [readable(entity) for entity in alike if entity != first.entity]
    return f"{name} and {others[0] if len(others) == 1 else counted(len(others), 'other')}" if others else name

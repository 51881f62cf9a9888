"""The topology: entities under one name each, the links between them, and the joins that failed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sanpath.model import Entity, Link
from sanpath.topology.keys import Local

EntitiesT = TypeVar("EntitiesT", bound=Hashable)
ResultT = TypeVar("ResultT")

SAME_TRAFFIC = "same traffic"
"""The source of links concluded from throughput: no source of sanpath.yaml can have a space in its name."""


@dataclass(frozen=True, slots=True)
class Unjoined:
    """A failed join and the reason."""

    subject: str
    reason: str


@dataclass(slots=True)
class Topology:
    """The entities, their links, and the failed joins.

    `links`: use add_link to add one. `known_as`: (source, kind, the source's own id) → entity. `with_unread_target`:
    loads with a target that no source reports, such as the address of a server. `with_unread_volume`: those of them
    whose target is a volume on an unread array. Nothing changes after the resolution.
    """

    entities: dict[str, Entity] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    known_as: dict[Local, str] = field(default_factory=dict)
    unjoined: list[Unjoined] = field(default_factory=list)
    with_unread_target: set[str] = field(default_factory=set)
    with_unread_volume: set[str] = field(default_factory=set)
    _links_of: dict[tuple[str, str], list[Link]] = field(default_factory=dict, compare=False, repr=False)
    _by_kind: dict[str, list[Entity]] = field(default_factory=dict, compare=False, repr=False)
    _computed: dict[tuple[object, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    def add_link(self, link: Link) -> None:
        """Add a link that is found from both of its ends."""
        self.links.append(link)
        self._computed.clear()
        for end in {link.from_entity, link.to_entity}:
            self._links_of.setdefault((end, link.relation), []).append(link)

    def of_kind(self, kind: str) -> list[Entity]:
        """Return the entities of a kind, sorted by id."""
        if self._by_kind:
            return list(self._by_kind.get(kind, ()))
        return sorted((e for e in self.entities.values() if e.kind == kind), key=lambda e: e.id)

    def cached(self, compute: Callable[[Topology, EntitiesT], ResultT], entities: EntitiesT) -> ResultT:
        """Compute something about an entity, or a tuple of them, only once: a diagnosis needs it thousands of times.

        The result must not be changed. It is computed again after a link was added.
        """
        key = compute, entities
        if key not in self._computed:
            self._computed[key] = compute(self, entities)
        result: ResultT = self._computed[key]
        return result

    def index_kinds(self) -> None:
        """Speed up `of_kind` from now on: no entity may be added or replaced any more."""
        for entity in sorted(self.entities.values(), key=lambda entity: entity.id):
            self._by_kind.setdefault(entity.kind, []).append(entity)

    def related(self, entity: str, relation: str, kind: str | None = None) -> list[str]:
        """Return the entities that `entity` has this relation to, in either direction. `kind` None: any kind."""
        related = []
        for link in self._links_of.get((entity, relation), ()):
            far_end = link.to_entity if link.from_entity == entity else link.from_entity
            if kind is None or self.entities[far_end].kind == kind:
                related.append(far_end)
        return related

    def members(self, entity: str, kind: str) -> list[str]:
        """Return the entities of a kind that are part of an entity: the ports of a bond, the paths of a map."""
        parts = [link.from_entity for link in self._member_links(entity) if link.to_entity == entity]
        return [part for part in parts if self.entities[part].kind == kind]

    def uppers(self, entity: str, kind: str) -> list[str]:
        """Return the entities of a kind that an entity is part of: the bond of a port, the map of a path."""
        wholes = [link.to_entity for link in self._member_links(entity) if link.from_entity == entity]
        return [whole for whole in wholes if self.entities[whole].kind == kind]

    def with_all_members(self, entities: Iterable[str], kind: str) -> list[str]:
        """Return entities, and below them those of a kind that they are made of, over all levels."""
        return _over_all_levels(entities, lambda entity: self.members(entity, kind))

    def with_all_uppers(self, entities: Iterable[str], kind: str) -> list[str]:
        """Return entities, and above them those of a kind that they are part of, over all levels."""
        return _over_all_levels(entities, lambda entity: self.uppers(entity, kind))

    def _member_links(self, entity: str) -> Sequence[Link]:
        return self._links_of.get((entity, "member_of"), ())

    def behind(self, entities: Iterable[str], kind: str) -> set[str]:
        """Return the entities of a kind among these entities and those that back them, over all levels."""

        def backing(entity: str) -> list[str]:
            links = self._links_of.get((entity, "backed_by"), ())
            return [link.to_entity for link in links if link.from_entity == entity]

        return {entity for entity in _over_all_levels(entities, backing) if self.entities[entity].kind == kind}


def _over_all_levels(entities: Iterable[str], next_level: Callable[[str], Iterable[str]]) -> list[str]:
    """Return entities, those of their next level, and so on, each once."""
    found = level = dict.fromkeys(entities)
    while level:
        level = dict.fromkeys(other for entity in level for other in next_level(entity) if other not in found)
        found = found | level
    return list(found)

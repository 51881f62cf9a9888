"""From what sources say to entities under one name each: the joins, with their evidence and what was not found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

import networkx as nx

from sanpath.model import Entity, Link, Scalar, SourceEntity, SourceLink
from sanpath.topology.keys import TRUST, normalise
from sanpath.topology.logins import Local, bare_wwpn, settled, without_guesses
from sanpath.topology.vm_moves import Sighting, ties_at

if TYPE_CHECKING:
    from sanpath.topology.paths import IoPath

CONFIG = "config"
"""The source name of what people wrote into sanpath.yaml. What it calls a thing is what the thing is called."""

_LOCAL = ("switch_port", "array_port", "controller", "volume", "media", "path")
"""Kinds whose names are unique only within their device."""
_INITIATOR_KEYS = ("wwpn", "iqn", "nqn")
_GIVEN = ("load", "vm", "vdisk", "host", "hba", "lun")
"""Kinds that may be known by nothing but the configuration."""


@dataclass(frozen=True, slots=True)
class Unjoined:
    """A join that was not found, and why."""

    what: str
    why: str


@dataclass(slots=True)
class Topology:
    """The entities, their links, and the way back from a source's own ids. `paths_of_loads`: loads → paths of
    their I/O that were searched before; nothing is added once it is resolved."""

    entities: dict[str, Entity] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    known_as: dict[Local, str] = field(default_factory=dict)
    unjoined: list[Unjoined] = field(default_factory=list)
    paths_of_loads: dict[tuple[str, ...], list[IoPath]] = field(default_factory=dict, compare=False, repr=False)

    def of_kind(self, kind: str) -> list[Entity]:
        """Entities of a kind, by name."""
        return sorted((e for e in self.entities.values() if e.kind == kind), key=lambda e: e.id)

    def related(self, entity: str, relation: str, kind: str | None = None) -> list[str]:
        """Entities that `entity` has this relation to, in either direction."""
        found = []
        for link in self.links:
            if link.relation == relation and entity in (link.from_entity, link.to_entity):
                other = link.to_entity if link.from_entity == entity else link.from_entity
                if kind is None or self.entities[other].kind == kind:
                    found.append(other)
        return found

    def graph(self) -> nx.Graph[str]:
        """The whole as an undirected graph; edges carry their relation."""
        graph: nx.Graph[str] = nx.Graph()
        for entity in self.entities.values():
            graph.add_node(entity.id, kind=entity.kind, label=entity.label)
        for link in self.links:
            graph.add_edge(link.from_entity, link.to_entity, relation=link.relation)
        return graph


def resolve(seen: Iterable[Sighting], at: int | None = None) -> Topology:
    """Join what all sources said. Later statements of a source replace its earlier ones; a virtual machine that has
    moved runs where it ran at the moment `at`, microseconds on the recorder's clock, None: at the end."""
    seen = list(seen)
    things = {(source, item.kind, item.local_id): item for source, _, item in seen if isinstance(item, SourceEntity)}
    ties = ties_at(seen, at)
    _add_implied(things, ties)
    things = without_guesses(things)
    names = _names(things, ties)
    topology = Topology()
    _make_entities(topology, things, names, _same_ports(things, ties))
    _make_links(topology, ties)
    _attach_initiators(topology)
    _back_luns(topology)
    return topology


def _add_implied(things: dict[Local, SourceEntity], ties: Iterable[tuple[str, SourceLink]]) -> None:
    """What the configuration's links name is a thing, even when nothing else is said of it."""
    for source, tie in ties:
        for kind, name in (tie.from_end, tie.to_end):
            if source == CONFIG and kind in _GIVEN:
                things.setdefault((CONFIG, kind, name), SourceEntity(kind, name, name, {"name": (name,)}))


def _names(things: Mapping[Local, SourceEntity], ties: Iterable[tuple[str, SourceLink]]) -> dict[Local, str]:
    """What people call each thing: ports and volumes after their device, disks after their machine.

    A switch or array is called as its source, unless the source tells of several. A port of which nothing but the
    WWPN is known is called by it."""
    machines = {
        tie.from_end[1]: tie.to_end[1]
        for _, tie in ties
        if tie.relation == "runs_on" and tie.from_end[0] == "load" and tie.to_end[0] in ("vm", "host")
    }
    devices = Counter((source, kind) for source, kind, _ in things if kind in ("switch", "array"))
    parts = {
        (source, *tie.from_end): _label(things, (source, *tie.to_end))
        for source, tie in ties
        if tie.relation == "member_of" and devices[source, tie.to_end[0]] > 1
    }
    names = {}
    for local, thing in things.items():
        source, kind, local_id = local
        label = thing.label or local_id
        if source == CONFIG:
            names[local] = local_id
        elif kind in ("switch", "array"):
            names[local] = source if devices[source, kind] == 1 else label
        elif (wwpn := bare_wwpn(thing)) is not None:
            names[local] = wwpn
        elif kind in _LOCAL:
            names[local] = f"{parts.get(local, source)}/{label}"
        elif "device" in thing.ids and source in machines:
            names[local] = f"{machines[source]}/{thing.ids['device'][0]}"
        else:
            names[local] = label
    return names


def _label(things: Mapping[Local, SourceEntity], local: Local) -> str:
    return things[local].label or local[2] if local in things else local[2]


def _same_ports(
    things: Mapping[Local, SourceEntity], ties: Iterable[tuple[str, SourceLink]]
) -> list[tuple[Local, Local]]:
    """Ports that are one although two sources read them: a cable has one end, so where two sources see the same
    WWPN logged in at ports of one name they read one switch, under two names."""
    first: dict[tuple[str, str], Local] = {}
    pairs = []
    for source, tie in ties:
        port = (source, *tie.to_end)
        wwpn = normalise("wwpn", tie.from_end[1]) if tie.from_end[0] == "wwpn" else None
        if tie.relation != "logged_in" or wwpn is None or port not in things:
            continue
        known = first.setdefault((wwpn, things[port].label), port)
        if known[0] != source and not _have_other_wwpns(things[known], things[port]):
            pairs.append((known, port))
            pairs += [
                (one, other)
                for one in things
                for other in things
                if one[1] == other[1] == "switch" and (one[0], other[0]) == (known[0], source)
            ]
    return pairs


def _have_other_wwpns(one: SourceEntity, other: SourceEntity) -> bool:
    """Whether two ports are told apart by their own WWPNs: both ends of an uplink see the logins that pass it."""
    mine, its = ({normalise("wwpn", v) for v in thing.ids.get("wwpn", ())} for thing in (one, other))
    return bool(mine and its) and mine.isdisjoint(its)


def _make_entities(
    topology: Topology,
    things: Mapping[Local, SourceEntity],
    names: Mapping[Local, str],
    same: Iterable[tuple[Local, Local]],
) -> None:
    known_by: dict[tuple[str, str, str], list[Local]] = defaultdict(list)
    for local, thing in things.items():
        known_by[thing.kind, "name", names[local]].append(local)
        for key, values in thing.ids.items():
            for value in values:
                if key in TRUST and key != "name" and (normal := normalise(key, value)):
                    known_by[thing.kind, key, _scope(thing.kind, names[local]) + normal].append(local)
    # Most things share no key with any other.
    graph: nx.Graph[Local] = nx.Graph(same)
    for locals_ in known_by.values():
        if len(locals_) > 1:
            nx.add_path(graph, locals_)
    groups = {local: group for group in nx.connected_components(graph) for local in group}
    for local in things:
        if local in topology.known_as:
            continue
        members = sorted(
            groups.get(local, (local,)), key=lambda n: (n[0] != CONFIG, bare_wwpn(things[n]) is not None, n)
        )
        entity = _entity([(local, things[local]) for local in members], names[members[0]])
        topology.entities[entity.id] = entity
        topology.known_as.update(dict.fromkeys(members, entity.id))


def _scope(kind: str, name: str) -> str:
    """Several hosts may see one volume: a LUN is the device of one of them, so its identifier joins only there."""
    return f"{name.partition('/')[0]}/" if kind == "lun" and "/" in name else ""


def _entity(members: list[tuple[Local, SourceEntity]], name: str) -> Entity:
    kind = members[0][1].kind
    ids: dict[str, list[str]] = defaultdict(list)
    attributes: dict[str, Scalar] = {}
    for _, thing in members:
        for key, values in thing.ids.items():
            ids[key].extend(n for v in values if (n := normalise(key, v)) and n not in ids[key])
        for attribute, value in thing.attributes.items():
            if attributes.get(attribute) is None:
                attributes[attribute] = value
    known_as = tuple((source, local_id) for (source, _, local_id), _ in members)
    return Entity(f"{kind}:{name}", kind, name, {k: tuple(v) for k, v in ids.items()}, attributes, known_as)


def _make_links(topology: Topology, ties: Iterable[tuple[str, SourceLink]]) -> None:
    by_key: dict[tuple[str, str], str] = {}
    # A host carries the WWPNs of its ports as well: the port itself is what is meant.
    for entity in sorted(topology.entities.values(), key=lambda e: e.kind in ("hba", "array_port")):
        for key, values in entity.ids.items():
            if key != "name":
                by_key.update(((key, value), entity.id) for value in values)
    evidence: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for source, tie in ties:
        ends = [_end(topology, by_key, source, *end) for end in (tie.from_end, tie.to_end)]
        for end, found in zip((tie.from_end, tie.to_end), ends, strict=True):
            # An Ethernet switch learns of every machine there is: only what somebody asks about is missed.
            if found is None and (tie.relation, end[0]) != ("logged_in", "mac"):
                topology.unjoined.append(_unjoined(topology, source, end, tie))
        if ends[0] and ends[1] and ends[0] != ends[1]:
            evidence[tie.relation, ends[0], ends[1]].append(f"{source}: {tie.evidence}")
    topology.unjoined = list(dict.fromkeys(topology.unjoined))
    links = [Link(*key, tuple(dict.fromkeys(said))) for key, said in evidence.items()]
    topology.links = settled(links, {entity.id: entity.kind for entity in topology.entities.values()})


def _end(topology: Topology, by_key: Mapping[tuple[str, str], str], source: str, kind: str, value: str) -> str | None:
    if (own := topology.known_as.get((source, kind, value))) is not None:
        return own
    if f"{kind}:{value}" in topology.entities:
        return f"{kind}:{value}"
    normal = normalise(kind, value)
    return by_key.get((kind, normal)) if normal else None


def _unjoined(topology: Topology, source: str, end: tuple[str, str], tie: SourceLink) -> Unjoined:
    kind, value = end
    what = f"{kind} {value} ({source}: {tie.evidence})"
    if kind in TRUST:
        return Unjoined(what, f"no source knows a thing with this {kind}")
    near = get_close_matches(f"{kind}:{value}", [i for i in topology.entities if i.startswith(f"{kind}:")], n=1)
    return Unjoined(what, f"no source has it; did you mean {near[0]}?" if near else "no source has it")


def _attach_initiators(topology: Topology) -> None:
    """An initiator port whose host no source names belongs to the host that lists its identifier, as arrays do."""
    hosts = {(key, i): h.id for h in topology.of_kind("host") for key in _INITIATOR_KEYS for i in h.ids.get(key, ())}
    for hba in topology.of_kind("hba"):
        listed = [hosts[key, i] for key in _INITIATOR_KEYS for i in hba.ids.get(key, ()) if (key, i) in hosts]
        if listed and not topology.related(hba.id, "attached_to", "host"):
            topology.links.append(Link("attached_to", hba.id, listed[0], ("the host's list of initiators",)))


def _back_luns(topology: Topology) -> None:
    """A LUN is backed by the volume with its identifier, SCSI or NVMe."""
    volumes = {i: v.id for v in topology.of_kind("volume") for key in ("naa", "eui") for i in v.ids.get(key, ())}
    for lun in topology.of_kind("lun"):
        for naa in (*lun.ids.get("naa", ()), *lun.ids.get("eui", ())):
            if naa in volumes:
                topology.links.append(Link("backed_by", lun.id, volumes[naa], (f"identifier {naa}",)))
            # A host has disks of its own as well: only what the test or a person names is missed.
            elif topology.related(lun.id, "targets") or any(source == CONFIG for source, _ in lun.known_as):
                topology.unjoined.append(
                    Unjoined(f"{lun.id} ({naa})", "no array presents a volume with this identifier")
                )

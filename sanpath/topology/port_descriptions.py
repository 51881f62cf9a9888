"""Cables that people wrote down: the description of a switch port names the host, array or switch at its end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sanpath.model import Entity, Link

if TYPE_CHECKING:
    from sanpath.topology.topology import Topology

DESCRIPTION = "port description"
"""The beginning of the evidence for such a cable."""
_CABLES = ("cabled_to", "logged_in", "known_at")
_PARTS = {"host": ("attached_to", "hba", "adapter"), "array": ("member_of", "array_port", "port")}
"""Kind of an owner → relation of its ports to it, their kind, and the noun for an unnamed one."""
_MIN_LETTERS = 3
"""Minimum letters of a name without a digit: shorter ones are ordinary words."""
_MAX_WORDS = 40
"""Maximum words of a description that are read: ifAlias has 64 letters (RFC 2863), some switches allow 255."""
_ADDRESS_PARTS = 4
"""Numbers of an IPv4 address."""
_MANAGEMENT = frozenset(("mgmt", "management", "oob", "ilo", "idrac", "drac", "bmc", "ipmi", "cimc", "xcc"))
"""Words that mark ports without I/O."""

Words = tuple[str, ...]


def connect_described(topology: Topology) -> None:
    """Add the cables of switch ports whose descriptions name one host, array or other switch, unless a device reports
    their other end. Port channels and management ports are left out.

    The adapter or target port is the one that the description also names, or the only one without a cable. Of several
    adapters it is the only one whose target ports are all in the fabric of the switch port, if no other port of that
    fabric has such a description. Otherwise an unnamed port of the owner is added, with a number.
    """
    cabled = _cabled(topology)
    by_owner: dict[str, list[Entity]] = defaultdict(list)
    owners = _entities_by_name(
        (_words(name), entity.id)
        for kind in ("host", "array", "switch")
        for entity in topology.of_kind(kind)
        for name in {entity.label, entity.label.partition(".")[0]}
    )
    for port in topology.of_kind("switch_port"):
        words = _words(description(port))
        if port.id in cabled or _MANAGEMENT.intersection(words) or topology.members(port.id, "switch_port"):
            continue
        owner = _find_entity(words, owners)
        if owner is not None and owner not in topology.related(port.id, "member_of", "switch"):
            by_owner[owner].append(port)
    for port, end in _between_switches(topology, by_owner):
        _connect(topology, port, end)
    # Adapters are found by the cables of their target ports.
    for kind in ("array", "host"):
        fabrics = _fabrics(topology)
        for owner, ports in by_owner.items():
            if topology.entities[owner].kind == kind:
                for port, end in _ends(topology, owner, ports, cabled, fabrics):
                    _connect(topology, port, end)


def ports_without_cable(topology: Topology) -> list[Entity]:
    """Return the switch ports whose other end is unknown, without port channels."""
    cabled = _cabled(topology)
    ports = (port for port in topology.of_kind("switch_port") if port.id not in cabled)
    return [port for port in ports if not topology.members(port.id, "switch_port")]


def description(port: Entity) -> str:
    """Return a person's description of a port; "": none."""
    return str(port.attributes.get("alias") or "")


def _cabled(topology: Topology) -> set[str]:
    return {end for link in topology.links if link.relation in _CABLES for end in (link.from_entity, link.to_entity)}


def _connect(topology: Topology, port: Entity, end: str) -> None:
    topology.add_link(Link("cabled_to", port.id, end, (_evidence(port),)))


def _evidence(port: Entity) -> str:
    return f'{DESCRIPTION} "{description(port)}"'


def _words(text: str) -> Words:
    return tuple(re.findall(r"[a-z0-9]+", text.casefold())[:_MAX_WORDS])


def _entities_by_name(names: Iterable[tuple[Words, str]]) -> dict[Words, set[str]]:
    """Return name → the entities with it. Names that may be ordinary words, or numbers, are left out."""
    found: dict[Words, set[str]] = defaultdict(set)
    for words, entity in names:
        text = "".join(words)
        is_name = not text.isdecimal() and (len(text) >= _MIN_LETTERS or any(letter.isdigit() for letter in text))
        if is_name or len(words) == _ADDRESS_PARTS:
            found[words].add(entity)
    return found


def _find_entity(words: Words, names: Mapping[Words, set[str]]) -> str | None:
    """Return the only entity that a description names, at each word by its longest name. None: none, or several."""
    found: set[str] = set()
    position = 0
    while position < len(words):
        # A recording may have thousands of names with the same beginning, and descriptions have only a few words.
        runs = (words[position:end] for end in range(len(words), position, -1))
        longest = next((run for run in runs if run in names), ())
        found |= names.get(longest, set())
        position += len(longest) or 1
    return next(iter(found)) if len(found) == 1 else None


def _ends(
    topology: Topology, owner: str, ports: Sequence[Entity], cabled: set[str], fabrics: Mapping[str, str]
) -> Iterator[tuple[Entity, str]]:
    """Yield each port with the adapter or target port at its other end, an unnamed one if necessary."""
    relation, kind, noun = _PARTS[topology.entities[owner].kind]
    label = topology.entities[owner].label
    technologies = {port.attributes.get("technology") for port in ports}
    free = [
        part
        for part in topology.related(owner, relation, kind)
        if part not in cabled and topology.entities[part].attributes.get("technology") in technologies
    ]
    names = _entities_by_name((_words(part.partition("/")[2]), part) for part in free if "/" in part)
    named = {port.id: _find_entity(_words(description(port)), names) for port in ports}
    unnamed = [port.id for port in ports if named[port.id] is None]
    unused = [part for part in free if part not in named.values()]
    by_fabric = _only_of_fabric(topology, unnamed, unused, fabrics)
    for number, port in enumerate(ports, 1):
        part = named[port.id] or by_fabric.get(port.id)
        if part is None and len(ports) == len(free) == 1:
            part = free[0]
        if part is None:
            name = f"{label}/{noun}-{number}"
            part = f"{kind}:{name}"
            attributes = {"technology": port.attributes.get("technology")}
            topology.entities[part] = Entity(part, kind, name, {}, attributes, ((port.known_as[0][0], port.label),))
            topology.add_link(Link(relation, part, owner, (_evidence(port),)))
        yield port, part


def _only_of_fabric(
    topology: Topology, ports: Sequence[str], adapters: Sequence[str], fabrics: Mapping[str, str]
) -> dict[str, str]:
    """Return switch port → adapter, where a fabric has one of these ports, and one adapter has all its target ports
    in it. Frames do not leave a fabric (FC-SW), so an adapter is cabled to the fabric of its target ports."""
    ports_in: dict[str, list[str]] = defaultdict(list)
    for port in ports:
        ports_in[_fabric(topology, port, fabrics)].append(port)
    adapters_in: dict[str, list[str]] = defaultdict(list)
    for adapter in adapters:
        targets = {
            t for p in topology.related(adapter, "attached_to", "path") for t in topology.related(p, "targets")
        }
        reached = {
            _fabric(topology, port, fabrics)
            for target in targets
            for relation in _CABLES
            for port in topology.related(target, relation, "switch_port")
        }
        if len(reached) == 1:
            adapters_in[reached.pop()].append(adapter)
    return {
        here[0]: adapters_in[fabric][0]
        for fabric, here in ports_in.items()
        if len(here) == len(adapters_in.get(fabric, ())) == 1
    }


def _fabric(topology: Topology, port: str, fabrics: Mapping[str, str]) -> str:
    """The fabric of a switch port, by the name of one of its switches."""
    switch = next(iter(topology.related(port, "member_of", "switch")), port)
    return fabrics.get(switch, switch)


def _fabrics(topology: Topology) -> dict[str, str]:
    """Return switch → the first switch of those that are cabled together."""
    fabrics = {switch.id: switch.id for switch in topology.of_kind("switch")}
    for link in topology.links:
        ends = [_fabric(topology, end, fabrics) for end in (link.from_entity, link.to_entity)]
        if link.relation in _CABLES and set(ends) <= fabrics.keys() and ends[0] != ends[1]:
            fabrics = {switch: min(ends) if fabric in ends else fabric for switch, fabric in fabrics.items()}
    return fabrics


def _between_switches(topology: Topology, by_owner: Mapping[str, Sequence[Entity]]) -> Iterator[tuple[Entity, str]]:
    """Yield pairs of ports of two switches whose descriptions name each other, in the order of port names."""
    towards: dict[tuple[str, str], list[Entity]] = defaultdict(list)
    for owner, ports in by_owner.items():
        for port in ports if topology.entities[owner].kind == "switch" else ():
            for switch in topology.related(port.id, "member_of", "switch"):
                towards[switch, owner].append(port)
    for (near, far), ports in towards.items():
        if near < far and len(ports) == len(opposite := towards.get((far, near), [])):
            yield from ((port, other.id) for port, other in zip(ports, opposite, strict=True))

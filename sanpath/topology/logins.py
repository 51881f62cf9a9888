"""Interprets what switches report about the devices behind their ports. A switch knows a device only by its WWPN, and
several switches may report its login: the port nearest to the device is the right one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sanpath.model import Link, SourceEntity
from sanpath.topology.keys import Local, normalise

_PORTS = ("hba", "array_port")


def wwpn_without_name(entity: SourceEntity) -> str | None:
    """Return the WWPN of an initiator or target port if its source has no better name for it. None: it has one."""
    if entity.kind not in _PORTS:
        return None
    label = normalise("wwpn", entity.label or entity.local_id)
    return label if label in {normalise("wwpn", value) for value in entity.ids.get("wwpn", ())} else None


def drop_wrong_guesses(entities: Mapping[Local, SourceEntity]) -> dict[Local, SourceEntity]:
    """Drop initiators and targets that a switch only guessed, if another source reports another kind of port."""
    switches = {source for source, kind, _ in entities if kind == "switch"}
    guessed = {
        local: wwpn
        for local, entity in entities.items()
        if local[0] in switches and (wwpn := wwpn_without_name(entity))
    }
    kinds: dict[str, set[str]] = defaultdict(set)
    for local, entity in entities.items():
        if local not in guessed and entity.kind in (*_PORTS, "switch_port"):
            for value in entity.ids.get("wwpn", ()):
                kinds[normalise("wwpn", value) or ""].add(entity.kind)
    wrong = {local for local, wwpn in guessed.items() if kinds[wwpn] and local[1] not in kinds[wwpn]}
    return {local: entity for local, entity in entities.items() if local not in wrong}


def move_to_members(links: Sequence[Link], kinds: Mapping[str, str]) -> Iterator[Link]:
    """Yield the links, with logins and cables moved from an aggregate (port channel, LAG, trunk) to its members.

    Switches learn addresses and logins at the aggregate; bytes are counted, and cables connected, at its members. A
    device may be behind each member that has no other cable. If another switch has as many ports as there are
    members, each is at one of them; otherwise their order is unknown. `kinds`: entity → kind.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for link in links:
        if link.relation == "member_of" and kinds[link.from_entity] == kinds[link.to_entity] == "switch_port":
            members[link.to_entity].append(link.from_entity)
    devices: dict[str, set[str]] = defaultdict(set)
    at_aggregates: dict[str, list[Link]] = defaultdict(list)
    for link in links:
        ends = (link.from_entity, link.to_entity)
        aggregates = [end for end in ends if end in members]
        if link.relation not in ("logged_in", "cabled_to") or not aggregates:
            yield link
            if link.relation in ("logged_in", "cabled_to"):
                for end, other in (ends, ends[::-1]):
                    devices[end].add(other)
        elif len(aggregates) == 2:
            yield from _pairs(link, members[ends[0]], members[ends[1]])
        else:
            at_aggregates[aggregates[0]].append(link)
    for aggregate, own_links in at_aggregates.items():
        ports = sorted(members[aggregate])
        others = {
            link: next(end for end in (link.from_entity, link.to_entity) if end != aggregate) for link in own_links
        }
        switches = sorted(
            (link for link in own_links if kinds[others[link]] == "switch_port"), key=others.__getitem__
        )
        if len(switches) == len(ports):
            for link, port in zip(switches, ports, strict=True):
                yield _moved(link, aggregate, port)
        else:
            yield from switches
        for link in own_links:
            if link not in switches and not any(others[link] in devices[port] for port in ports):
                for port in [port for port in ports if not devices[port]] or ports:
                    yield _moved(link, aggregate, port)


def _pairs(link: Link, near: Sequence[str], far: Sequence[str]) -> Iterator[Link]:
    """Yield a link for each pair of members of two aggregates; the link itself if their numbers differ."""
    if len(near) != len(far):
        yield link
        return
    for near_port, far_port in zip(sorted(near), sorted(far), strict=True):
        yield Link(link.relation, near_port, far_port, link.evidence)


def _moved(link: Link, end: str, port: str) -> Link:
    near, far = (port if each == end else each for each in (link.from_entity, link.to_entity))
    return Link(link.relation, near, far, link.evidence)


def keep_nearest_logins(links: Iterable[Link], kinds: Mapping[str, str]) -> list[Link]:
    """Return the links with every login only at its nearest port. `kinds`: entity → kind.

    An NPV device logs in like a host. The hosts behind it log in at both switches: at their own port of the device,
    and through its uplink at the upstream switch. An Ethernet switch also learns the addresses behind its neighbours.
    So if a switch port has logged in at another switch port, the two are cabled. If a device has logged in at several
    ports, a login becomes `known_at` if its port leads to the switch of another of these ports.
    """
    cables: dict[frozenset[str], Link] = {}
    device_links: list[Link] = []
    for link in links:
        ends = frozenset((link.from_entity, link.to_entity))
        if link.relation in ("logged_in", "cabled_to") and {kinds[end] for end in ends} == {"switch_port"}:
            cable = cables.get(ends, Link("cabled_to", link.from_entity, link.to_entity, ()))
            evidence = tuple(dict.fromkeys((*cable.evidence, *link.evidence)))
            cables[ends] = Link("cabled_to", cable.from_entity, cable.to_entity, evidence)
        else:
            device_links.append(link)
    through_uplinks = _logins_through_uplinks(device_links, _switches_behind(device_links, cables, kinds), kinds)
    logins = [
        Link("known_at", link.from_entity, link.to_entity, link.evidence)
        if _login(link, kinds) in through_uplinks
        else link
        for link in device_links
    ]
    return [*logins, *cables.values()]


def _login(link: Link, kinds: Mapping[str, str]) -> tuple[str, str] | None:
    is_login = link.relation == "logged_in" and kinds[link.to_entity] == "switch_port"
    return (link.from_entity, link.to_entity) if is_login else None


def _switches_of(links: Iterable[Link], kinds: Mapping[str, str]) -> dict[str, str]:
    return {
        link.from_entity: link.to_entity
        for link in links
        if link.relation == "member_of"
        and kinds[link.from_entity] == "switch_port"
        and kinds[link.to_entity] == "switch"
    }


def _switches_behind(
    links: Iterable[Link], cables: Iterable[frozenset[str]], kinds: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return port → ports of the switches that it is cabled to."""
    switch_of = _switches_of(links, kinds)
    ports: dict[str, set[str]] = defaultdict(set)
    for port, switch in switch_of.items():
        ports[switch].add(port)
    behind: dict[str, set[str]] = defaultdict(set)
    for cable in cables:
        for port in cable:
            for peer in cable - {port}:
                behind[port] |= ports.get(switch_of.get(peer, ""), set())
    return behind


def _logins_through_uplinks(
    links: Iterable[Link], behind: Mapping[str, set[str]], kinds: Mapping[str, str]
) -> set[tuple[str, str]]:
    login_ports: dict[str, set[str]] = defaultdict(set)
    for link in links:
        if login := _login(link, kinds):
            login_ports[login[0]].add(login[1])
    logins: set[tuple[str, str]] = set()
    for device, ports in login_ports.items():
        through = {port for port in ports if (ports - {port}) & behind.get(port, set())}
        if through != ports:
            logins |= {(device, port) for port in through}
    return logins

"""What switches know of the ports behind them: a WWPN is no name, and only the nearest switch port is its login."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sanpath.model import Link, SourceEntity
from sanpath.topology.keys import normalise

_PORTS = ("hba", "array_port")

Local = tuple[str, str, str]
"""(source, kind, the source's own id)."""


def bare_wwpn(thing: SourceEntity) -> str | None:
    """The WWPN of an initiator or target port that its source can name by nothing else. None: it has a name."""
    if thing.kind not in _PORTS:
        return None
    label = normalise("wwpn", thing.label or thing.local_id)
    return label if label in {normalise("wwpn", value) for value in thing.ids.get("wwpn", ())} else None


def without_guesses(things: Mapping[Local, SourceEntity]) -> dict[Local, SourceEntity]:
    """Without what a switch took for an initiator or a target where the port itself is known to be something else."""
    switches = {source for source, kind, _ in things if kind == "switch"}
    guessed = {local: wwpn for local, thing in things.items() if local[0] in switches and (wwpn := bare_wwpn(thing))}
    kinds: dict[str, set[str]] = defaultdict(set)
    for local, thing in things.items():
        if local not in guessed and thing.kind in (*_PORTS, "switch_port"):
            for value in thing.ids.get("wwpn", ()):
                kinds[normalise("wwpn", value) or ""].add(thing.kind)
    wrong = {local for local, wwpn in guessed.items() if kinds[wwpn] and local[1] not in kinds[wwpn]}
    return {local: thing for local, thing in things.items() if local not in wrong}


def settled(links: Iterable[Link], kinds: Mapping[str, str]) -> list[Link]:
    """Links with every login at its nearest port. `kinds`: entity → kind.

    Behind an NPV device, which logs in like a host, its hosts log in at both switches: at the port of the device that
    they hang on, and through its uplink at the switch before it. An Ethernet switch, too, learns of addresses behind
    its neighbours. So a switch port that has logged in at another is cabled to it; and of the ports at which a
    device has logged in, one that leads to the switch of another of them is where it is known at.
    """
    cables: dict[frozenset[str], Link] = {}
    others: list[Link] = []
    for link in links:
        ends = frozenset((link.from_entity, link.to_entity))
        if link.relation in ("logged_in", "cabled_to") and {kinds[end] for end in ends} == {"switch_port"}:
            known = cables.get(ends, Link("cabled_to", link.from_entity, link.to_entity, ()))
            evidence = tuple(dict.fromkeys((*known.evidence, *link.evidence)))
            cables[ends] = Link("cabled_to", known.from_entity, known.to_entity, evidence)
        else:
            others.append(link)
    passed = _passed_through(others, _switches_behind(others, cables, kinds), kinds)
    logins = [
        Link("known_at", link.from_entity, link.to_entity, link.evidence) if _login(link, kinds) in passed else link
        for link in others
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
    """Port → ports of the switches that it leads to."""
    switch_of = _switches_of(links, kinds)
    ports: dict[str, set[str]] = defaultdict(set)
    for port, switch in switch_of.items():
        ports[switch].add(port)
    behind: dict[str, set[str]] = defaultdict(set)
    for cable in cables:
        for port in cable:
            for other in cable - {port}:
                behind[port] |= ports.get(switch_of.get(other, ""), set())
    return behind


def _passed_through(
    links: Iterable[Link], behind: Mapping[str, set[str]], kinds: Mapping[str, str]
) -> set[tuple[str, str]]:
    at: dict[str, set[str]] = defaultdict(set)
    for link in links:
        if login := _login(link, kinds):
            at[login[0]].add(login[1])
    passed: set[tuple[str, str]] = set()
    for device, ports in at.items():
        through = {port for port in ports if (ports - {port}) & behind.get(port, set())}
        if through != ports:
            passed |= {(device, port) for port in through}
    return passed

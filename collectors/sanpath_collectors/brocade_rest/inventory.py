"""Entities and links of a switch, from the answers of its REST interface. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sanpath.plugin import SourceEntity, SourceLink, json_object, json_objects, json_texts, wwn
from sanpath_collectors.brocade_rest import parse
from sanpath_collectors.brocade_rest.parse import Entry, text
from sanpath_collectors.snmp_switch.logins import Login
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.zones import Zone, features

_MODES: Mapping[int, str] = {0: "N", 1: "NL", 6: "FL", 7: "E", 10: "G", 11: "U", 15: "F", 16: "L", 19: "EX", 25: "VE"}
"""Leaf port-type → mode; also the names of Fabric OS, such as "f-port"."""
_INTER_SWITCH = frozenset({"E", "EX"})
_MODE_NAME = re.compile(r"([a-z]{1,2})-port")
_QUOTED = re.compile(r'\[\d+\]\s*"(.*)"?')
"""A symbolic name in the name server: its length, then the name in quotes."""


def switch(entry: Entry, name: str) -> SourceEntity:
    """Return the switch."""
    attributes = {
        "make": "brocade",
        "firmware": text(entry, "firmware-version") or None,
        "model": text(entry, "model") or None,
        "domain_id": parse.counter(entry, "domain-id"),
    }
    ids = {"name": (name,)}
    if (own := wwn(entry.get("name"))) is not None:
        ids["switch_wwn"] = (own,)
    return SourceEntity("switch", name, label=name, ids=ids, attributes=attributes)


def ports(entries: Iterable[Entry]) -> dict[str, Port]:
    """Return the Fibre Channel ports by name, such as "0/7": slot and port."""
    found = {}
    for entry in entries:
        if not (name := text(entry, "name")):
            continue
        port = found[name] = Port(name, name, "fibre_channel")
        port_wwpn = wwn(entry.get("wwn"))
        port.wwpns = (port_wwpn,) if port_wwpn is not None else ()
        port.attributes = {
            "name": name,
            "alias": text(entry, "user-friendly-name") or None,
            "up": parse.is_up(entry),
            "port_mode": mode(entry),
            "speed_bits_per_second": parse.speed(entry),
            "capable_bits_per_second": parse.speed(entry, "max-speed"),
        }
    return found


def mode(entry: Entry) -> str | None:
    """Return the mode of a port. None: it is missing in the answer."""
    number = parse.counter(entry, "port-type")
    if number is not None and number in _MODES:
        return _MODES[number]
    match = _MODE_NAME.fullmatch(text(entry, "port-type-string").lower())
    return match[1].upper() if match else None


def parse_logins(entries: Iterable[Entry], known: Mapping[str, Port]) -> list[Login]:
    """Return the entries of the name server, each with the port to the device; "": it is at another switch."""
    by_wwn = {own: port.local_id for port in known.values() for own in port.wwpns}
    found = []
    for entry in entries:
        if (wwpn := wwn(entry.get("port-name"))) is None:
            continue
        names = (unquote_symbolic_name(text(entry, leaf)) for leaf in ("port-symbolic-name", "node-symbolic-name"))
        found.append(
            Login(
                by_wwn.get(wwn(entry.get("fabric-port-name")) or "", ""),
                wwpn,
                "fibrechannel-name-server",
                text(entry, "port-id").removeprefix("0x"),
                wwn(entry.get("node-name")),
                features(text(entry, "fc4-features")),
                tuple(dict.fromkeys(filter(None, names))),
            )
        )
    return found


def unquote_symbolic_name(name: str) -> str:
    """Return a symbolic name without its length and quotes.

    >>> unquote_symbolic_name('[35] "QLE2694 FW:v9.03.00 DVR:v8.02.01-k4"')
    'QLE2694 FW:v9.03.00 DVR:v8.02.01-k4'
    """
    match = _QUOTED.fullmatch(name)
    return (match[1] if match else name).removesuffix('"').strip()


def neighbours(entries: Iterable[Entry], logins: Iterable[Login]) -> Iterator[SourceLink]:
    """Yield the ports of other switches, and logins that the name server does not have or does not reveal."""
    listed = {login.wwpn for login in logins}
    for entry in entries:
        neighbour = entry.get("neighbor")
        peers = json_texts(json_object(neighbour).get("wwn"), or_one=True)
        port, port_mode = ("switch_port", text(entry, "name")), mode(entry)
        for peer in filter(None, map(wwn, peers)):
            if port_mode in _INTER_SWITCH:
                yield SourceLink("cabled_to", port, ("wwpn", peer), "fibrechannel: neighbor")
            elif port_mode == "F" and peer not in listed:
                yield SourceLink("logged_in", ("wwpn", peer), port, "fibrechannel: neighbor")


def zones(configurations: Iterable[Entry], entries: Iterable[Entry]) -> list[Zone]:
    """Return the effective zones. Members are WWPNs, or "domain,index" of ports, as the name server knows them."""
    at_port: dict[str, list[str]] = {}
    for entry in entries:
        number, index = text(entry, "port-id").removeprefix("0x"), parse.counter(entry, "port-index")
        if re.fullmatch(r"[0-9a-fA-F]{6}", number) and index is not None and (own := wwn(entry.get("port-name"))):
            at_port.setdefault(f"{int(number[:2], 16)},{index}", []).append(own)

    def members(value: object) -> list[str]:
        wwpns_by_name = ((name, wwn(name)) for name in json_texts(value, or_one=True))
        return [wwpn for name, found in wwpns_by_name for wwpn in ([found] if found else at_port.get(name, []))]

    found = []
    for configuration in configurations:
        for zone in json_objects(configuration.get("enabled-zone"), or_one=True):
            listed = next(iter(json_objects(zone.get("member-entry"), or_one=True)), {})
            principals = members(listed.get("principal-entry-name"))
            everyone = dict.fromkeys([*principals, *members(listed.get("entry-name"))])
            found.append(Zone(text(zone, "zone-name"), tuple(everyone), frozenset(principals)))
    return found

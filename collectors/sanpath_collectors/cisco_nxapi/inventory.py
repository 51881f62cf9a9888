"""Entities and links of a switch, from the output of its show commands. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sanpath.plugin import SourceEntity, SourceLink, wwn
from sanpath_collectors.cisco_nxapi import parse
from sanpath_collectors.cisco_nxapi.parse import Entry, interface, rows, text
from sanpath_collectors.snmp_switch.logins import Login
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.zones import Zone, features

_INTER_SWITCH = frozenset({"E", "TE"})
_PROXIES = frozenset({"NP", "TNP"})
"""Uplinks of a switch in NPV mode: devices behind it log in at the other switch."""


def switch(version: Entry, own_wwn: str | None, name: str) -> SourceEntity:
    """Return the switch. `own_wwn`: its WWN, None: unknown."""
    attributes = {
        "make": "cisco",
        "model": text(version, "chassis_id") or None,
        "firmware": text(version, "sys_ver_str", "kickstart_ver_str", "nxos_ver_str") or None,
        "serial": text(version, "proc_board_id") or None,
    }
    ids = {"name": (name,)}
    if own_wwn is not None:
        ids["switch_wwn"] = (own_wwn,)
    return SourceEntity("switch", name, label=name, ids=ids, attributes=attributes)


def ports(body: Entry) -> dict[str, Port]:
    """Return the Fibre Channel interfaces of `show interface` by their name.

    Bytes of port channels are counted at their members.
    """
    found: dict[str, Port] = {}
    for entry in rows(body, "interface"):
        if not (name := interface(text(entry, "interface"))):
            continue
        port = found[name] = Port(name, name, "fibre_channel")
        own = wwn(entry.get("port_wwn"))
        port.wwpns = (own,) if own is not None else ()
        speed = parse.megabits(entry, "oper_speed")
        rate_mode = text(entry, "rate_mode").lower()
        port.attributes = {
            "name": name,
            "alias": text(entry, "description", "port_description", "desc") or None,
            "description": name,
            "up": parse.is_up(entry),
            "port_mode": text(entry, "oper_mode") or None,
            "vsan": parse.counter(entry, "port_vsan", "vsan"),
            "speed_bits_per_second": None if speed is None else speed * 1_000_000,
            "rate_mode": rate_mode if rate_mode in ("dedicated", "shared") else None,
        }
        port.carries = "port-channel" not in name
    for entry in rows(body, "interface"):
        channel = interface(text(entry, "bundle_if_index"))
        if (name := interface(text(entry, "interface"))) and channel in found and channel != name:
            found[channel].members.append(name)
    return found


def logins(flogi: Entry, names: Entry, known: Mapping[str, Port]) -> list[Login]:
    """Return fabric logins at this switch with their data from the name server, and the name server's other entries.

    `flogi`: `show flogi database`, or `show npv flogi-table` of a switch in NPV mode. It includes those of a device
    in NPV mode behind a port. A login's port is "" if the device is at another switch.
    """
    registered = {login.wwpn: login for login in _registered(names)}
    found: dict[str, Login] = {}
    for entry in rows(flogi, "port_name"):
        wwpn, port = wwn(entry.get("port_name")), interface(text(entry, "server_interface", "interface"))
        if wwpn is None or port not in known:
            continue
        more = registered.get(wwpn)
        number = text(entry, "fcid").removeprefix("0x")
        node = wwn(entry.get("node_name"))
        symbolic, feature_octets = (more.symbolic, more.features) if more is not None else ((), b"")
        found[wwpn] = Login(port, wwpn, "flogi database", number, node, feature_octets, symbolic)
    return [*found.values(), *(login for wwpn, login in registered.items() if wwpn not in found)]


def _registered(names: Entry) -> Iterator[Login]:
    for entry in rows(names, "pwwn"):
        if (wwpn := wwn(entry.get("pwwn"))) is None:
            continue
        kinds = [
            f"{text(kind, 'fc4_types', 'fc4_type')}:{text(kind, 'fc4_features', 'fc4_feature')}"
            for kind in rows(list(entry.values()), "fc4_features", "fc4_feature")
        ]
        kinds.append(text(entry, "fc4_types", "fc4_type_feature"))
        storage = " ".join(kind for kind in kinds if "fcp" in kind.lower() or "nvme" in kind.lower())
        names_of = (text(entry, key) for key in ("symbolic_port_name", "symbolic_node_name"))
        number = text(entry, "fcid").removeprefix("0x")
        yield Login(
            "",
            wwpn,
            "fcns database",
            number,
            wwn(entry.get("nwwn", entry.get("node_name"))),
            features(storage),
            tuple(dict.fromkeys(filter(None, names_of))),
        )


def neighbours(body: Entry) -> Iterator[SourceLink]:
    """Yield the ports of other switches that interfaces lead to, by their WWN."""
    for entry in rows(body, "interface"):
        name, peer = interface(text(entry, "interface")), wwn(entry.get("peer_port_wwn"))
        if name and peer is not None and text(entry, "oper_mode") in _INTER_SWITCH | _PROXIES:
            yield SourceLink("cabled_to", ("switch_port", name), ("wwpn", peer), "show interface: peer port WWN")


def zones(body: Entry, registered: Iterable[Login]) -> list[Zone]:
    """Return the zones of `show zoneset active`. Members are WWPNs, device aliases, or addresses of logins."""
    by_address = {login.fc_id: login.wwpn for login in registered if login.fc_id}
    found = []
    for zone in _zone_rows(body):
        members: dict[str, str] = {}
        for entry in rows(list(zone.values()), "wwn", "dev_alias_pwwn", "pwwn", "fcid", "online_fcid"):
            address = text(entry, "fcid", "online_fcid").removeprefix("0x")
            names = (entry.get("wwn"), entry.get("dev_alias_pwwn"), entry.get("pwwn"))
            own = next(filter(None, map(wwn, names)), None) or by_address.get(address)
            if own is not None:
                members[own] = _role(entry)
        senders = frozenset(wwpn for wwpn, role in members.items() if role in ("init", "initiator", "both"))
        takers = frozenset(wwpn for wwpn, role in members.items() if role in ("target", "both"))
        found.append(Zone(text(zone, "name", "zone_name"), tuple(members), initiators=senders, targets=takers))
    return found


def _zone_rows(body: Entry) -> Iterator[Entry]:
    """Yield the zones: named rows below the zone sets, which are named as well."""
    for table in rows(body, "TABLE_zone"):
        yield from rows(table["TABLE_zone"], "name", "zone_name")


def _role(member: Entry) -> str:
    """Return a member's role from smart zoning; "": none."""
    words = (value.strip().lower() for value in member.values() if isinstance(value, str))
    return next((word for word in words if word in ("init", "initiator", "target", "both")), "")

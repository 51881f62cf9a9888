"""The ports of a switch: one entity for each port, although its tables index and name ports differently."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.snmp_switch.column_reader import Cell, Cells, sub_identifiers
from sanpath_collectors.snmp_switch.parse import Decoded, decode_value, integer, octets
from sanpath_collectors.snmp_switch.profile import Index, PortNumber, Profile, Stack

# IANAifType-MIB
_LOOPBACK, _FIBRE_CHANNEL, _AGGREGATE = 24, 56, 161
_VIRTUAL = frozenset({53, 54, 131, 135, 136, 161, 209})
"""propVirtual, propMultiplexor, tunnel, two VLANs, LAG, bridge: their bytes are counted at their physical ports."""
ETHERNET = frozenset({6, 62, 69, 117})
"""ethernetCsmacd, fast Ethernet over copper and fibre, gigabit Ethernet."""
_ACTIVE = 1
"""RowStatus of RFC 2579."""

_ALWAYS_PRESENT = ("if_type", "alias", "description")
_IF_KNOWN = ("port_mode", "vsan", "port_channel", "trunk", "rate_mode", "capable_bits_per_second")
Attributes = dict[str, Decoded]


@dataclass(slots=True)
class Port:
    """A port. `local_id`: its ifIndex, or "port N" if IF-MIB lacks it. `carries`: its own bytes are counted.

    `mac`: its MAC address if it identifies the port; `address`: even if others share it. `chassis`, `announced`: the
    identifiers of chassis and port in the switch's own LLDP table, "": missing there.
    """

    local_id: str
    label: str
    technology: str
    wwpns: tuple[str, ...] = ()
    mac: str | None = None
    address: str | None = None
    chassis: str = ""
    announced: str = ""
    attributes: Attributes = field(default_factory=dict)
    carries: bool = True
    members: list[str] = field(default_factory=list)


def port_of_index(index: Index, row: str, interfaces: Mapping[str, object]) -> str | None:
    """Return the local id of the port in the index of a row. None: the index is too short."""
    numbers = sub_identifiers(row)
    if index.sub_identifier >= len(numbers):
        return None
    return port_of_number(index, numbers[index.sub_identifier], interfaces)


def port_of_number(index: Index, number: int, interfaces: Mapping[str, object]) -> str:
    """Return the local id of a port from its number in a profile's tables."""
    if index.form == "if_index":
        return str(number)
    if_index = str(number + index.if_index_offset)
    return if_index if if_index in interfaces else f"port {number - 1}"


def port_of_row(
    location: PortNumber, index: Index, row: str, cells: Mapping[str, Cell], interfaces: Mapping[str, object]
) -> str | None:
    """Return the local id of the port that a row names in its index or in a column. None: it names no port."""
    number = None
    if location.sub_identifier is not None:
        number = next(iter(sub_identifiers(row)[location.sub_identifier :]), None)
    elif location.column is not None and location.column in cells:
        number = integer(cells[location.column].value)
    return None if number is None or number < 0 else port_of_number(index, number + location.add, interfaces)


class Ports:
    """Merges the port columns of the profiles. Profiles are added by precedence: the first value counts.

    `interfaces`: the ifIndexes in IF-MIB.
    """

    def __init__(self, interfaces: Mapping[str, object]) -> None:
        self.interfaces = interfaces
        self._attributes: dict[str, Attributes] = {}
        self._technology: dict[str, str] = {}
        self._addresses: dict[str, bytes] = {}
        self._management: list[re.Pattern[str]] = []

    def add(self, profile: Profile, rows: Cells) -> None:
        """Add the port columns of a profile."""
        self._management += profile.management
        for row, cells in rows.items():
            port = port_of_index(profile.index, row, self.interfaces)
            if port is None:
                continue
            attributes = self._attributes.setdefault(port, {})
            if profile.technology:
                self._technology.setdefault(port, profile.technology)
            for name, columns in profile.ports.items():
                for column in columns:
                    if column.oid not in cells:
                        continue
                    if name == "address":
                        self._addresses[port] = octets(cells[column.oid].value)
                    elif attributes.get(name) is None:
                        attributes[name] = decode_value(column, cells[column.oid].value)

    def lack_members(self, stack: Stack) -> bool:
        """Whether there is an aggregate without a known member."""
        members = {str(attributes.get("port_channel")) for attributes in self._attributes.values()}
        return not self._aggregates(stack).keys() <= members

    def add_members(self, stack: Stack, rows: Cells) -> None:
        """Add the members of aggregates from ifStackTable: the ports that are directly below one."""
        aggregates = self._aggregates(stack)
        for row, cells in rows.items():
            if stack.status not in cells or integer(cells[stack.status].value) != _ACTIVE:
                continue
            higher, lower = ([str(number) for number in sub_identifiers(row)] + ["", ""])[:2]
            attributes = self._attributes.get(lower, {})
            is_port = attributes.get("if_type") in ETHERNET and lower not in aggregates
            if higher in aggregates and is_port and attributes.get("port_channel") is None:
                attributes["port_channel"] = int(higher)

    def _aggregates(self, stack: Stack) -> dict[str, Attributes]:
        def is_one(attributes: Attributes) -> bool:
            names = (str(attributes.get(name) or "") for name in ("name", "description"))
            return attributes.get("if_type") == _AGGREGATE or any(map(stack.aggregates.fullmatch, names))

        return {port: attributes for port, attributes in self._attributes.items() if is_one(attributes)}

    def ports(self) -> dict[str, Port]:
        """Return all ports except loopbacks, beginning with those that IF-MIB has."""
        order = [
            *(p for p in self.interfaces if p in self._attributes),
            *(p for p in self._attributes if p not in self.interfaces),
        ]
        labels = Tally(self._label(port) for port in order)
        ports = {}
        for local_id in order:
            attributes, label = self._attributes[local_id], self._label(local_id)
            if attributes.get("if_type") == _LOOPBACK:
                continue
            port = ports[local_id] = Port(local_id, label if labels[label] == 1 else f"{label} #{local_id}", "")
            fibre_channel = attributes.get("if_type") == _FIBRE_CHANNEL
            port.technology = self._technology.get(local_id) or ("fibre_channel" if fibre_channel else "ethernet")
            port.attributes = attributes
            management = any(pattern.fullmatch(str(attributes.get("description"))) for pattern in self._management)
            port.carries = attributes.get("if_type") not in _VIRTUAL and not management
        for port in list(ports.values()):
            _join_channel(ports, port)
        self._set_addresses(ports)
        return ports

    def _set_addresses(self, ports: Mapping[str, Port]) -> None:
        holders: dict[bytes, list[str]] = defaultdict(list)
        for local_id, address in self._addresses.items():
            holders[address].append(local_id)
        for port in ports.values():
            address = self._addresses.get(port.local_id, b"")
            others = (other for other in holders[address] if other != port.local_id)
            # An address that several interfaces share, such as a chassis address, does not identify a port.
            is_own = all(self._is_on_port(other, port, ports) for other in others)
            port.wwpns = _wwpns(port.attributes.get("wwpn"), address if is_own else b"")
            # Fabric OS writes a port's FC address there in digits: "327680" is not a MAC address.
            if len(address) == 6 and any(address) and port.technology == "ethernet":
                port.address = address.hex(":")
                port.mac = port.address if is_own else None

    def _is_on_port(self, other: str, port: Port, ports: Mapping[str, Port]) -> bool:
        """Whether an interface is the port-channel of a port or a logical unit of it, such as ge-0/0/1.0.

        A VLAN is not: its address is seen everywhere in the switch.
        """
        if other not in ports or ports[other].carries:
            return False
        return port.local_id in ports[other].members or self._label(other).startswith(
            f"{self._label(port.local_id)}."
        )

    def _label(self, local_id: str) -> str:
        attributes = self._attributes[local_id]
        return str(attributes.get("name") or attributes.get("description") or local_id)


def _wwpns(attribute: Decoded, address: bytes) -> tuple[str, ...]:
    wwpns = [attribute] if isinstance(attribute, str) else []
    if len(address) == 8 and any(address) and address.hex() not in wwpns:
        wwpns.append(address.hex())
    return tuple(wwpns)


def _join_channel(ports: dict[str, Port], port: Port) -> None:
    """Add a port to its port-channel or trunk, whose bytes are counted at the members."""
    channel, trunk = port.attributes.get("port_channel"), port.attributes.get("trunk")
    if channel is not None and str(channel) in ports and str(channel) != port.local_id:
        channel_port = ports[str(channel)]
    elif trunk is not None:
        channel_port = ports.setdefault(f"trunk {trunk}", Port(f"trunk {trunk}", f"trunk {trunk}", port.technology))
    else:
        return
    channel_port.members.append(port.local_id)
    channel_port.carries = False


def inventory(switch: str, ports: Mapping[str, Port]) -> Iterator[SourceEntity | SourceLink]:
    """Yield the ports, their links to the switch, and the members of port-channels."""
    lldp = lldp_keys(ports)
    for port in ports.values():
        yield _entity(port, lldp.get(port.local_id, ()))
        evidence = "ifTable" if port.local_id.isdigit() else "port table"
        yield SourceLink("member_of", ("switch_port", port.local_id), ("switch", switch), evidence)
        for member in port.members:
            channel_port = ("switch_port", port.local_id)
            yield SourceLink("member_of", ("switch_port", member), channel_port, f"member of {port.label}")


def lldp_keys(ports: Mapping[str, Port]) -> dict[str, tuple[str, ...]]:
    """Return local id → the names by which neighbours may know a port: chassis and port identifier.

    A switch may announce other identifiers than its own table has: NX-OS the port's MAC address as the chassis, and
    the short name as the port; Junos an ifIndex or a name. Entries of its table take precedence over names derived
    for other ports; a derived name that fits several ports is dropped.
    """
    in_table = {p.local_id: f"{p.chassis}/{p.announced}" for p in ports.values() if p.chassis and p.announced}
    derived = {p.local_id: _derived_keys(p) for p in ports.values() if p.technology == "ethernet" and p.carries}
    uses = Tally(key for keys in derived.values() for key in keys)
    taken = Tally(in_table.values())
    found: dict[str, tuple[str, ...]] = {}
    for local_id in ports:
        own = in_table.get(local_id)
        others = (key for key in derived.get(local_id, ()) if uses[key] == 1 and key not in taken)
        found[local_id] = (*([own] if own and taken[own] == 1 else ()), *others)
    return found


def _derived_keys(port: Port) -> list[str]:
    names = [port.announced, *(str(port.attributes.get(name) or "") for name in ("name", "description"))]
    # NX-OS: "Eth1/19" is Ethernet1/19.
    names += [re.sub(r"^([A-Za-z]{3})[A-Za-z]+(?=\d)", r"\1", name) for name in names]
    chassis = (port.chassis, port.address)
    return list(dict.fromkeys(f"{first}/{second}" for first in chassis for second in names if first and second))


def _entity(port: Port, lldp: tuple[str, ...]) -> SourceEntity:
    decoded_columns = port.attributes
    ids: dict[str, tuple[str, ...]] = {"name": (port.label,)} if decoded_columns.get("name") else {}
    if port.wwpns:
        ids["wwpn"] = port.wwpns
    if port.mac:
        ids["mac"] = (port.mac,)
    if lldp:
        ids["lldp"] = lldp
    attributes: Attributes = {name: decoded_columns.get(name) for name in _ALWAYS_PRESENT}
    attributes |= {name: attributes[name] or "" for name in ("alias", "description")}
    attributes["technology"] = port.technology
    attributes["connector_present"] = decoded_columns.get("connector_present")
    is_up = decoded_columns.get("up")
    attributes["speed_bits_per_second"] = decoded_columns.get("speed_bits_per_second") if is_up else None
    attributes |= {name: decoded_columns[name] for name in _IF_KNOWN if decoded_columns.get(name) is not None}
    if port.members:
        attributes["members"] = len(port.members)
    return SourceEntity("switch_port", port.local_id, label=port.label, ids=ids, attributes=attributes)

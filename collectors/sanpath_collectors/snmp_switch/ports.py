"""The ports of a switch: one thing each, whatever index and name its tables give it."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.snmp_switch.profile import Index, PortNumber, Profile
from sanpath_collectors.snmp_switch.reading import Cell, Cells, sub_identifiers
from sanpath_collectors.snmp_switch.values import Decoded, decoded, integer, octets

# IANAifType-MIB
_LOOPBACK, _FIBRE_CHANNEL = 24, 56
_VIRTUAL = frozenset({53, 131, 135, 136, 161, 209})
"""propVirtual, tunnel, two VLANs, LAG, bridge: their bytes are counted at their ports."""

_ALWAYS = ("if_type", "alias", "description")
_WHERE_KNOWN = ("port_mode", "vsan", "port_channel", "trunk", "rate_mode", "capable_bits_per_second")
Attributes = dict[str, Decoded]


@dataclass(slots=True)
class Port:
    """A port. `local_id`: its ifIndex, or "port N" where IF-MIB lacks it; `carries`: bytes are counted here."""

    local_id: str
    label: str
    technology: str
    wwpns: tuple[str, ...] = ()
    mac: str | None = None
    attributes: Attributes = field(default_factory=dict)
    carries: bool = True
    members: list[str] = field(default_factory=list)


def place(index: Index, row: str, interfaces: Mapping[str, object]) -> str | None:
    """The port that the index of a row names, by its local id. None: the index is too short."""
    parts = sub_identifiers(row)
    return numbered(index, parts[index.at], interfaces) if index.at < len(parts) else None


def numbered(index: Index, number: int, interfaces: Mapping[str, object]) -> str:
    """The local id of a port by the number that a profile's tables give it."""
    if index.form == "if_index":
        return str(number)
    if_index = str(number + index.if_index_offset)
    return if_index if if_index in interfaces else f"port {number - 1}"


def named_by(
    where: PortNumber, index: Index, row: str, cells: Mapping[str, Cell], interfaces: Mapping[str, object]
) -> str | None:
    """The port that a row names in its index or in a column. None: it names none."""
    number = None
    if where.sub_identifier is not None:
        number = next(iter(sub_identifiers(row)[where.sub_identifier :]), None)
    elif where.column is not None and where.column in cells:
        number = integer(cells[where.column].value)
    return None if number is None or number < 0 else numbered(index, number + where.add, interfaces)


class Ports:
    """Puts together what each profile says of the ports; profiles come by precedence, the first to tell wins.

    `interfaces`: the ifIndexes that IF-MIB has.
    """

    def __init__(self, interfaces: Mapping[str, object]) -> None:
        self.interfaces = interfaces
        self._told: dict[str, Attributes] = {}
        self._technology: dict[str, str] = {}
        self._addresses: dict[str, bytes] = {}
        self._management: list[re.Pattern[str]] = []

    def add(self, profile: Profile, rows: Cells) -> None:
        """Take the port columns of a profile."""
        if profile.management:
            self._management.append(re.compile(profile.management))
        for row, cells in rows.items():
            port = place(profile.index, row, self.interfaces)
            if port is None:
                continue
            told = self._told.setdefault(port, {})
            if profile.technology:
                self._technology.setdefault(port, profile.technology)
            for name, column in profile.ports.items():
                if column.oid not in cells:
                    continue
                if name == "address":
                    self._addresses[port] = octets(cells[column.oid].value)
                elif told.get(name) is None:
                    told[name] = decoded(column, cells[column.oid].value)

    def ports(self) -> dict[str, Port]:
        """All but loopbacks, those that IF-MIB has first."""
        order = [
            *(p for p in self.interfaces if p in self._told),
            *(p for p in self._told if p not in self.interfaces),
        ]
        used = Tally(self._addresses.values())
        labels = Tally(self._label(port) for port in order)
        found = {}
        for local_id in order:
            told, label = self._told[local_id], self._label(local_id)
            if told.get("if_type") == _LOOPBACK:
                continue
            address = self._addresses.get(local_id, b"")
            # An address that several interfaces share, as of a chassis, tells no port from another.
            own = address if used[address] == 1 else b""
            port = found[local_id] = Port(local_id, label if labels[label] == 1 else f"{label} #{local_id}", "")
            fibre_channel = told.get("if_type") == _FIBRE_CHANNEL
            port.technology = self._technology.get(local_id) or ("fibre_channel" if fibre_channel else "ethernet")
            port.wwpns = _wwpns(told.get("wwpn"), own)
            # Fabric OS has a port's address there in digits: "327680" is no MAC.
            port.mac = own.hex(":") if len(own) == 6 and any(own) and port.technology == "ethernet" else None
            port.attributes = told
            management = any(pattern.fullmatch(str(told.get("description"))) for pattern in self._management)
            port.carries = told.get("if_type") not in _VIRTUAL and not management
        for port in list(found.values()):
            _join_channel(found, port)
        return found

    def _label(self, local_id: str) -> str:
        told = self._told[local_id]
        return str(told.get("name") or told.get("description") or local_id)


def _wwpns(told: Decoded, address: bytes) -> tuple[str, ...]:
    own = [told] if isinstance(told, str) else []
    if len(address) == 8 and any(address) and address.hex() not in own:
        own.append(address.hex())
    return tuple(own)


def _join_channel(ports: dict[str, Port], port: Port) -> None:
    """A port-channel or trunk has members, and its bytes are counted at them."""
    channel, trunk = port.attributes.get("port_channel"), port.attributes.get("trunk")
    if channel is not None and str(channel) in ports and str(channel) != port.local_id:
        whole = ports[str(channel)]
    elif trunk is not None:
        whole = ports.setdefault(f"trunk {trunk}", Port(f"trunk {trunk}", f"trunk {trunk}", port.technology))
    else:
        return
    whole.members.append(port.local_id)
    whole.carries = False


def things(switch: str, ports: Mapping[str, Port]) -> Iterator[SourceEntity | SourceLink]:
    """Ports, their switch, and the ports that make up a port-channel."""
    for port in ports.values():
        yield _thing(port)
        evidence = "ifTable" if port.local_id.isdigit() else "port table"
        yield SourceLink("member_of", ("switch_port", port.local_id), ("switch", switch), evidence)
        for member in port.members:
            whole = ("switch_port", port.local_id)
            yield SourceLink("member_of", ("switch_port", member), whole, f"member of {port.label}")


def _thing(port: Port) -> SourceEntity:
    told = port.attributes
    ids: dict[str, tuple[str, ...]] = {"name": (port.label,)} if told.get("name") else {}
    if port.wwpns:
        ids["wwpn"] = port.wwpns
    if port.mac:
        ids["mac"] = (port.mac,)
    if lldp := told.get("lldp"):
        ids["lldp"] = (str(lldp),)
    attributes: Attributes = {name: told.get(name) for name in _ALWAYS}
    attributes |= {name: attributes[name] or "" for name in ("alias", "description")}
    attributes["technology"] = port.technology
    attributes["connector_present"] = told.get("connector_present")
    attributes["speed_bits_per_second"] = told.get("speed_bits_per_second") if told.get("up") else None
    attributes |= {name: told[name] for name in _WHERE_KNOWN if told.get(name) is not None}
    if port.members:
        attributes["members"] = len(port.members)
    return SourceEntity("switch_port", port.local_id, label=port.label, ids=ids, attributes=attributes)

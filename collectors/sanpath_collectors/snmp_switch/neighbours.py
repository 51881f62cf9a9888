"""Neighbours of a port: a switch over Fibre Channel, a device with LLDP, or one whose MAC address was learned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sanpath.plugin import Snmp, SnmpValue, SourceLink
from sanpath_collectors.snmp_switch.column_reader import Cell, Cells, get_if_allowed, read_if_allowed, sub_identifiers
from sanpath_collectors.snmp_switch.parse import integer, octets, text, wwn
from sanpath_collectors.snmp_switch.ports import Port, port_of_row
from sanpath_collectors.snmp_switch.profile import Forwarding, Lldp, NeighbourTable, Profile

_MAC_ADDRESS = 3
"""LldpPortIdSubtype of IEEE 802.1AB."""
_CUT_OCTETS = 16
_LEARNED = 3
"""The value `learned` of dot1dTpFdbStatus and dot1qTpFdbStatus."""


async def inter_switch_links(
    snmp: Snmp, profiles: Iterable[Profile], ports: Mapping[str, Port], interfaces: Mapping[str, object]
) -> list[SourceLink]:
    """Return a link for each port that leads to a port of another switch, identified by its WWN.

    Raises CollectorError if the agent does not answer.
    """
    links: dict[tuple[str, str], SourceLink] = {}
    for profile in profiles:
        for table in profile.neighbours:
            rows = await read_if_allowed(snmp, _columns(table))
            for row, cells in rows.items():
                peer = wwn(cells[table.peer].value) if table.peer in cells else None
                port = port_of_row(table.port, profile.index, row, cells, interfaces)
                if peer is not None and port is not None and port in ports and _is_listed(table, cells):
                    link = SourceLink("cabled_to", ("switch_port", port), ("wwpn", peer), table.evidence)
                    links.setdefault((port, peer), link)
    return list(links.values())


def _columns(table: NeighbourTable) -> list[str]:
    extra_columns = (table.port.column, table.only.column if table.only else None)
    return [table.peer, *(oid for oid in extra_columns if oid is not None)]


def _is_listed(table: NeighbourTable, cells: Mapping[str, Cell]) -> bool:
    condition = table.only
    return condition is None or (condition.column in cells and cells[condition.column].value == condition.equals)


async def lldp_neighbours(snmp: Snmp, lldp: Lldp, object_id: str, ports: Mapping[str, Port]) -> list[SourceLink]:
    """Return the cables that LLDP reports, and set the announced identifiers of each port: chassis and port."""
    chassis = identifier((await get_if_allowed(snmp, [lldp.chassis_id]))[lldp.chassis_id])
    local = await read_if_allowed(snmp, [lldp.port_id_subtype, lldp.port_id, lldp.port_description])
    is_if_index = any(f"{object_id}.".startswith(f"{root}.") for root in lldp.number_is_if_index)
    by_number = {
        row: port for row, cells in local.items() if (port := _local_port(lldp, row, cells, ports, is_if_index))
    }
    if not is_if_index:
        by_number |= await _numbered_ports(snmp, lldp, local, by_number, ports)
    for row, port in by_number.items():
        cells = local[row]
        ports[port].chassis = chassis
        ports[port].announced = identifier(cells[lldp.port_id].value) if lldp.port_id in cells else ""
    port_columns = [lldp.remote_port_id_subtype, lldp.remote_port_id, lldp.remote_port_description]
    remote = await read_if_allowed(snmp, [lldp.remote_chassis_id, *port_columns, lldp.remote_name])
    if not local and remote:
        by_number = await _unlisted_ports(snmp, lldp, remote, ports)
    return list(_cables(lldp, remote, by_number))


def _local_port(
    lldp: Lldp, number: str, cells: Mapping[str, Cell], ports: Mapping[str, Port], is_if_index: bool
) -> str | None:
    """Return the port with this LLDP number: an ifIndex if the agent is known to use it, otherwise by name."""
    if is_if_index:
        return number if number in ports else None
    raw = cells[lldp.port_id].value if lldp.port_id in cells else None
    description = text(cells[lldp.port_description].value) if lldp.port_description in cells else ""
    for port in ports.values():
        names = {port.label, port.attributes.get("name"), port.attributes.get("description")}
        if (text(raw) or description) and {text(raw), description} & names:
            return port.local_id
        if port.mac and octets(raw).hex(":") == port.mac:
            return port.local_id
    return None


async def _numbered_ports(
    snmp: Snmp, lldp: Lldp, local: Cells, named: Mapping[str, str], ports: Mapping[str, Port]
) -> dict[str, str]:
    """Return LLDP number → port, for those that no name tells. `named`: the others.

    LLDP-MIB (LldpPortNumber): a bridge numbers its ports as dot1dBasePort, a device that is none by their ifIndex.
    This counts if no name contradicts it at any port of the switch. An identifier that is an ifIndex, as on Junos,
    may mean anything else: the number must be equal to it, or be the bridge port with this ifIndex.
    """
    identifiers = {row: text(cells[lldp.port_id].value) for row, cells in local.items() if lldp.port_id in cells}
    unnamed = {number: identifier for number, identifier in identifiers.items() if number not in named}
    if all(number == identifier and identifier in ports for number, identifier in unnamed.items()):
        if_index: Mapping[str, str] = {}  # nothing to look up
    else:
        if_index = await _bridge_ports(snmp, lldp.bridge_port_if_index)
    as_defined = if_index or dict(zip(identifiers, identifiers, strict=True))
    is_as_defined = all(as_defined.get(number, port) == port for number, port in named.items())
    taken = set(named.values())
    found: dict[str, str] = {}
    for number, identifier in unnamed.items():
        if identifier in ports:
            port = identifier if identifier in (number, if_index.get(number)) else None
        else:
            port = as_defined.get(number) if is_as_defined else None
        if port is not None and port in ports and port not in taken and ports[port].carries:
            found[number] = port
    return found


async def _unlisted_ports(snmp: Snmp, lldp: Lldp, remote: Cells, ports: Mapping[str, Port]) -> dict[str, str]:
    """Return LLDP number → port of an agent without the table of its own ports, as of RouterOS and some Comware.

    A number is that of the bridge port, or the ifIndex. It counts if only one of the two is a port, or both are the
    same.
    """
    if_index = await _bridge_ports(snmp, lldp.bridge_port_if_index)
    found: dict[str, str] = {}
    for row in remote:
        _, _, rest = row.partition(".")  # without the time mark
        number = rest.partition(".")[0]
        readings = {port for port in (if_index.get(number), number) if port and port in ports and ports[port].carries}
        if len(readings) == 1:
            found[number] = readings.pop()
    return found


async def _bridge_ports(snmp: Snmp, column: str) -> dict[str, str]:
    """Return bridge port → ifIndex."""
    rows = await read_if_allowed(snmp, [column])
    return {row: str(integer(cell.value)) for row, cells in rows.items() for cell in cells.values()}


def _cables(lldp: Lldp, remote: Cells, by_number: Mapping[str, str]) -> Iterator[SourceLink]:
    for row, cells in remote.items():
        index = row.split(".")  # time mark, local port number, number of the neighbour
        port = by_number.get(index[1]) if len(index) == 3 else None
        values = {oid: cell.value for oid, cell in cells.items()}
        chassis = identifier(values.get(lldp.remote_chassis_id))
        remote_port = _full_port_id(values.get(lldp.remote_port_id), text(values.get(lldp.remote_port_description)))
        if port is None or not chassis or not remote_port:
            continue
        evidence = f"LLDP neighbour {text(values.get(lldp.remote_name)) or chassis}, port {remote_port}"
        port_is_mac = integer(values.get(lldp.remote_port_id_subtype)) == _MAC_ADDRESS
        remote_end = ("mac", remote_port) if port_is_mac else ("lldp", f"{chassis}/{remote_port}")
        yield SourceLink("cabled_to", ("switch_port", port), remote_end, evidence)


def _full_port_id(port_id: SnmpValue, description: str) -> str:
    """Return a port identifier, or the name in the description if it is cut off at 16 octets, as on NX-OS.

    >>> _full_port_id(b"Ten-GigabitEther", "Ten-GigabitEthernet1/0/49 Interface")
    'Ten-GigabitEthernet1/0/49'
    >>> _full_port_id(b"TenGigabitEthern", "TenGigabitEthernet 0/49")
    'TenGigabitEthernet 0/49'
    """
    name = identifier(port_id)
    if len(name) != _CUT_OCTETS or not description.startswith(name):
        return name
    first, *others = description.split()
    has_number = any(character.isdigit() for character in first)
    return first if has_number or not others else f"{first} {others[0]}"


def identifier(value: SnmpValue) -> str:
    """Return a chassis or port identifier as text: a MAC address in hexadecimal digits, others unchanged.

    >>> identifier(bytes.fromhex("002a6afc5b80")), identifier(b"Ethernet1/49")
    ('00:2a:6a:fc:5b:80', 'Ethernet1/49')
    """
    raw = octets(value)
    characters = text(value)
    if len(raw) == 6 and not (characters.isascii() and characters.isprintable() and len(characters) == 6):
        return raw.hex(":")
    return characters


async def forwarding_links(snmp: Snmp, forwarding: Forwarding, ports: Mapping[str, Port]) -> list[SourceLink]:
    """Return a link for each address that was learned at only one port, unless that port is an uplink.

    A port with more than `most_addresses` addresses counts as an uplink. Raises CollectorError.
    """
    if_index = await _bridge_ports(snmp, forwarding.bridge_port_if_index)
    for table in forwarding.tables:
        ports_by_address: dict[str, set[str]] = defaultdict(set)
        addresses_by_port: dict[str, set[str]] = defaultdict(set)
        for row, cells in (await read_if_allowed(snmp, [table.port, table.status])).items():
            values = {oid: integer(cell.value) for oid, cell in cells.items()}
            mac, port = _mac(row), if_index.get(str(values.get(table.port)))
            if mac and port is not None and port in ports and values.get(table.status) == _LEARNED:
                ports_by_address[mac].add(port)
                addresses_by_port[port].add(mac)
        if ports_by_address:
            return [
                SourceLink(
                    "logged_in",
                    ("mac", mac),
                    ("switch_port", port),
                    f"forwarding table, {len(addresses_by_port[port])} there",
                )
                for mac, learned_ports in ports_by_address.items()
                for port in learned_ports
                if len(learned_ports) == 1 and len(addresses_by_port[port]) <= forwarding.most_addresses
            ]
    return []


def _mac(row: str) -> str | None:
    octets = sub_identifiers(row)[-6:]
    return bytes(octets).hex(":") if len(octets) == 6 and max(octets) < 256 and any(octets) else None

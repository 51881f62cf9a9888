"""What is at the other end of a port: other switches over Fibre Channel, anything that speaks LLDP over Ethernet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sanpath.plugin import Snmp, SnmpValue, SourceLink
from sanpath_collectors.snmp_switch.ports import Port, named_by
from sanpath_collectors.snmp_switch.profile import Lldp, NeighbourTable, Profile
from sanpath_collectors.snmp_switch.reading import Cell, Cells, get_if_allowed, read_if_allowed
from sanpath_collectors.snmp_switch.values import integer, octets, text, wwn

_MAC_ADDRESS = 3
"""LldpPortIdSubtype of IEEE 802.1AB."""


async def inter_switch_links(
    snmp: Snmp, profiles: Iterable[Profile], ports: Mapping[str, Port], interfaces: Mapping[str, object]
) -> list[SourceLink]:
    """A link for each port that leads to a port of another switch, by its WWN. Raises CollectorError on silence."""
    found: dict[tuple[str, str], SourceLink] = {}
    for profile in profiles:
        for table in profile.neighbours:
            rows = await read_if_allowed(snmp, _columns(table))
            for row, cells in rows.items():
                peer = wwn(cells[table.peer].value) if table.peer in cells else None
                port = named_by(table.port, profile.index, row, cells, interfaces)
                if peer is not None and port is not None and port in ports and _counts(table, cells):
                    link = SourceLink("cabled_to", ("switch_port", port), ("wwpn", peer), table.evidence)
                    found.setdefault((port, peer), link)
    return list(found.values())


def _columns(table: NeighbourTable) -> list[str]:
    also = (table.port.column, table.only.column if table.only else None)
    return [table.peer, *(oid for oid in also if oid is not None)]


def _counts(table: NeighbourTable, cells: Mapping[str, Cell]) -> bool:
    only = table.only
    return only is None or (only.column in cells and cells[only.column].value == only.equals)


async def lldp_neighbours(snmp: Snmp, lldp: Lldp, object_id: str, ports: Mapping[str, Port]) -> list[SourceLink]:
    """Cables that LLDP tells of, and the name under which each port is known to LLDP, as its attribute `lldp`.

    A port is known by the chassis and its own port identifier: both ends say the same of it.
    """
    chassis = identifier((await get_if_allowed(snmp, [lldp.chassis_id]))[lldp.chassis_id])
    local = await read_if_allowed(snmp, [lldp.port_id_subtype, lldp.port_id, lldp.port_description])
    is_if_index = any(f"{object_id}.".startswith(f"{root}.") for root in lldp.number_is_if_index)
    by_number = {
        row: port for row, cells in local.items() if (port := _local_port(lldp, row, cells, ports, is_if_index))
    }
    for row, port in by_number.items():
        if chassis and (own := identifier(local[row][lldp.port_id].value if lldp.port_id in local[row] else None)):
            ports[port].attributes["lldp"] = f"{chassis}/{own}"
    remote = [lldp.remote_chassis_id, lldp.remote_port_id_subtype, lldp.remote_port_id, lldp.remote_name]
    return list(_cables(lldp, await read_if_allowed(snmp, remote), by_number))


def _local_port(
    lldp: Lldp, number: str, cells: Mapping[str, Cell], ports: Mapping[str, Port], is_if_index: bool
) -> str | None:
    """The port with this local number: by ifIndex where the agent is known to do so, else by what it is called."""
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


def _cables(lldp: Lldp, remote: Cells, by_number: Mapping[str, str]) -> Iterator[SourceLink]:
    for row, cells in remote.items():
        parts = row.split(".")  # time mark, local port number, number of the neighbour
        port = by_number.get(parts[1]) if len(parts) == 3 else None
        told = {oid: cell.value for oid, cell in cells.items()}
        chassis, other = identifier(told.get(lldp.remote_chassis_id)), identifier(told.get(lldp.remote_port_id))
        if port is None or not chassis or not other:
            continue
        evidence = f"LLDP neighbour {text(told.get(lldp.remote_name)) or chassis}, port {other}"
        by_mac = integer(told.get(lldp.remote_port_id_subtype)) == _MAC_ADDRESS
        end = ("mac", other) if by_mac else ("lldp", f"{chassis}/{other}")
        yield SourceLink("cabled_to", ("switch_port", port), end, evidence)


def identifier(value: SnmpValue) -> str:
    """A chassis or port identifier as text: a MAC address in digits, anything else as it is written.

    >>> identifier(bytes.fromhex("002a6afc5b80")), identifier(b"Ethernet1/49")
    ('00:2a:6a:fc:5b:80', 'Ethernet1/49')
    """
    raw = octets(value)
    written = text(value)
    if len(raw) == 6 and not (written.isascii() and written.isprintable() and len(written) == 6):
        return raw.hex(":")
    return written

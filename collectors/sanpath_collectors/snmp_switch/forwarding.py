"""Forwarding tables: the MAC addresses learned at each port, which show where hosts and arrays are plugged in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sanpath.plugin import Snmp, SourceLink
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.profile import Forwarding
from sanpath_collectors.snmp_switch.reading import read_if_allowed, sub_identifiers
from sanpath_collectors.snmp_switch.values import integer

_LEARNED = 3
"""The value `learned` of dot1dTpFdbStatus and dot1qTpFdbStatus."""


async def forwarding_links(snmp: Snmp, forwarding: Forwarding, ports: Mapping[str, Port]) -> list[SourceLink]:
    """Return a link for each address that was learned at only one port, unless that port is an uplink.

    A port with more than `most_addresses` addresses counts as an uplink. Raises CollectorError.
    """
    if_index = {
        row: str(integer(cell.value))
        for row, cells in (await read_if_allowed(snmp, [forwarding.bridge_port_if_index])).items()
        for cell in cells.values()
    }
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

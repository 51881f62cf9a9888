"""Which MAC addresses were learned behind which port: where Ethernet hosts and arrays are plugged in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sanpath.plugin import Snmp, SourceLink
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.profile import Forwarding
from sanpath_collectors.snmp_switch.reading import read_if_allowed, sub_identifiers
from sanpath_collectors.snmp_switch.values import integer

_LEARNED = 3
"""dot1dTpFdbStatus, dot1qTpFdbStatus."""


async def forwarding_ties(snmp: Snmp, forwarding: Forwarding, ports: Mapping[str, Port]) -> list[SourceLink]:
    """A link from each address that was learned behind one port only, and that no uplink. Raises CollectorError."""
    if_index = {
        row: str(integer(cell.value))
        for row, cells in (await read_if_allowed(snmp, [forwarding.bridge_port_if_index])).items()
        for cell in cells.values()
    }
    for table in forwarding.tables:
        behind: dict[str, set[str]] = defaultdict(set)
        addresses: dict[str, set[str]] = defaultdict(set)
        for row, cells in (await read_if_allowed(snmp, [table.port, table.status])).items():
            told = {oid: integer(cell.value) for oid, cell in cells.items()}
            mac, port = _mac(row), if_index.get(str(told.get(table.port)))
            if mac and port is not None and port in ports and told.get(table.status) == _LEARNED:
                behind[mac].add(port)
                addresses[port].add(mac)
        if behind:
            return [
                SourceLink(
                    "logged_in",
                    ("mac", mac),
                    ("switch_port", port),
                    f"forwarding table, {len(addresses[port])} there",
                )
                for mac, found in behind.items()
                for port in found
                if len(found) == 1 and len(addresses[port]) <= forwarding.most_addresses
            ]
    return []


def _mac(row: str) -> str | None:
    parts = sub_identifiers(row)[-6:]
    return bytes(parts).hex(":") if len(parts) == 6 and max(parts) < 256 and any(parts) else None

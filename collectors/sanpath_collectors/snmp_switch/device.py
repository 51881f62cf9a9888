"""Discovery of a switch: its identity, the profiles that apply to it, and its neighbours."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import Snmp, SnmpValue, SourceEntity, SourceLink
from sanpath_collectors.snmp_switch import logins, ports
from sanpath_collectors.snmp_switch.column_reader import (
    SYS_DESCR,
    SYS_NAME,
    SYS_OBJECT_ID,
    Cells,
    Family,
    family,
    get_if_allowed,
    read_if_allowed,
)
from sanpath_collectors.snmp_switch.neighbours import forwarding_links, inter_switch_links, lldp_neighbours
from sanpath_collectors.snmp_switch.parse import text, wwn
from sanpath_collectors.snmp_switch.profile import Profile, devices, profiles

_ENTERPRISES = "1.3.6.1.4.1."
_VENDORS = {"9": "cisco", "1588": "brocade"}
"""Private enterprise number (IANA) → vendor."""
_VENDOR_WORDS = {"nx-os": "cisco", "cisco": "cisco", "fabric os": "brocade", "brocade": "brocade"}


@dataclass(slots=True)
class Device:
    """A switch as of its last discovery.

    `summary`: the first words of its description. `interfaces`: the rows of IF-MIB. `about`: its attributes, such as
    model, firmware, serial and wwn.
    """

    name: str
    description: str
    summary: str
    object_id: str
    family: Family
    interfaces: Cells
    ports: dict[str, ports.Port]
    about: dict[str, str | int] = field(default_factory=dict)

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles that apply, by precedence."""
        return self.family.applicable


async def discover(snmp: Snmp, fallback_name: str) -> Device:
    """Read the identity and the ports of a switch. Raises CollectorError.

    `fallback_name`: the name of a switch that reports none.
    """
    system = await snmp.get([SYS_NAME, SYS_DESCR, SYS_OBJECT_ID])
    object_id = system[SYS_OBJECT_ID]
    object_id = object_id if isinstance(object_id, str) else ""
    switch_family = await family(snmp, object_id, profiles())
    rows: list[tuple[Profile, Cells]] = []
    interfaces: Cells = {}
    for profile in switch_family.applicable:
        if profile.ports:
            cells = await read_if_allowed(
                snmp, [column.oid for columns in profile.ports.values() for column in columns]
            )
            rows.append((profile, cells))
            if "if_type" in profile.ports:
                interfaces = cells
    all_ports = ports.Ports(interfaces)
    for profile, cells in rows:
        all_ports.add(profile, cells)
    for profile in switch_family.applicable:
        if profile.stack is not None and all_ports.lack_members(profile.stack):
            all_ports.add_members(profile.stack, await read_if_allowed(snmp, [profile.stack.status]))
    name, raw_description = text(system[SYS_NAME]) or fallback_name, system[SYS_DESCR]
    description = text(raw_description)
    summary = text(raw_description.split(b"\n")[0].split(b",")[0]) if isinstance(raw_description, bytes) else ""
    about = await _read_about(snmp, switch_family.applicable, description)
    return Device(name, description, summary, object_id, switch_family, interfaces, all_ports.ports(), about)


async def _read_about(snmp: Snmp, applicable: Sequence[Profile], description: str) -> dict[str, str | int]:
    """Read model, firmware, serial number and WWN, if the profiles have columns for them."""
    about: dict[str, str | int] = {}
    for profile in applicable:
        scalars = profile.switch.scalars
        values = await get_if_allowed(snmp, [oid for oids in scalars.values() for oid in oids])
        for name, oids in scalars.items():
            for oid in oids:
                _set_attribute(about, name, values[oid])
        for name, column in profile.switch.columns.items():
            for cells in (await read_if_allowed(snmp, [column])).values():
                _set_attribute(about, name, cells[column].value)
        if match := re.search(profile.switch.description, description) if profile.switch.description else None:
            about = {**match.groupdict(), **about}
    return about


def vendor(object_id: str, description: str) -> str | None:
    """Return "cisco" or "brocade", the vendors whose command lines remedies use. None: another vendor.

    A switch that another company resells counts as the original vendor's.

    >>> vendor("1.3.6.1.4.1.2.6.182", "IBM SAN24B, Fabric OS v9"), vendor("", "Dell SmartFabric OS10 Enterprise")
    ('brocade', None)
    """
    enterprise = object_id.removeprefix(_ENTERPRISES).split(".")[0] if object_id.startswith(_ENTERPRISES) else ""
    if enterprise in _VENDORS:
        return _VENDORS[enterprise]
    words = description.lower()
    return next((make for word, make in _VENDOR_WORDS.items() if re.search(rf"\b{word}\b", words)), None)


def _set_attribute(about: dict[str, str | int], name: str, value: SnmpValue) -> None:
    decoded = wwn(value) if name == "wwn" else value if isinstance(value, int) else text(value)
    if decoded is not None and decoded != "":
        about.setdefault(name, decoded)


async def read_inventory(snmp: Snmp, device: Device) -> AsyncIterator[SourceEntity | SourceLink]:
    """Yield the switch, its ports, their logins and their neighbours. Raises CollectorError."""
    lldp = [
        link
        for profile in device.profiles
        if profile.lldp is not None
        for link in await lldp_neighbours(snmp, profile.lldp, device.object_id, device.ports)
    ]
    yield _switch(device)
    for entity in ports.inventory(device.name, device.ports):
        yield entity
    port_logins = await logins.logins(snmp, device.profiles, device.ports, device.interfaces)
    for item in logins.inventory(port_logins, device.ports, devices()):
        yield item
    if not port_logins:  # The switch's own table of logins is more current than descriptions written by people.
        for link in logins.links_from_descriptions(device.ports):
            yield link
    for link in await inter_switch_links(snmp, device.profiles, device.ports, device.interfaces):
        yield link
    for link in lldp:
        yield link
    for profile in device.profiles:
        if profile.forwarding is not None:
            for link in await forwarding_links(snmp, profile.forwarding, device.ports):
                yield link


def _switch(device: Device) -> SourceEntity:
    ids = {"name": (device.name,)}
    about = dict(device.about)
    if switch_wwn := about.pop("wwn", None):
        ids["switch_wwn"] = (str(switch_wwn),)
    attributes = {"description": device.description, **about}
    if (vendor_name := vendor(device.object_id, device.description)) is not None:
        attributes["make"] = vendor_name
    return SourceEntity("switch", device.name, label=device.name, ids=ids, attributes=attributes)

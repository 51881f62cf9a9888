"""Finding out what a switch is, which of its tables tell what, and what hangs on it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import Snmp, SnmpValue, SourceEntity, SourceLink
from sanpath_collectors.snmp_switch import logins, ports
from sanpath_collectors.snmp_switch.forwarding import forwarding_ties
from sanpath_collectors.snmp_switch.neighbours import inter_switch_links, lldp_neighbours
from sanpath_collectors.snmp_switch.profile import Profile, devices, profiles
from sanpath_collectors.snmp_switch.reading import (
    SYS_DESCR,
    SYS_NAME,
    SYS_OBJECT_ID,
    Cells,
    Family,
    family,
    get_if_allowed,
    read_if_allowed,
)
from sanpath_collectors.snmp_switch.values import text, wwn

_ENTERPRISES = "1.3.6.1.4.1."
_MAKES = {"9": "cisco", "1588": "brocade"}
"""Private enterprise number (IANA) → make."""
_WORDS = {"nx-os": "cisco", "cisco": "cisco", "fabric os": "brocade", "brocade": "brocade"}


@dataclass(slots=True)
class Device:
    """A switch as it was last found.

    `summary`: the first words of its description; `interfaces`: the rows of IF-MIB; `about`: what it says of itself,
    such as model, firmware, serial and wwn.
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
        """Those that apply, by precedence."""
        return self.family.applicable


async def discover(snmp: Snmp, called: str) -> Device:
    """What the switch is and which ports it has. `called`: its name where it tells none. Raises CollectorError."""
    system = await snmp.get([SYS_NAME, SYS_DESCR, SYS_OBJECT_ID])
    object_id = system[SYS_OBJECT_ID]
    object_id = object_id if isinstance(object_id, str) else ""
    found = await family(snmp, object_id, profiles())
    rows: list[tuple[Profile, Cells]] = []
    interfaces: Cells = {}
    for profile in found.applicable:
        if profile.ports:
            cells = await read_if_allowed(snmp, [column.oid for column in profile.ports.values()])
            rows.append((profile, cells))
            if "if_type" in profile.ports:
                interfaces = cells
    known = ports.Ports(interfaces)
    for profile, cells in rows:
        known.add(profile, cells)
    name, described = text(system[SYS_NAME]) or called, system[SYS_DESCR]
    description = text(described)
    summary = text(described.split(b"\n")[0].split(b",")[0]) if isinstance(described, bytes) else ""
    about = await _about(snmp, found.applicable, description)
    return Device(name, description, summary, object_id, found, interfaces, known.ports(), about)


async def _about(snmp: Snmp, applicable: Sequence[Profile], description: str) -> dict[str, str | int]:
    """Model, firmware, serial number and WWN, as far as any profile knows where they are."""
    told: dict[str, str | int] = {}
    for profile in applicable:
        scalars = profile.switch.scalars
        values = await get_if_allowed(snmp, [oid for oids in scalars.values() for oid in oids])
        for name, oids in scalars.items():
            for oid in oids:
                _tell(told, name, values[oid])
        for name, column in profile.switch.columns.items():
            for cells in (await read_if_allowed(snmp, [column])).values():
                _tell(told, name, cells[column].value)
        if match := re.search(profile.switch.description, description) if profile.switch.description else None:
            told = {**match.groupdict(), **told}
    return told


def make(object_id: str, description: str) -> str | None:
    """ "cisco" or "brocade", whose command lines remedies know, also where another vendor sells it. None: another."""
    enterprise = object_id.removeprefix(_ENTERPRISES).split(".")[0] if object_id.startswith(_ENTERPRISES) else ""
    if enterprise in _MAKES:
        return _MAKES[enterprise]
    words = description.lower()
    return next((made for word, made in _WORDS.items() if word in words), None)


def _tell(told: dict[str, str | int], name: str, value: SnmpValue) -> None:
    said = wwn(value) if name == "wwn" else value if isinstance(value, int) else text(value)
    if said is not None and said != "":
        told.setdefault(name, said)


async def whereabouts(snmp: Snmp, device: Device) -> AsyncIterator[SourceEntity | SourceLink]:
    """The switch, its ports, who has logged in and what is at the other ends. Raises CollectorError."""
    lldp = [
        tie
        for profile in device.profiles
        if profile.lldp is not None
        for tie in await lldp_neighbours(snmp, profile.lldp, device.object_id, device.ports)
    ]
    yield _switch(device)
    for thing in ports.things(device.name, device.ports):
        yield thing
    found = await logins.logins(snmp, device.profiles, device.ports, device.interfaces)
    for item in logins.things(found, device.ports, devices()):
        yield item
    if not found:  # What a switch knows of its logins is newer than what somebody once wrote down.
        for tie in logins.written_by_hand(device.ports):
            yield tie
    for tie in await inter_switch_links(snmp, device.profiles, device.ports, device.interfaces):
        yield tie
    for tie in lldp:
        yield tie
    for profile in device.profiles:
        if profile.forwarding is not None:
            for tie in await forwarding_ties(snmp, profile.forwarding, device.ports):
                yield tie


def _switch(device: Device) -> SourceEntity:
    ids = {"name": (device.name,)}
    about = dict(device.about)
    if own := about.pop("wwn", None):
        ids["switch_wwn"] = (str(own),)
    attributes = {"description": device.description, **about}
    if (made := make(device.object_id, device.description)) is not None:
        attributes["make"] = made
    return SourceEntity("switch", device.name, label=device.name, ids=ids, attributes=attributes)

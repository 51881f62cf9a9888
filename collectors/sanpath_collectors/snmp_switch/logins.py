"""Logins at the ports of a switch, and whether each is an initiator or a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sanpath.plugin import Snmp, SourceEntity, SourceLink, without_none
from sanpath_collectors.snmp_switch.column_reader import Cell, Cells, read_if_allowed, sub_identifiers
from sanpath_collectors.snmp_switch.parse import octets, text, wwn, wwpns_in
from sanpath_collectors.snmp_switch.ports import Port, port_of_row
from sanpath_collectors.snmp_switch.profile import Devices, FcId, LoginTable, Profile

Role = Literal["initiator", "target"]
_KINDS = {"initiator": "hba", "target": "array_port"}
_INQUIRY_CHARACTERS = 28


@dataclass(frozen=True, slots=True)
class Login:
    """A WWPN at a port. `fc_id`: six hexadecimal digits, "": unknown. `symbolic`: symbolic names of the device.

    `features`: the FC-4 features that the device registered with the name server.
    """

    port: str
    wwpn: str
    evidence: str
    fc_id: str = ""
    node_wwn: str | None = None
    features: bytes = b""
    symbolic: tuple[str, ...] = ()


async def logins(
    snmp: Snmp, profiles: Iterable[Profile], ports: Mapping[str, Port], interfaces: Mapping[str, object]
) -> list[Login]:
    """Read the logins of all tables, merged by port and WWPN. Raises CollectorError if the agent does not answer."""
    logins_by_port: dict[tuple[str, str], Login] = {}
    by_wwn = {port_wwn: port.local_id for port in ports.values() for port_wwn in port.wwpns}
    for profile in profiles:
        for table in profile.logins:
            rows = await read_if_allowed(snmp, _columns(table))
            for login in _parse_table(profile, table, rows, by_wwn, interfaces):
                previous = logins_by_port.get((login.port, login.wwpn))
                logins_by_port[login.port, login.wwpn] = login if previous is None else _merge(previous, login)
    return list(logins_by_port.values())


def _columns(table: LoginTable) -> list[str]:
    extra_columns = (table.port.column if table.port else None, table.fc_id.column if table.fc_id else None)
    columns = (table.wwpn, table.fabric_port, table.node_wwn, table.fc4_types, table.features, *extra_columns)
    return [oid for oid in (*columns, *table.symbolic) if oid is not None]


def _parse_table(
    profile: Profile, table: LoginTable, rows: Cells, by_wwn: Mapping[str, str], interfaces: Mapping[str, object]
) -> Iterator[Login]:
    for row, cells in rows.items():
        wwpn = _wwn(cells, table.wwpn)
        if table.port is not None:
            port = port_of_row(table.port, profile.index, row, cells, interfaces)
        else:
            port = by_wwn.get(_wwn(cells, table.fabric_port) or "")
        if wwpn is None or port is None or by_wwn.get(wwpn) == port:
            continue
        features = octets(cells[table.features].value) if table.features in cells else b""
        symbolic = tuple(
            dict.fromkeys(name for oid in table.symbolic if oid in cells if (name := text(cells[oid].value)))
        )
        yield Login(
            port,
            wwpn,
            table.evidence,
            _fc_id(table.fc_id, row, cells),
            _wwn(cells, table.node_wwn),
            features,
            symbolic,
        )


def _wwn(cells: Mapping[str, Cell], oid: str | None) -> str | None:
    return wwn(cells[oid].value) if oid is not None and oid in cells else None


def _fc_id(location: FcId | None, row: str, cells: Mapping[str, Cell]) -> str:
    if location is None:
        return ""
    if location.column is not None:
        return octets(cells[location.column].value)[-3:].hex() if location.column in cells else ""
    first = location.sub_identifier or 0
    octets_of_id = sub_identifiers(row)[first : first + 3]
    return bytes(octets_of_id).hex() if len(octets_of_id) == 3 and max(octets_of_id) < 256 else ""


def _merge(previous: Login, later: Login) -> Login:
    return replace(
        previous,
        fc_id=previous.fc_id or later.fc_id,
        node_wwn=previous.node_wwn or later.node_wwn,
        features=previous.features or later.features,
        symbolic=previous.symbolic or later.symbolic,
    )


def role(login: Login, devices: Devices) -> Role | None:
    """Return the role that the device registered with the name server. None: unknown.

    Ports of arrays may have both: they are initiators towards other arrays, which they replicate to or virtualise. So
    has an adapter of a host in target mode, which has the name of its driver; what that serves is unknown."""
    bits = 0
    for octet in devices.features.octets:
        bits |= login.features[octet] & 0x0F if octet < len(login.features) else 0
    match bits & (devices.features.initiator | devices.features.target):
        case devices.features.initiator:
            return "initiator"
        case devices.features.target:
            return "target"
        case 0:
            return _role_by_name(login.symbolic, devices)
    return None if _role_by_name(login.symbolic, devices) == "initiator" else "target"


def _role_by_name(names: Iterable[str], devices: Devices) -> Role | None:
    for name in names:
        if any(pattern.search(name) for pattern in devices.initiator):
            return "initiator"
        if any(pattern.search(name) for pattern in devices.target):
            return "target"
    return None


def inventory(
    all_logins: Iterable[Login], ports: Mapping[str, Port], devices: Devices
) -> Iterator[SourceEntity | SourceLink]:
    """Yield a link for every login, and an entity for each device of known role, identified by its WWPN."""
    for login in all_logins:
        if (device_role := role(login, devices)) is not None:
            yield _device(_KINDS[device_role], login)
        address = f", address {login.fc_id}" if login.fc_id else ""
        entity = f', "{login.symbolic[0]}"' if login.symbolic else ""
        evidence = f"{login.evidence}{address}{entity}"
        if login.port in ports:
            yield SourceLink("logged_in", ("wwpn", login.wwpn), ("switch_port", login.port), evidence)


def _device(kind: str, login: Login) -> SourceEntity:
    attributes = {
        "symbolic_name": login.symbolic[0][: _INQUIRY_CHARACTERS * 4] if login.symbolic else None,
        "node_wwn": login.node_wwn,
    }
    return SourceEntity(kind, login.wwpn, login.wwpn, {"wwpn": (login.wwpn,)}, without_none(attributes))


def links_from_descriptions(ports: Mapping[str, Port]) -> Iterator[SourceLink]:
    """Yield a link for every WWPN in the description of a port."""
    for port in ports.values():
        alias = str(port.attributes.get("alias") or "")
        for wwpn in wwpns_in(alias):
            yield SourceLink(
                "logged_in", ("wwpn", wwpn), ("switch_port", port.local_id), f'port description "{alias}"'
            )

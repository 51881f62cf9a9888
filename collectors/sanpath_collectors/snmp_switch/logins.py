"""Who has logged in at which port of the switch, and whether it is an initiator or a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sanpath.plugin import Snmp, SourceEntity, SourceLink
from sanpath_collectors.snmp_switch.parse import wwpns_in
from sanpath_collectors.snmp_switch.ports import Port, named_by
from sanpath_collectors.snmp_switch.profile import Devices, FcId, LoginTable, Profile
from sanpath_collectors.snmp_switch.reading import Cell, Cells, read_if_allowed, sub_identifiers
from sanpath_collectors.snmp_switch.values import octets, text, wwn

Role = Literal["initiator", "target"]
_KINDS = {"initiator": "hba", "target": "array_port"}
_INQUIRY_CHARACTERS = 28


@dataclass(frozen=True, slots=True)
class Login:
    """A WWPN at a port. `fc_id`: six hexadecimal digits, "": not told; `symbolic`: what the device calls itself."""

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
    """The logins of every table that has any, one a port and WWPN. Raises CollectorError when the agent is silent."""
    found: dict[tuple[str, str], Login] = {}
    by_wwn = {own: port.local_id for port in ports.values() for own in port.wwpns}
    for profile in profiles:
        for table in profile.logins:
            rows = await read_if_allowed(snmp, _columns(table))
            for login in _of_table(profile, table, rows, by_wwn, interfaces):
                known = found.get((login.port, login.wwpn))
                found[login.port, login.wwpn] = login if known is None else _together(known, login)
    return list(found.values())


def _columns(table: LoginTable) -> list[str]:
    places = (table.port.column if table.port else None, table.fc_id.column if table.fc_id else None)
    single = (table.wwpn, table.fabric_port, table.node_wwn, table.fc4_types, table.features, *places)
    return [oid for oid in (*single, *table.symbolic) if oid is not None]


def _of_table(
    profile: Profile, table: LoginTable, rows: Cells, by_wwn: Mapping[str, str], interfaces: Mapping[str, object]
) -> Iterator[Login]:
    for row, cells in rows.items():
        wwpn = _wwn(cells, table.wwpn)
        if table.port is not None:
            port = named_by(table.port, profile.index, row, cells, interfaces)
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


def _fc_id(where: FcId | None, row: str, cells: Mapping[str, Cell]) -> str:
    if where is None:
        return ""
    if where.column is not None:
        return octets(cells[where.column].value)[-3:].hex() if where.column in cells else ""
    first = where.sub_identifier or 0
    parts = sub_identifiers(row)[first : first + 3]
    return bytes(parts).hex() if len(parts) == 3 and max(parts) < 256 else ""


def _together(known: Login, other: Login) -> Login:
    return replace(
        known,
        fc_id=known.fc_id or other.fc_id,
        node_wwn=known.node_wwn or other.node_wwn,
        features=known.features or other.features,
        symbolic=known.symbolic or other.symbolic,
    )


def role(login: Login, devices: Devices) -> Role | None:
    """Initiator or target, as the device has told the name server. None: it is both, or has told nothing."""
    bits = 0
    for octet in devices.features.octets:
        bits |= login.features[octet] & 0x0F if octet < len(login.features) else 0
    match bits & (devices.features.initiator | devices.features.target):
        case devices.features.initiator:
            return "initiator"
        case devices.features.target:
            return "target"
        case 0:
            return _by_name(login.symbolic, devices)
    return None


def _by_name(names: Iterable[str], devices: Devices) -> Role | None:
    for name in names:
        if any(pattern.search(name) for pattern in devices.initiator):
            return "initiator"
        if any(pattern.search(name) for pattern in devices.target):
            return "target"
    return None


def things(
    found: Iterable[Login], ports: Mapping[str, Port], devices: Devices
) -> Iterator[SourceEntity | SourceLink]:
    """A link for every login; and the device, where it has told what it is: its WWPN is the only name it has here."""
    for login in found:
        if (what := role(login, devices)) is not None:
            yield _device(_KINDS[what], login)
        address = f", address {login.fc_id}" if login.fc_id else ""
        named = f', "{login.symbolic[0]}"' if login.symbolic else ""
        evidence = f"{login.evidence}{address}{named}"
        if login.port in ports:
            yield SourceLink("logged_in", ("wwpn", login.wwpn), ("switch_port", login.port), evidence)


def _device(kind: str, login: Login) -> SourceEntity:
    said = {
        "symbolic_name": login.symbolic[0][: _INQUIRY_CHARACTERS * 4] if login.symbolic else None,
        "node_wwn": login.node_wwn,
    }
    attributes = {name: value for name, value in said.items() if value is not None}
    return SourceEntity(kind, login.wwpn, login.wwpn, {"wwpn": (login.wwpn,)}, attributes)


def written_by_hand(ports: Mapping[str, Port]) -> Iterator[SourceLink]:
    """Logins that people have written into the descriptions of ports."""
    for port in ports.values():
        alias = str(port.attributes.get("alias") or "")
        for wwpn in wwpns_in(alias):
            yield SourceLink(
                "logged_in", ("wwpn", wwpn), ("switch_port", port.local_id), f'port description "{alias}"'
            )

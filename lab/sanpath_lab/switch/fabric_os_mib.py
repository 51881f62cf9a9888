"""Fibre Channel objects of a Brocade switch with Fabric OS 7 over SNMP: SW-MIB and FCMGMT-MIB (FA-MIB)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pysnmp.proto.rfc1902 import Integer32, OctetString

from sanpath_lab.scenario import Switch
from sanpath_lab.switch.if_mib import NO_ERRORS, Objects, Row, constant, counter32, integer, interface, octets, table
from sanpath_lab.switch.object_tree import Getter, Oid
from sanpath_lab.switch.switch_ports import Login, SwitchPort, wwn

SW: Oid = (1, 3, 6, 1, 4, 1, 1588, 2, 1, 1, 1)
FIRMWARE_VERSION: Oid = (*SW, 1, 6, 0)
DOMAIN_ID: Oid = (*SW, 2, 1, 0)
VIRTUAL_FABRIC_ID: Oid = (*SW, 2, 15, 0)
NEIGHBOUR_TABLE: Oid = (*SW, 2, 9, 1)
PORT_TABLE: Oid = (*SW, 6, 2, 1)
NAME_SERVER_ROWS: Oid = (*SW, 7, 1, 0)
NAME_SERVER_TABLE: Oid = (*SW, 7, 2, 1)
PORT_EXTENSION_TABLE: Oid = (*SW, 27, 1)
CAPABLE_SPEEDS: Oid = (*SW, 28, 4, 1)
FA_MIB: Oid = (1, 3, 6, 1, 3, 94)
UNIT_TABLE: Oid = (*FA_MIB, 1, 6, 1)
UNIT_PORT_TABLE: Oid = (*FA_MIB, 1, 10, 1)
LINK_TABLE: Oid = (*FA_MIB, 1, 12, 1)
PORT_STATISTICS: Oid = (*FA_MIB, 4, 5, 1)
UNIT_NAME_SERVER: Oid = (*FA_MIB, 5, 2, 1, 1)
ENT_PHYSICAL_DESCRIPTION: Oid = (1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 2, 1)

FIRMWARE = "v7.4.2d"
FIRST_IF_INDEX = 1073741824
"""ifIndex of port 0."""
ONLINE, OFFLINE = 1, 2
IN_SYNC, NO_TRANSCEIVER = 6, 2
F_PORT, E_PORT, G_PORT = 4, 5, 6
"""swFCPortBrcdType."""
UNIT_ONLINE, UNIT_OFFLINE = 2, 3
UNIT_F_PORT, UNIT_E_PORT, UNIT_G_PORT = 8, 9, 10
"""connUnitPortType."""
SPEED = {1: 1, 2: 2, 4: 4, 8: 5, 16: 8}
"""swFCPortSpeed, which has no value above 16GFC: 7 stands for it."""
BAUD_RATE = {1: 16, 2: 32, 4: 64, 8: 128, 16: 512}
"""swNbBaudRate, likewise: 1 is "other"."""
KILOBYTES_PER_SECOND = 125_000
"""connUnitPortSpeed of a nominal gigabit."""
LINK_ACTIVE, LINK_COST = 5, 500
UNIT_SWITCH, UNIT_OTHER = 4, 2
NX_PORT = 1
UNSUPPORTED = constant(OctetString(bytes((0x80, 0, 0, 0, 0, 0, 0, 0))))
UNSUPPORTED_COLUMNS = (*range(14, 20), *range(21, 26), 27, 31, 32, 35, 38)
STATISTICS_COLUMNS = range(3, 51)


def octets64(read: Callable[[], int]) -> Getter:
    """Eight octets, of which the highest bit is never part of the number."""
    return lambda: OctetString((read() & 0x7FFFFFFFFFFFFFFF).to_bytes(8, "big"))


NONE = constant(OctetString(bytes(8)))


def interfaces(ports: Sequence[SwitchPort]) -> Objects:
    """IF-MIB as Fabric OS 7 fills it: no aliases, no times of discontinuity, and addresses in decimal text."""
    objects: Objects = {}
    for port in ports:
        address = str(int.from_bytes(port.login.fc_id, "big")) if port.login else "0"
        index = FIRST_IF_INDEX + port.number - 1
        objects |= interface(port, index, f"FC port {port.name}", address.encode())
    return objects


def fibre_channel(switch: Switch, ports: Sequence[SwitchPort]) -> Objects:
    """The vendor's tables: ports by their number counted from 1, those of FA-MIB behind the octets of the unit."""
    unit = wwn(switch.wwn) + bytes(8)
    by_number = [((port.number,), port) for port in ports]
    by_unit = [((*unit, port.number), port) for port in ports]
    logins = [(port, login) for port in ports for login in port.logins]
    links = list(enumerate((port for port in ports if port.peer), start=1))
    return {
        FIRMWARE_VERSION: octets(FIRMWARE),
        DOMAIN_ID: integer(switch.domain_id),
        VIRTUAL_FABRIC_ID: integer(128),
        NAME_SERVER_ROWS: integer(len(logins)),
        ENT_PHYSICAL_DESCRIPTION: octets(switch.description),
        **table(PORT_TABLE, ((index, _port(port)) for index, port in by_number)),
        **table(NEIGHBOUR_TABLE, (((number,), _neighbour(number, port)) for number, port in links)),
        **table(
            NAME_SERVER_TABLE,
            (((number,), _name(number, port, login)) for number, (port, login) in enumerate(logins, start=1)),
        ),
        **table(UNIT_TABLE, [((*unit,), _unit(switch, unit))]),
        **table(UNIT_PORT_TABLE, ((index, _unit_port(unit, port)) for index, port in by_unit)),
        **table(PORT_STATISTICS, ((index, _statistics(unit, port)) for index, port in by_unit)),
        **table(PORT_EXTENSION_TABLE, ((index, dict.fromkeys(range(23, 29), NONE)) for index, _ in by_unit)),
        **table(CAPABLE_SPEEDS, ((index, {1: octets(_capable(switch))}) for index, _ in by_unit)),
        **table(LINK_TABLE, (((*unit, number), _link(unit, number, port)) for number, port in links)),
        **table(LINK_TABLE, (_login_link(unit, port, login) for port, login in logins)),
        **table(
            UNIT_NAME_SERVER,
            (((*unit, port.number, *login.fc_id), _unit_name(unit, port, login)) for port, login in logins),
        ),
    }


def _port(port: SwitchPort) -> Row:
    up = port.cable is not None
    return {
        1: integer(port.number),
        3: integer(IN_SYNC if up else NO_TRANSCEIVER),
        4: integer(ONLINE if up else OFFLINE),
        5: integer(ONLINE if up else OFFLINE),
        6: integer(1 if up else 2),
        11: counter32(lambda: port.octets[1] // 4),
        12: counter32(lambda: port.octets[0] // 4),
        13: counter32(lambda: port.frames[1]),
        14: counter32(lambda: port.frames[0]),
        16: counter32(lambda: port.frames[0]),
        20: counter32(lambda: port.stall_ticks),
        **dict.fromkeys((15, 17, 18, 19, *range(21, 33)), NO_ERRORS),
        34: octets(port.wwn),
        35: integer(SPEED.get(port.gigabit, 7)),
        36: octets(port.alias),
        37: octets(str(port.number - 1)),
        39: integer(G_PORT if not up else E_PORT if port.peer else F_PORT),
    }


def _neighbour(number: int, port: SwitchPort) -> Row:
    if port.peer is None:
        return {}
    return {
        1: integer(number),
        2: integer(port.number),
        3: integer(port.peer.domain_id),
        4: integer(port.peer.port_number),
        5: integer(BAUD_RATE.get(port.gigabit, 1)),
        6: integer(LINK_ACTIVE),
        7: integer(LINK_COST),
        8: octets(port.peer.port_wwn),
    }


def _name(number: int, port: SwitchPort, login: Login) -> Row:
    fcp = bytes((0, 0, 1)) + bytes(13)
    return {
        1: integer(number),
        2: octets(bytes(1) + login.fc_id),
        3: integer(NX_PORT),
        4: octets(login.wwpn),
        5: octets(""),
        6: octets(login.node_wwn),
        7: octets(login.symbolic_name),
        11: octets(fcp),
        13: octets(port.wwn),
    }


def _unit(switch: Switch, unit: bytes) -> Row:
    return {
        1: octets(unit),
        2: octets(unit),
        3: integer(UNIT_SWITCH),
        4: integer(switch.port_count),
        5: integer(UNIT_ONLINE),
        7: octets(switch.description),
        11: octets(bytes((0, 0, switch.domain_id))),
        20: octets(switch.name),
    }


def _unit_port(unit: bytes, port: SwitchPort) -> Row:
    up = port.cable is not None
    return {
        1: octets(unit),
        2: integer(port.number),
        3: integer(UNIT_G_PORT if not up else UNIT_E_PORT if port.peer else UNIT_F_PORT),
        6: integer(UNIT_ONLINE if up else UNIT_OFFLINE),
        7: integer(3 if up else 2),
        10: octets(port.wwn),
        11: octets(port.login.fc_id if port.login else bytes(3)),
        15: integer(port.gigabit * KILOBYTES_PER_SECOND),
        17: octets(port.alias),
        18: integer(port.number - 1),
        23: integer(4 if up else 2),
    }


def _statistics(unit: bytes, port: SwitchPort) -> Row:
    return {
        1: octets(unit),
        2: integer(port.number),
        **dict.fromkeys(STATISTICS_COLUMNS, NONE),
        **dict.fromkeys(UNSUPPORTED_COLUMNS, UNSUPPORTED),
        4: octets64(lambda: port.frames[1]),
        5: octets64(lambda: port.frames[0]),
        6: octets64(lambda: port.octets[1]),
        7: octets64(lambda: port.octets[0]),
        8: octets64(lambda: port.stall_ticks),
        26: octets64(lambda: port.frames[0]),
        40: octets64(lambda: port.damaged_frames),
    }


def _link(unit: bytes, number: int, port: SwitchPort) -> Row:
    if port.peer is None:
        return {}
    return {
        1: octets(unit),
        2: integer(number),
        3: octets(unit),
        4: integer(port.number - 1),
        5: octets(port.wwn),
        6: octets(port.peer.switch_wwn + bytes(8)),
        7: integer(port.peer.port_number - 1),
        8: octets(port.peer.port_wwn),
        9: octets("127.0.0.1"),
        12: integer(UNIT_SWITCH),
        13: octets(bytes((port.peer.domain_id, 0, 0))),
    }


def _login_link(unit: bytes, port: SwitchPort, login: Login) -> tuple[Oid, Row]:
    number = int.from_bytes(login.fc_id, "big")
    return (*unit, number), {
        1: octets(unit),
        2: integer(number),
        3: octets(unit),
        4: integer(port.number - 1),
        5: octets(port.wwn),
        6: octets(login.node_wwn + bytes(8)),
        7: constant(Integer32(-1)),
        8: octets(login.wwpn),
        9: octets("0000000000000000"),
        12: integer(UNIT_OTHER),
        13: octets(login.fc_id),
    }


def _unit_name(unit: bytes, port: SwitchPort, login: Login) -> Row:
    return {
        1: octets(unit),
        2: integer(port.number),
        3: octets(login.fc_id),
        4: octets(login.wwpn),
        5: octets(login.node_wwn),
        9: octets(b"\x08"),
        12: octets(port.wwn),
        14: octets(""),
        15: octets(login.symbolic_name),
    }


def _capable(switch: Switch) -> str:
    speeds = [speed for speed in (4, 8, 16, 32) if speed <= switch.gigabit][-3:]
    return ",".join(map(str, speeds)) + "_Gbps"

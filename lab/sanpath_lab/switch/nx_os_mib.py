"""Fibre Channel objects of a Cisco MDS over SNMP: CISCO-FC-FE-MIB, -NS-MIB, -VSAN-MIB and -FSPF-MIB."""

from __future__ import annotations

from collections.abc import Sequence

from pysnmp.proto.rfc1902 import Gauge32, TimeTicks

from sanpath_lab.scenario import Switch
from sanpath_lab.switch.if_mib import (
    IF_ALIAS,
    IF_COUNTER_DISCONTINUITY_TIME,
    IF_X_ENTRY,
    NO_ERRORS,
    NO_ERRORS_64,
    Objects,
    Row,
    constant,
    counter32,
    counter64,
    integer,
    interface,
    octets,
    table,
)
from sanpath_lab.switch.object_tree import Oid
from sanpath_lab.switch.switch_ports import Login, SwitchPort, wwn

CISCO_MGMT: Oid = (1, 3, 6, 1, 4, 1, 9, 9)
FC_FE: Oid = (*CISCO_MGMT, 289, 1)
SWITCH_WWN: Oid = (*FC_FE, 1, 1, 0)
IF_TABLE: Oid = (*FC_FE, 1, 2, 1)
LOGIN_COUNT: Oid = (*FC_FE, 1, 4, 0)
FLOGI_TABLE: Oid = (*FC_FE, 1, 5, 1)
ELP_TABLE: Oid = (*FC_FE, 1, 6, 1)
ERROR_TABLE: Oid = (*FC_FE, 2, 1, 1)
CLASS_3_TABLE: Oid = (*FC_FE, 2, 3, 1)
VSAN_TABLE: Oid = (*CISCO_MGMT, 282, 1, 1, 3, 1)
VSAN_OF_PORT: Oid = (*CISCO_MGMT, 282, 1, 2, 5, 1)
FSPF_TABLE: Oid = (*CISCO_MGMT, 287, 1, 2, 1)
NAME_SERVER_ROWS: Oid = (*CISCO_MGMT, 293, 1, 1, 3, 0)
NAME_SERVER_TABLE: Oid = (*CISCO_MGMT, 293, 1, 1, 4, 1)
ENT_PHYSICAL_MODEL: Oid = (1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 13, 149)
"""NX-OS numbers the chassis 149."""

FIRST_IF_INDEX, IF_INDEX_STEP = 0x01000000, 0x1000
"""fc1/1 and the distance to the next port, as NX-OS numbers them."""
AUTO, F_PORT, E_PORT, DOWN = 1, 2, 4, 14
"""fcIfOperMode."""
NO_CAUSE, DEDICATED, NON_TRUNK = 2, 1, 1
VSAN = 1
FSPF_FULL = 10
TARGET, INITIATOR = 1, 2
"""FC-4 features of FCP (FC-GS-7)."""
ERRORS_32 = (*range(1, 15), *range(16, 27))
ERRORS_64 = (35, 36, 37, 42, 43)


def if_index(number: int) -> int:
    """ifIndex of a port by its number, counted from 1."""
    return FIRST_IF_INDEX + (number - 1) * IF_INDEX_STEP


def interfaces(ports: Sequence[SwitchPort]) -> Objects:
    """Return the IF-MIB of NX-OS: the address of a port is its WWN, its alias is set by the administrator."""
    objects: Objects = {}
    for port in ports:
        index = if_index(port.number)
        objects |= interface(port, index, port.name, port.wwn)
        row: Row = {IF_ALIAS: octets(port.alias), IF_COUNTER_DISCONTINUITY_TIME: constant(TimeTicks(0))}
        objects |= table(IF_X_ENTRY, [((index,), row)])
    return objects


def fibre_channel(switch: Switch, ports: Sequence[SwitchPort], fabric: Sequence[SwitchPort]) -> Objects:
    """Return the vendor's tables. `fabric`: ports of all switches, whose logins are in the name server."""
    indexed_ports = [((if_index(port.number),), port) for port in ports]
    logins = [(port, login) for port in ports for login in port.logins]
    everywhere = [(port, login) for port in fabric for login in port.logins]
    peers = [(index, port) for index, port in indexed_ports if port.peer]
    return {
        SWITCH_WWN: octets(wwn(switch.wwn)),
        LOGIN_COUNT: constant(Gauge32(len(logins))),
        NAME_SERVER_ROWS: constant(Gauge32(len(everywhere))),
        ENT_PHYSICAL_MODEL: octets("DS-C9148S-K9"),
        **table(IF_TABLE, ((index, _port(port)) for index, port in indexed_ports)),
        **table(ERROR_TABLE, ((index, _errors(port)) for index, port in indexed_ports)),
        **table(CLASS_3_TABLE, ((index, _class_3(port)) for index, port in indexed_ports)),
        **table(FLOGI_TABLE, ((_login_index(port, login), _flogi(login)) for port, login in logins)),
        **table(ELP_TABLE, ((index, _elp(port)) for index, port in peers)),
        **table(FSPF_TABLE, (((VSAN, *index), _fspf(port)) for index, port in peers)),
        **table(VSAN_TABLE, [((VSAN,), {2: octets("VSAN0001"), 4: integer(1), 8: integer(1)})]),
        **table(VSAN_OF_PORT, ((index, {1: integer(VSAN)}) for index, _ in indexed_ports)),
        **table(NAME_SERVER_TABLE, (((VSAN, *login.fc_id), _name(port, login)) for port, login in everywhere)),
    }


def _port(port: SwitchPort) -> Row:
    credits_lent = port.cable.towards_switch.lent if port.cable else 0
    return {
        1: octets(port.wwn),
        2: integer(AUTO),
        3: integer(DOWN if not port.cable else E_PORT if port.peer else F_PORT),
        4: integer(AUTO),
        6: integer(0),
        7: integer(NO_CAUSE),
        8: octets("None"),
        10: integer(NON_TRUNK),
        27: integer(credits_lent),
        28: integer(2112),
        31: integer(DEDICATED),
    }


def _errors(port: SwitchPort) -> Row:
    return {
        **dict.fromkeys(ERRORS_32, NO_ERRORS),
        **dict.fromkeys(ERRORS_64, NO_ERRORS_64),
        6: counter32(lambda: port.damaged_frames),
        15: counter32(lambda: port.stall_ticks),
        28: counter32(lambda: port.stalls[1]),
        39: counter32(lambda: port.stalls[0]),
        40: counter64(lambda: port.stalls[1]),
        41: counter64(lambda: port.stalls[0]),
        46: NO_ERRORS_64,
        47: counter64(lambda: port.stall_ticks),
    }


def _class_3(port: SwitchPort) -> Row:
    return {
        1: counter64(lambda: port.frames[0]),
        2: counter64(lambda: port.frames[1]),
        3: counter64(lambda: port.octets[0]),
        4: counter64(lambda: port.octets[1]),
        5: NO_ERRORS,
    }


def _login_index(port: SwitchPort, login: Login) -> Oid:
    return (if_index(port.number), VSAN, int.from_bytes(login.fc_id, "big"))


def _flogi(login: Login) -> Row:
    return {2: octets(login.node_wwn), 3: octets(login.wwpn), 4: octets(login.fc_id)}


def _elp(port: SwitchPort) -> Row:
    if port.peer is None or port.cable is None:
        return {}
    return {
        1: octets(port.peer.switch_wwn),
        2: octets(port.peer.port_wwn),
        3: integer(port.cable.towards_switch.lent),
        4: integer(port.cable.from_switch.lent),
    }


def _fspf(port: SwitchPort) -> Row:
    if port.peer is None:
        return {}
    domain = constant(Gauge32(port.peer.domain_id))
    return {14: integer(FSPF_FULL), 15: domain, 16: constant(Gauge32(if_index(port.peer.port_number)))}


def _name(port: SwitchPort, login: Login) -> Row:
    features = bytearray(128)
    features[7] = INITIATOR if login.role == "initiator" else TARGET
    types = bytearray(32)
    types[2] = 1
    return {
        2: octets(login.wwpn),
        3: octets(login.node_wwn),
        7: octets(bytes(types)),
        10: octets(port.wwn),
        12: octets(""),
        13: octets(login.symbolic_name),
        14: octets(bytes(features)),
    }

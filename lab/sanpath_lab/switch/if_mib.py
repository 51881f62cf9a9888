"""SNMP objects of every simulated switch: the system group (RFC 3418) and IF-MIB (RFC 2863)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pysnmp.proto.rfc1902 import (
    Counter32,
    Counter64,
    Gauge32,
    Integer32,
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)

from sanpath_lab.scenario import Switch
from sanpath_lab.switch.object_tree import Getter, Oid
from sanpath_lab.switch.switch_ports import SwitchPort

SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
IF_NUMBER: Oid = (1, 3, 6, 1, 2, 1, 2, 1, 0)
IF_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 2, 2, 1)
IF_X_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 1, 1)
IF_TABLE_LAST_CHANGE: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 5, 0)
IF_ALIAS, IF_COUNTER_DISCONTINUITY_TIME = 18, 19

FIBRE_CHANNEL = 56
"""IANAifType."""
UP, DOWN = 1, 2
TRUE = 1
MTU_BYTES = 2112
"""Largest payload of a frame (FC-FS-3)."""

Row = dict[int, Getter]
"""Getters by column."""
Objects = dict[Oid, Getter]


def constant(value: object) -> Getter:
    """Always this value."""
    return lambda: value


def integer(value: int) -> Getter:
    """Always this INTEGER."""
    return constant(Integer32(value))


def octets(value: bytes | str) -> Getter:
    """Always this OCTET STRING."""
    return constant(OctetString(value))


def counter32(read: Callable[[], int]) -> Getter:
    """What is read, modulo 2^32."""
    return lambda: Counter32(read() & 0xFFFFFFFF)


def counter64(read: Callable[[], int]) -> Getter:
    """What is read."""
    return lambda: Counter64(read())


NO_ERRORS = constant(Counter32(0))
NO_ERRORS_64 = constant(Counter64(0))


def table(entry: Oid, rows: Iterable[tuple[Oid, Row]]) -> Objects:
    """The instances of a table from (index, row)."""
    return {(*entry, column, *index): getter for index, row in rows for column, getter in row.items()}


def system_group(switch: Switch, uptime_hundredths: Callable[[], int]) -> Objects:
    """Return the system group of a switch."""
    return {
        (*SYSTEM, 1, 0): octets(switch.description),
        (*SYSTEM, 2, 0): constant(ObjectIdentifier(switch.object_id)),
        (*SYSTEM, 3, 0): lambda: TimeTicks(uptime_hundredths() & 0xFFFFFFFF),
        (*SYSTEM, 4, 0): octets("storage team"),
        (*SYSTEM, 5, 0): octets(switch.name),
        (*SYSTEM, 6, 0): octets("lab"),
        IF_NUMBER: integer(switch.port_count),
        IF_TABLE_LAST_CHANGE: constant(TimeTicks(0)),
    }


def interface(port: SwitchPort, index: int, description: str, address: bytes) -> Objects:
    """A port in ifTable and ifXTable. `address`: what the vendor puts in ifPhysAddress."""
    if_entry: Row = {
        1: integer(index),
        2: octets(description),
        3: integer(FIBRE_CHANNEL),
        4: integer(MTU_BYTES),
        5: constant(Gauge32(min(port.gigabit * 10**9, 2**32 - 1))),
        6: octets(address),
        7: integer(UP),
        8: integer(UP if port.cable else DOWN),
        9: constant(TimeTicks(0)),
        10: counter32(lambda: port.octets[0]),
        11: counter32(lambda: port.frames[0]),
        13: NO_ERRORS,
        14: NO_ERRORS,
        16: counter32(lambda: port.octets[1]),
        17: counter32(lambda: port.frames[1]),
        19: NO_ERRORS,
        20: NO_ERRORS,
    }
    if_x_entry: Row = {
        1: octets(port.name),
        6: counter64(lambda: port.octets[0]),
        7: counter64(lambda: port.frames[0]),
        10: counter64(lambda: port.octets[1]),
        11: counter64(lambda: port.frames[1]),
        15: constant(Gauge32(port.gigabit * 1000)),
        17: integer(TRUE),
    }
    return table(IF_ENTRY, [((index,), if_entry)]) | table(IF_X_ENTRY, [((index,), if_x_entry)])

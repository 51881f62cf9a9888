"""What the simulated switch shows through SNMP: system group (RFC 3418) and IF-MIB (RFC 2863), as an MDS does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from pysnmp.proto.rfc1902 import (
    Counter32,
    Counter64,
    Gauge32,
    Integer32,
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)

from sanpath_lab.fibre_channel import Cable
from sanpath_lab.object_tree import Getter, ObjectTree, Oid
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation

SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
IF_NUMBER: Oid = (1, 3, 6, 1, 2, 1, 2, 1, 0)
IF_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 2, 2, 1)
IF_X_ENTRY: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 1, 1)
IF_TABLE_LAST_CHANGE: Oid = (1, 3, 6, 1, 2, 1, 31, 1, 5, 0)

FIBRE_CHANNEL = 56
"""IANAifType."""
UP, DOWN = 1, 2
TRUE = 1
MTU_BYTES = 2112
"""Largest payload of a frame (FC-FS-3)."""
BOOTED_SECONDS_BEFORE = 86_400 * 17
"""The switch has been up for a while when the lab starts."""
FIRST_IF_INDEX, IF_INDEX_STEP = 0x01000000, 0x1000
"""fc1/1 and the distance to the next port, as NX-OS numbers them."""
FABRIC_PORT_WWN = "20:{port:02x}:00:0d:ec:00:00:01"

_NO_CABLE = Cable.of_speed(1)
"""Its counters stay at zero."""


def _constant(value: object) -> Getter:
    return lambda: value


def _aliases(scenario: Scenario) -> dict[str, str]:
    """What the administrator has written on each port: who is at the other end, and its WWPN."""
    hbas = {h.switch_port: f"{scenario.host.name} {h.name} {h.wwpn}" for h in scenario.host.hbas}
    targets = {p.switch_port: f"{scenario.array.name} {p.name} {p.wwpn}" for p in scenario.array.ports}
    return hbas | targets


def _system(scenario: Scenario, uptime: Getter) -> dict[Oid, Getter]:
    switch = scenario.switch
    return {
        (*SYSTEM, 1, 0): _constant(OctetString(switch.description)),
        (*SYSTEM, 2, 0): _constant(ObjectIdentifier(switch.object_id)),
        (*SYSTEM, 3, 0): uptime,
        (*SYSTEM, 4, 0): _constant(OctetString("storage team")),
        (*SYSTEM, 5, 0): _constant(OctetString(switch.name)),
        (*SYSTEM, 6, 0): _constant(OctetString("lab")),
        IF_NUMBER: _constant(Integer32(switch.port_count)),
        IF_TABLE_LAST_CHANGE: _constant(TimeTicks(0)),
    }


def _port(number: int, cable: Cable | None, alias: str, gigabit: int) -> dict[Oid, Getter]:
    index = FIRST_IF_INDEX + (number - 1) * IF_INDEX_STEP
    name = OctetString(f"fc1/{number}")
    inward, outward = (cable or _NO_CABLE).towards_switch, (cable or _NO_CABLE).from_switch

    def counter32(read: Callable[[], int]) -> Getter:
        return lambda: Counter32(read() & 0xFFFFFFFF)

    none = _constant(Counter32(0))
    wwn = bytes.fromhex(FABRIC_PORT_WWN.format(port=number).replace(":", ""))
    if_entry: dict[int, Getter] = {
        1: _constant(Integer32(index)),
        2: _constant(name),
        3: _constant(Integer32(FIBRE_CHANNEL)),
        4: _constant(Integer32(MTU_BYTES)),
        5: _constant(Gauge32(min(gigabit * 10**9, 2**32 - 1))),
        6: _constant(OctetString(wwn)),
        7: _constant(Integer32(UP)),
        8: _constant(Integer32(UP if cable else DOWN)),
        9: _constant(TimeTicks(0)),
        10: counter32(lambda: inward.octets),
        11: counter32(lambda: inward.frames),
        13: none,
        14: none,
        16: counter32(lambda: outward.octets),
        17: counter32(lambda: outward.frames),
        19: none,
        20: none,
    }
    if_x_entry: dict[int, Getter] = {
        1: _constant(name),
        6: lambda: Counter64(inward.octets),
        7: lambda: Counter64(inward.frames),
        10: lambda: Counter64(outward.octets),
        11: lambda: Counter64(outward.frames),
        15: _constant(Gauge32(gigabit * 1000)),
        17: _constant(Integer32(TRUE)),
        18: _constant(OctetString(alias)),
        19: _constant(TimeTicks(0)),
    }
    return {(*IF_ENTRY, column, index): getter for column, getter in if_entry.items()} | {
        (*IF_X_ENTRY, column, index): getter for column, getter in if_x_entry.items()
    }


def switch_objects(simulation: Simulation) -> ObjectTree:
    """Everything the switch's agent answers; counters are read when asked for."""
    scenario, cables = simulation.scenario, simulation.fabric.cables
    aliases = _aliases(scenario)

    def uptime() -> TimeTicks:
        return TimeTicks(int((simulation.now + BOOTED_SECONDS_BEFORE) * 100))

    ports = (
        _port(number, cables.get(f"fc1/{number}"), aliases.get(f"fc1/{number}", ""), scenario.switch.gigabit)
        for number in range(1, scenario.switch.port_count + 1)
    )
    return ObjectTree(dict(chain.from_iterable(objects.items() for objects in (_system(scenario, uptime), *ports))))

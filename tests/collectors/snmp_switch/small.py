"""Small switches of a few ports, written down column by column, and what the collector makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from sanpath.plugin import Check, Cost, Rows, SnmpValue, SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.transport.snmp.walk import VarBind
from sanpath_collectors.snmp_switch.collector import SnmpSwitch
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig
from tests.support.replay import ReplaySnmp

IF, IFX = "1.3.6.1.2.1.2.2.1.", "1.3.6.1.2.1.31.1.1.1."
LLDP_CHASSIS, LLDP_LOCAL, LLDP_REMOTE = "1.0.8802.1.1.2.1.3.2.0", "1.0.8802.1.1.2.1.3.7.1.", "1.0.8802.1.1.2.1.4.1.1."
IF_STACK = "1.3.6.1.2.1.31.1.2.1.3."
NX_OS = "1.3.6.1.4.1.9.12.3.1.3.1084"
ETHERNET, PROP_VIRTUAL, MULTIPLEXOR, GIGABIT, AGGREGATE = 6, 53, 54, 117, 161

Objects = dict[str, SnmpValue]
"""OID → value."""


def mac(last: int) -> bytes:
    """An address of the made-up switches."""
    return bytes((2, 0, 10, 0, last >> 8, last & 255))


def port(
    if_index: int, label: str, address: bytes = b"", if_type: int = ETHERNET, /, **columns: SnmpValue
) -> Objects:
    """A row of ifTable and ifXTable. `columns`: those of `_COLUMNS` with another value, None: not answered."""
    row: dict[str, SnmpValue] = {
        "descr": label.encode(),
        "type": if_type,
        "speed": 2**32 - 1,
        "address": address,
        "up": 1,
        "in_32": 1_000,
        "out_32": 2_000,
        "name": label.encode(),
        "in_64": 5_000_001_000,
        "out_64": 6_000_002_000,
        "high_speed": 10_000,
        "connector": 1,
    }
    row |= columns
    return {f"{_COLUMNS[column]}.{if_index}": value for column, value in row.items() if value is not None}


_COLUMNS = {
    "descr": f"{IF}2",
    "type": f"{IF}3",
    "speed": f"{IF}5",
    "address": f"{IF}6",
    "up": f"{IF}8",
    "in_32": f"{IF}10",
    "out_32": f"{IF}16",
    "name": f"{IFX}1",
    "in_64": f"{IFX}6",
    "out_64": f"{IFX}10",
    "high_speed": f"{IFX}15",
    "connector": f"{IFX}17",
    "alias": f"{IFX}18",
}


def announced(number: int, port_id: bytes, subtype: int, description: bytes = b"") -> Objects:
    """What a port announces by LLDP, in the switch's own table."""
    return {
        f"{LLDP_LOCAL}2.{number}": subtype,
        f"{LLDP_LOCAL}3.{number}": port_id,
        f"{LLDP_LOCAL}4.{number}": description,
    }


def heard(number: int, chassis: bytes, port_id: bytes, subtype: int, description: bytes = b"") -> Objects:
    """What a port has heard of its neighbour by LLDP."""
    return {
        f"{LLDP_REMOTE}5.0.{number}.1": chassis,
        f"{LLDP_REMOTE}6.0.{number}.1": subtype,
        f"{LLDP_REMOTE}7.0.{number}.1": port_id,
        f"{LLDP_REMOTE}8.0.{number}.1": description,
        f"{LLDP_REMOTE}9.0.{number}.1": b"neighbour",
    }


class _Clock:
    def now_us(self) -> int:
        return 1_700_000_000_000_000


class _Agent:
    """A context with one switch, in one state after the other."""

    def __init__(self, states: Sequence[Sequence[VarBind]]) -> None:
        self.clock, self.cost = _Clock(), Cost()
        self.agent = ReplaySnmp(states, self.clock, self.cost)

    def snmp(self, credentials: object) -> ReplaySnmp:  # noqa: ARG002
        return self.agent


@dataclass(frozen=True)
class Result:
    """What the collector made of a switch."""

    name: str
    check: Check
    inventory: list[SourceEntity | SourceLink]
    polls: list[list[Rows]]

    @property
    def ports(self) -> dict[str, SourceEntity]:
        """Label → port."""
        return {e.label or "": e for e in self.inventory if isinstance(e, SourceEntity) and e.kind == "switch_port"}

    @property
    def cables(self) -> list[tuple[str, tuple[str, str]]]:
        """The port's label and the key at the other end."""
        labels = {entity.local_id: label for label, entity in self.ports.items()}
        links = (link for link in self.inventory if isinstance(link, SourceLink) and link.relation == "cabled_to")
        return [(labels[link.from_end[1]], link.to_end) for link in links]

    @property
    def members(self) -> set[tuple[str, str]]:
        """Port and port-channel, by label."""
        labels = {entity.local_id: label for label, entity in self.ports.items()}
        ends = (
            (link.from_end[1], link.to_end)
            for link in self.inventory
            if isinstance(link, SourceLink) and link.relation == "member_of" and link.to_end[0] == "switch_port"
        )
        return {(labels[near], labels[far[1]]) for near, far in ends}

    def row(self, label: str, poll: int = 0) -> dict[str, int | float | None]:
        """The values of a port in a poll; empty: it was not polled."""
        local_id = self.ports[label].local_id
        for rows in self.polls[poll]:
            if local_id in rows.entity:
                return {metric: values[rows.entity.index(local_id)] for metric, values in rows.values.items()}
        return {}

    def bits(self, label: str) -> dict[str, int]:
        """The widths of a port's counters."""
        local_id = self.ports[label].local_id
        (found,) = (rows for rows in self.polls[0] if local_id in rows.entity)
        return {column.metric: column.bits for column in found.table.columns if column.bits}


def read(name: str, *states: Mapping[str, SnmpValue], object_id: str = "1.3.6.1.4.1.99999.1") -> Result:
    """Read a switch; in each state its inventory is read, then it is polled."""
    system: Objects = {
        "1.3.6.1.2.1.1.1.0": b"made-up switch",
        "1.3.6.1.2.1.1.2.0": object_id,
        "1.3.6.1.2.1.1.3.0": 100,
        "1.3.6.1.2.1.1.5.0": name.encode(),
    }
    walks = [
        sorted((tuple(int(part) for part in oid.split(".")), value) for oid, value in (system | dict(state)).items())
        for state in states
    ]
    return asyncio.run(_read(name, _Agent(walks), len(walks)))


async def _read(name: str, context: _Agent, states: int) -> Result:
    config = SnmpSwitchConfig(name=name, collector="snmp_switch", host="192.0.2.1", community=SecretStr("unused"))
    collector = SnmpSwitch(config)
    await collector.open(context)
    check = await collector.check(context)
    polls = []
    for _ in range(states):
        inventory = [item async for item in collector.inventory(context)]
        polls.append([item async for item in collector.poll(context) if isinstance(item, Rows)])
        context.agent.advance()
    return Result(name, check, inventory, polls)


def cabled(*switches: Result) -> set[frozenset[str]]:
    """The ports that are cabled to each other, when the switches are read together."""
    reports = [(switch.name, number, item) for number, switch in enumerate(switches) for item in switch.inventory]
    topology = resolve(reports)
    kinds = {"switch_port"}
    return {
        frozenset((link.from_entity, link.to_entity))
        for link in topology.links
        if link.relation == "cabled_to"
        and {topology.entities[end].kind for end in (link.from_entity, link.to_entity)} == kinds
    }

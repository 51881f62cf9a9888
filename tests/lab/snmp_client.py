"""A plain SNMP client, and an agent over a simulated switch to ask."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pysnmp.hlapi.v3arch.asyncio import (
    CommunityData,
    ContextData,
    ObjectIdentity,
    ObjectType,
    SnmpEngine,
    UdpTransportTarget,
    bulk_walk_cmd,
)

from sanpath_lab.simulation import Simulation
from sanpath_lab.switch.snmp_agent import SnmpAgent
from sanpath_lab.switch.switch_mib import switch_objects

COMMUNITY = "not-public"

_T = TypeVar("_T")


class Client:
    """A pysnmp client that knows a community."""

    def __init__(self, address: tuple[str, int], community: str = COMMUNITY, timeout: float = 5.0) -> None:
        self._address, self._community, self._timeout = address, community, timeout
        self._engine = SnmpEngine()

    async def _ask(self, command: Any, *objects: ObjectType) -> tuple[Any, Any, Any, Any]:
        target = await UdpTransportTarget.create(self._address, timeout=self._timeout, retries=0)
        reply: tuple[Any, Any, Any, Any] = await command(
            self._engine, CommunityData(self._community), target, ContextData(), *objects, lookupMib=False
        )
        return reply

    async def ask(self, command: Any, *oids: str) -> list[tuple[str, Any]]:
        failure, status, _, found = await self._ask(command, *(ObjectType(ObjectIdentity(o)) for o in oids))
        assert failure is None, failure
        assert not status, status.prettyPrint()
        return [(str(name), value) for name, value in found]

    async def failure(self, command: Any, oid: ObjectType) -> str:
        failure, status, _, _ = await self._ask(command, oid)
        return str(failure or status.prettyPrint())

    async def walk(self, oid: str) -> dict[str, Any]:
        target = await UdpTransportTarget.create(self._address, timeout=self._timeout, retries=0)
        found: dict[str, Any] = {}
        async for failure, status, _, binds in bulk_walk_cmd(
            self._engine,
            CommunityData(self._community),
            target,
            ContextData(),
            0,
            20,
            ObjectType(ObjectIdentity(oid)),
            lookupMib=False,
            lexicographicMode=False,
        ):
            assert failure is None, failure
            assert not status
            found.update((str(name), value) for name, value in binds)
        return found


def with_agent(
    simulation: Simulation, use: Callable[[tuple[str, int]], Awaitable[_T]], switch: str | None = None
) -> _T:
    """What `use` makes of the agent's address; `switch`: by name, None: the first."""
    switches = simulation.scenario.switches
    asked = next(s for s in switches if switch in (None, s.name))

    async def run() -> _T:
        agent = SnmpAgent(switch_objects(simulation, asked), COMMUNITY, catch_up=lambda: None)
        try:
            return await use(agent.address)
        finally:
            agent.close()

    return asyncio.run(run())


def walked(simulation: Simulation, switch: str, *oids: str) -> dict[str, Any]:
    """Everything below these objects."""

    async def use(address: tuple[str, int]) -> dict[str, Any]:
        client, found = Client(address), dict[str, Any]()
        for oid in oids:
            found |= await client.walk(oid)
        return found

    return with_agent(simulation, use, switch)

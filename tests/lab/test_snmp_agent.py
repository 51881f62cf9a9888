from __future__ import annotations

from typing import Any

import pytest
from pysnmp.hlapi.v3arch.asyncio import ObjectIdentity, ObjectType, get_cmd, next_cmd, set_cmd
from pysnmp.proto.rfc1902 import Counter64, OctetString

from sanpath_lab.simulation import Simulation
from tests.lab.snmp_client import Client, with_agent

SYS_UP_TIME = "1.3.6.1.2.1.1.3.0"
SYS_NAME = "1.3.6.1.2.1.1.5.0"
IF_X_ENTRY = "1.3.6.1.2.1.31.1.1.1"
IF_ENTRY = "1.3.6.1.2.1.2.2.1"
FC1_1, FC1_2, FC1_3, FC1_7 = 16777216, 16781312, 16785408, 16801792


def test_it_listens_on_loopback_only(simulation: Simulation) -> None:
    async def use(address: tuple[str, int]) -> str:
        return address[0]

    assert with_agent(simulation, use) == "127.0.0.1"


def test_get_answers_who_the_switch_is(simulation: Simulation) -> None:
    async def use(address: tuple[str, int]) -> list[tuple[str, Any]]:
        return await Client(address).ask(get_cmd, SYS_NAME, "1.3.6.1.2.1.1.2.0", "1.3.6.1.2.1.1.9.9.0")

    name, object_id, missing = (value for _, value in with_agent(simulation, use))
    assert bytes(name) == b"sw1"
    assert str(object_id).startswith("1.3.6.1.4.1.9.12.3.1.3."), "how a collector knows an MDS"
    assert type(missing).__name__ == "NoSuchInstance"


def test_getnext_goes_on_from_object_to_object(simulation: Simulation) -> None:
    async def use(address: tuple[str, int]) -> list[tuple[str, Any]]:
        return await Client(address).ask(next_cmd, f"{IF_X_ENTRY}.1", f"{IF_X_ENTRY}.1.{FC1_1}")

    (first, fc1_1), (second, fc1_2) = with_agent(simulation, use)
    assert (first, bytes(fc1_1)) == (f"{IF_X_ENTRY}.1.{FC1_1}", b"fc1/1")
    assert (second, bytes(fc1_2)) == (f"{IF_X_ENTRY}.1.{FC1_2}", b"fc1/2")


def test_a_bulk_walk_gives_every_port_as_an_administrator_sees_it(simulation: Simulation) -> None:
    async def use(address: tuple[str, int]) -> dict[str, Any]:
        client = Client(address)
        return await client.walk(IF_ENTRY) | await client.walk(IF_X_ENTRY)

    found = with_agent(simulation, use)
    names = [bytes(v) for k, v in found.items() if k.startswith(f"{IF_X_ENTRY}.1.")]
    assert names == [f"fc1/{n}".encode() for n in range(1, 9)]
    assert bytes(found[f"{IF_X_ENTRY}.18.{FC1_7}"]) == b"esx7 vmhba2 21:00:00:24:ff:00:00:02"
    assert bytes(found[f"{IF_X_ENTRY}.18.{FC1_1}"]) == b"fa1 CT0.FC0 52:4a:93:70:00:00:00:00"
    assert int(found[f"{IF_X_ENTRY}.15.{FC1_7}"]) == 4000
    assert int(found[f"{IF_ENTRY}.3.{FC1_7}"]) == 56
    assert [int(found[f"{IF_ENTRY}.8.{port}"]) for port in (FC1_1, FC1_3)] == [1, 2], "up, and down without a cable"
    assert len(bytes(found[f"{IF_ENTRY}.6.{FC1_1}"])) == 8, "the port's WWN"


def test_counters_and_uptime_advance_with_the_simulation(simulation: Simulation) -> None:
    oids = (SYS_UP_TIME, f"{IF_X_ENTRY}.10.{FC1_7}", f"{IF_X_ENTRY}.6.{FC1_1}", f"{IF_X_ENTRY}.6.{FC1_7}")

    async def use(address: tuple[str, int]) -> list[list[tuple[str, Any]]]:
        client = Client(address)
        simulation.begin_load()
        simulation.advance(0.4)
        before = await client.ask(get_cmd, *oids)
        simulation.advance(0.9)
        return [before, await client.ask(get_cmd, *oids)]

    before, after = with_agent(simulation, use)
    uptime, to_host, from_array, from_host = (int(a) - int(b) for (_, a), (_, b) in zip(after, before, strict=True))
    assert uptime == 50, "hundredths of a second"
    assert to_host / 0.5 == pytest.approx(0.985 * 425e6, rel=0.002), "a full 4GFC link"
    assert from_array == pytest.approx(to_host, rel=0.002)
    assert from_host < 0.002 * to_host, "commands only"
    assert isinstance(after[1][1], Counter64)


def test_a_wrong_community_gets_silence(simulation: Simulation) -> None:
    async def use(address: tuple[str, int]) -> str:
        client = Client(address, community="public", timeout=0.3)
        return await client.failure(get_cmd, ObjectType(ObjectIdentity(SYS_NAME)))

    assert "No SNMP response" in with_agent(simulation, use)


def test_nothing_can_be_set(simulation: Simulation) -> None:
    async def use(address: tuple[str, int]) -> str:
        new_name = ObjectType(ObjectIdentity(SYS_NAME), OctetString("mine"))
        return await Client(address).failure(set_cmd, new_name)

    assert with_agent(simulation, use) == "notWritable"

"""PysnmpSession against a real net-snmp agent, and against silence."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import SecretStr

from sanpath.plugin import CollectorError, Cost, Failure, Snmp, SnmpCredentials
from sanpath.transport.live_context import LiveContext
from tests.transport.snmpd import running

IF_DESCR, IF_TYPE, IF_IN_OCTETS = (f"1.3.6.1.2.1.2.2.1.{column}" for column in (2, 3, 10))
SYS_OBJECT_ID, SYS_NAME, SYS_UPTIME = "1.3.6.1.2.1.1.2.0", "1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.1.3.0"
IF_HC_IN_OCTETS = "1.3.6.1.2.1.31.1.1.1.6"
T = TypeVar("T")


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


def credentials(port: int, community: str = "public", timeout_seconds: float = 5.0) -> SnmpCredentials:
    return SnmpCredentials("127.0.0.1", port, SecretStr(community), timeout_seconds, retries=1)


def ask(who: SnmpCredentials, question: Callable[[Snmp], Awaitable[T]]) -> tuple[T, Cost]:
    """Ask one question in a loop of its own."""

    async def run() -> tuple[T, Cost]:
        cost = Cost()
        session = LiveContext(WallClock(), cost).snmp(who)
        try:
            return await question(session), cost
        finally:
            await session.close()

    return asyncio.run(run())


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The UDP port of a net-snmp agent of our own."""
    if not shutil.which("snmpget"):
        pytest.skip("net-snmp (snmpget) is not installed")
    configuration = "rocommunity public 127.0.0.1\nsysName lab-switch\n"
    with running(tmp_path_factory.mktemp("snmpd"), configuration) as port:
        yield port


def snmpget(port: int, oid: str, check: bool = True) -> str:
    """The value as net-snmp's own client prints it."""
    command = ["snmpget", "-v2c", "-c", "public", "-Oqvn", "-t", "0.3", f"127.0.0.1:{port}", oid]
    environment = os.environ | {"MIBS": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=check, env=environment)
    return done.stdout.strip().strip('"')


def test_scalars_are_those_of_snmpget(agent: int) -> None:
    values, cost = ask(credentials(agent), lambda s: s.get([SYS_NAME, SYS_OBJECT_ID, "1.3.6.1.2.1.1.99.0"]))
    assert values == {
        SYS_NAME: b"lab-switch",
        SYS_OBJECT_ID: snmpget(agent, SYS_OBJECT_ID).lstrip("."),
        "1.3.6.1.2.1.1.99.0": None,
    }
    assert cost.requests == 1
    assert cost.bytes_in > 60


def test_columns_are_those_of_snmpget(agent: int) -> None:
    before = {int(snmpget(agent, f"{IF_HC_IN_OCTETS}.1"))}
    columns = [IF_DESCR, IF_TYPE, IF_HC_IN_OCTETS, IF_IN_OCTETS]
    rows, cost = ask(credentials(agent), lambda s: s.columns(columns))
    after = int(snmpget(agent, f"{IF_HC_IN_OCTETS}.1"))
    interfaces = [path.name for path in Path("/sys/class/net").iterdir() if (path / "ifindex").exists()]
    assert len(rows) == len(interfaces)
    for index, row in rows.items():
        assert row[IF_DESCR] == snmpget(agent, f"{IF_DESCR}.{index}").encode()
        assert row[IF_TYPE] == int(snmpget(agent, f"{IF_TYPE}.{index}"))
    loopback = rows["1"][IF_HC_IN_OCTETS]
    assert isinstance(loopback, int)
    assert min(before) <= loopback <= after
    assert cost.requests <= 1 + len(rows) // 5 + 1
    assert cost.bytes_in > 30 * len(rows)


def test_sessions_of_one_loop_keep_their_costs_apart(agent: int) -> None:
    async def run() -> tuple[Cost, Cost]:
        costs = Cost(), Cost()
        first, second = (LiveContext(WallClock(), cost).snmp(credentials(agent)) for cost in costs)
        await first.get([SYS_NAME])
        await first.close()
        await second.get([SYS_UPTIME])
        await second.get([SYS_UPTIME])
        await second.close()
        return costs

    first, second = asyncio.run(run())
    assert (first.requests, second.requests) == (1, 2)
    assert first.bytes_in > 0
    assert second.bytes_in > 0


def test_a_wrong_community_is_unreachable_and_says_so(agent: int) -> None:
    with pytest.raises(CollectorError, match="wrong community") as caught:
        ask(credentials(agent, "not-the-community", timeout_seconds=0.3), lambda s: s.get([SYS_NAME]))
    assert caught.value.failure is Failure.UNREACHABLE
    assert "not-the-community" not in str(caught.value)


@pytest.mark.parametrize("question", ["get", "columns"])
def test_a_dead_host_is_asked_twice_and_no_more(question: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.setblocking(False)
        who = credentials(silent.getsockname()[1], timeout_seconds=0.2)
        with pytest.raises(CollectorError) as caught:
            ask(who, lambda s: getattr(s, question)([IF_DESCR]))
        received = 0
        while True:
            try:
                silent.recv(2000)
            except BlockingIOError:
                break
            received += 1
    assert caught.value.failure is Failure.UNREACHABLE
    assert received == 2


def test_a_host_without_address_is_unreachable() -> None:
    who = SnmpCredentials("no-such-host.invalid", 161, SecretStr("public"))
    with pytest.raises(CollectorError, match="no-such-host") as caught:
        ask(who, lambda s: s.get([SYS_NAME]))
    assert caught.value.failure is Failure.UNREACHABLE

"""A host over SSH is the same host: what a real sshd on this machine answers, beside what the machine says itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from sanpath.plugin import Check, CollectorError, Cost, Failure, Item, Rows, SourceEntity, SourceLink
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.linux_host.collector import LinuxHost
from sanpath_collectors.linux_host.config import LinuxHostConfig
from tests.transport.sshd import Server, running

pytestmark = pytest.mark.skipif(not Path("/proc/diskstats").exists(), reason="this machine is not a Linux host")


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("sshd")) as one:
        yield one


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


def over(server: Server) -> LinuxHostConfig:
    return LinuxHostConfig(
        name="here",
        collector="linux_host",
        address="127.0.0.1",
        port=server.port,
        key_file=server.key_file,
        known_hosts=server.known_hosts,
        every_seconds=10.0,
        load_processes=[],
    )


HERE = LinuxHostConfig(name="here", collector="linux_host", load_processes=[])


async def read(config: LinuxHostConfig) -> tuple[Check, list[SourceEntity | SourceLink], list[Item], Cost]:
    cost = Cost()
    context = LiveContext(WallClock(), cost)
    host = LinuxHost(config)
    await host.open(context)
    try:
        check = await host.check(context)
        inventory = [item async for item in host.inventory(context)]
        cost.requests = cost.bytes_in = 0
        return check, inventory, [item async for item in host.poll(context)], cost
    finally:
        await host.close()


def columns(items: list[Item]) -> list[tuple[str, list[str], list[str]]]:
    return [(rows.table.kind, rows.entity, list(rows.values)) for rows in items if isinstance(rows, Rows)]


def test_inventory_and_columns_are_those_that_the_host_itself_has(server: Server) -> None:
    here, there = asyncio.run(read(HERE)), asyncio.run(read(over(server)))
    assert there[1] == here[1]
    assert columns(there[2]) == columns(here[2])
    assert {kind for kind, _, _ in columns(there[2])} >= {"lun", "host"}
    assert there[0].identity == here[0].identity
    assert there[0].unreadable == here[0].unreadable


def test_counters_go_on_where_the_host_itself_has_read_them(server: Server) -> None:
    before, there, after = (totals(asyncio.run(read(config))[2]) for config in (HERE, over(server), HERE))
    # Other tests attach loop devices and detach them.
    common = before.keys() & there.keys() & after.keys()
    assert {kind for kind, _, _ in common} == {"lun", "host"}
    fallen = {
        key: values
        for key in common
        if (values := (before[key], there[key], after[key])) != tuple(sorted(values)) and "loop" not in key[1]
    }
    assert not fallen


def totals(items: list[Item]) -> dict[tuple[str, str, str], float]:
    """(kind, entity, metric) → value of every counter of devices and of the host."""
    return {
        (item.table.kind, entity, metric): value
        for item in items
        if isinstance(item, Rows) and item.table.kind in ("lun", "host")
        for metric, column in item.values.items()
        if metric.endswith("_total")
        for entity, value in zip(item.entity, column, strict=True)
        if value is not None
    }


def test_a_poll_is_one_request_and_tells_the_hosts_own_time(server: Server) -> None:
    started = time.time_ns() // 1000
    check, _, items, cost = asyncio.run(read(over(server)))
    ended = time.time_ns() // 1000
    assert cost.requests == 1
    assert cost.bytes_in > 0
    assert check.device_time is not None
    assert started <= check.device_time <= ended
    times = {moment for item in items if isinstance(item, Rows) for moment in item.device_time or [None]}
    assert len(times) == 1
    (moment,) = times
    assert moment is not None
    # /proc/uptime tells hundredths of a second, and was read a request apart from the date.
    assert started - 1_000_000 <= moment <= ended + 1_000_000


def test_a_dropped_connection_costs_one_poll(server: Server) -> None:
    async def run() -> list[str]:
        context = LiveContext(WallClock(), Cost())
        host = LinuxHost(over(server))
        reported = []
        await host.open(context)
        for number in range(4):
            if number == 1:
                server.drop_connections()
            try:
                reported.append(columns([item async for item in host.poll(context)])[0][0])
            except CollectorError as error:  # what the recorder does then
                reported.append(error.failure.value)
                await host.close()
                await host.open(context)
        await host.close()
        return reported

    reported = asyncio.run(run())
    assert reported in (["lun"] * 4, ["lun", Failure.UNREACHABLE.value, "lun", "lun"])


def test_a_wrong_password_ends_at_the_door_and_leaves_nothing_open(server: Server) -> None:
    wrong = over(server).model_copy(
        update={"key_file": None, "user": "nobody-here", "password": SecretStr("hunter2")}
    )
    with pytest.raises(CollectorError) as caught:
        asyncio.run(read(wrong))
    assert caught.value.failure is Failure.REFUSED
    assert "hunter2" not in f"{caught.value}{caught.value.excerpt}"

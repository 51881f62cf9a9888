"""The collector against a switch that speaks NX-API over HTTPS: cookies, their expiry, throttling, certificates."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from sanpath.errors import Failure
from sanpath.plugin import CollectorError, Cost, Item, Rows
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.cisco_nxapi.collector import CiscoNxapi
from sanpath_collectors.cisco_nxapi.config import CiscoNxapiConfig
from sanpath_collectors.cisco_nxapi.nxapi import Nxapi
from tests.support.tls_device import MovableClock, serving

USER, PASSWORD = "sanpath", "secret of the test"
BYTES_A_POLL = 1_000_000
REFUSED = {"code": -32602, "message": "Invalid params", "data": {"msg": "% Invalid command\n"}}


class Switch:
    """NX-OS with one Fibre Channel port. A login costs it dear, so that it counts them; a cookie can expire."""

    def __init__(self) -> None:
        self.logins = 0
        self.cookie = ""
        self.commands: list[str] = []
        self.requests = 0
        self.octets = 2**40
        self.busy_for = 0
        self.silent_on = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        if request.path != "/ins" or request.content_type != "application/json-rpc":
            return web.Response(status=404)
        if self.busy_for:
            self.busy_for -= 1
            return web.Response(status=503, headers={"Retry-After": "20"})
        wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {}
        if request.headers.get("Authorization") == wanted:
            self.logins += 1
            self.cookie = f"nxapi_auth=cookie-{self.logins}"
            headers["Set-Cookie"] = f"{self.cookie}; Secure; HttpOnly;"
        elif not self.cookie or request.headers.get("Cookie") != self.cookie:
            return web.Response(status=401)
        calls = json.loads(await request.text())
        if any(call["params"]["cmd"] == self.silent_on for call in calls):
            self.commands.append(self.silent_on)
            while self.silent_on:
                await asyncio.sleep(0.05)
        replies = [self._reply(call["params"]["cmd"], call["id"]) for call in calls]
        status = 500 if any("error" in reply for reply in replies) else 200
        body = json.dumps(replies if len(replies) > 1 else replies[0])
        return web.Response(text=body, content_type="application/json-rpc", headers=headers, status=status)

    def _reply(self, command: str, number: int) -> dict[str, Any]:
        self.commands.append(command)
        known: dict[str, Any] = {
            "show version": {"host_name": "mds", "chassis_id": "MDS", "sys_ver_str": "9.3(2)"},
            "show flogi database": "",
        }
        if command == "show interface":
            self.octets += BYTES_A_POLL
            port = {"interface": "fc1/1", "oper_port_state": "up", "oper_speed": "32 Gbps"}
            port |= {"rx_bytes": str(self.octets), "tx_bytes": str(self.octets)}
            known[command] = {"TABLE_interface": {"ROW_interface": port}}
        if command not in known:
            return {"jsonrpc": "2.0", "error": REFUSED, "id": number}
        return {"jsonrpc": "2.0", "result": {"body": known[command]}, "id": number}


Use = Callable[[CiscoNxapi, LiveContext, MovableClock], Awaitable[Any]]


def with_collector(folder: Path, switch: Switch, use: Use, **options: Any) -> Any:
    async def run(host: str) -> Any:
        chosen = {"ca_file": folder / "ca.pem", "password": SecretStr(PASSWORD), **options}
        config = CiscoNxapiConfig(name="m1", collector="cisco_nxapi", host=host, user=USER, **chosen)
        clock = MovableClock()
        return await use(CiscoNxapi(config), LiveContext(clock, Cost()), clock)

    return serving(folder / "ca.pem", switch.answer, run)


async def opened(collector: CiscoNxapi, context: LiveContext) -> None:
    await collector.open(context)
    _ = [item async for item in collector.inventory(context)]


async def received(collector: CiscoNxapi, context: LiveContext) -> int:
    items: list[Item] = [item async for item in collector.poll(context)]
    (rows,) = [i for i in items if isinstance(i, Rows) and "bytes_rx_total" in i.values]
    (value,) = rows.values["bytes_rx_total"]
    assert isinstance(value, int)
    return value


def test_one_login_serves_all_polls_and_only_show_commands_are_sent(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: CiscoNxapi, context: LiveContext, clock: MovableClock) -> list[int]:
        await opened(collector, context)
        read = []
        for _ in range(3):
            clock.us += 10_000_000
            read.append(await received(collector, context))
        await collector.close()
        return read

    first, second, third = with_collector(tmp_path, switch, use)
    assert (second - first, third - second) == (BYTES_A_POLL, BYTES_A_POLL)
    assert switch.logins == 1
    assert all(command.startswith("show ") for command in switch.commands)


def test_after_its_cookie_has_expired_it_logs_in_again(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: CiscoNxapi, context: LiveContext, _clock: MovableClock) -> int:
        await opened(collector, context)
        switch.cookie = ""
        read = await received(collector, context)
        await collector.close()
        return read

    assert with_collector(tmp_path, switch, use) > 2**40
    assert switch.logins == 2


def test_a_busy_switch_is_left_alone_as_long_as_it_asks(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: CiscoNxapi, context: LiveContext, clock: MovableClock) -> str:
        await opened(collector, context)
        switch.busy_for = 1
        with pytest.raises(CollectorError, match="HTTP 503"):
            await received(collector, context)
        before = switch.requests
        clock.us += 5_000_000
        with pytest.raises(CollectorError) as failed:
            await collector.open(context)
        assert switch.requests == before
        clock.us += 16_000_000
        await opened(collector, context)
        assert await received(collector, context) > 0
        await collector.close()
        return str(failed.value)

    assert with_collector(tmp_path, switch, use) == "the switch asked to wait, for another 15 s"


def test_optics_that_take_longer_than_a_poll_cost_no_counters_and_are_not_asked_for_at_once_again(
    tmp_path: Path,
) -> None:
    switch = Switch()
    switch.silent_on = "show interface transceiver details"

    async def use(collector: CiscoNxapi, context: LiveContext, clock: MovableClock) -> list[int]:
        await opened(collector, context)
        read: list[int] = []
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                read += [len(item.entity) async for item in collector.poll(context) if isinstance(item, Rows)]
        clock.us += 10_000_000
        read.append(await received(collector, context))
        assert switch.commands.count("show interface transceiver details") == 1
        await collector.close()
        switch.silent_on = ""
        return read

    assert with_collector(tmp_path, switch, use)[-1] > 2**40


def test_the_counters_are_there_before_optics_are_asked_for(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: CiscoNxapi, context: LiveContext, _clock: MovableClock) -> bool:
        await opened(collector, context)
        async for item in collector.poll(context):
            if isinstance(item, Rows) and "bytes_rx_total" in item.values:
                break
        asked = "show interface transceiver details" in switch.commands
        await collector.close()
        return asked

    assert with_collector(tmp_path, switch, use) is False


@pytest.mark.parametrize(
    ("options", "failure"),
    [({"ca_file": None}, Failure.MISCONFIGURED), ({"password": SecretStr("another")}, Failure.REFUSED)],
)
def test_a_stranger_gets_no_password_and_a_stranger_s_password_no_answer(
    tmp_path: Path, options: dict[str, Any], failure: Failure
) -> None:
    switch = Switch()

    async def use(collector: CiscoNxapi, context: LiveContext, _clock: MovableClock) -> Failure:
        with pytest.raises(CollectorError) as refused:
            await collector.open(context)
        return refused.value.failure

    assert with_collector(tmp_path, switch, use, **options) is failure
    assert switch.commands == []


def test_a_command_that_changes_something_is_never_sent(tmp_path: Path) -> None:
    switch = Switch()

    async def use(_collector: CiscoNxapi, context: LiveContext, _clock: MovableClock) -> None:
        nxapi = Nxapi(context.http("https://127.0.0.1:1"), USER, SecretStr(PASSWORD))
        with pytest.raises(ValueError, match="reads only"):
            await nxapi.show(["show version", "configure terminal"])

    with_collector(tmp_path, switch, use)
    assert switch.requests == 0

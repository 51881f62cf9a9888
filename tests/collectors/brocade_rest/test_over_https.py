"""The collector against a switch that speaks HTTPS: sessions and their limit, expiry, throttling, certificates."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from sanpath.errors import Failure
from sanpath.plugin import CollectorError, Cost, Item, Rows
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.brocade_rest.collector import BrocadeRest
from sanpath_collectors.brocade_rest.config import BrocadeRestConfig
from tests.support.tls_device import MovableClock, serving

USER, PASSWORD = "sanpath", "secret of the test"
BYTES_A_POLL = 1_000_000


class Switch:
    """Fabric OS with a limit of sessions. It answers only to sessions that it has given out."""

    def __init__(self, most_sessions: int = 1) -> None:
        self.sessions: set[str] = set()
        self.given = 0
        self.most_sessions = most_sessions
        self.asked: list[str] = []
        self.octets = 2**40
        self.busy_for = 0
        self.silent_on = ""
        self.logins = 0
        self.login_seconds = 0.0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        if request.headers["Accept"] != "application/yang-data+json":
            return web.Response(status=406)
        if request.path == "/rest/login":
            self.logins += 1
            reply = self._login(request)
            await asyncio.sleep(self.login_seconds)
            return reply
        session = request.headers.get("Authorization", "")
        if session not in self.sessions:
            return _refused(401, "Invalid session key")
        if request.path == "/rest/logout":
            self.sessions.discard(session)
            return web.Response(status=204)
        if self.busy_for:
            self.busy_for -= 1
            return _refused(503, "Server is too busy", {"Retry-After": "20"})
        while self.silent_on and request.path.endswith(self.silent_on):
            await asyncio.sleep(0.05)
        return self._container(request.path.removeprefix("/rest/running/"))

    def _login(self, request: web.Request) -> web.Response:
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("Authorization") != f"Custom_Basic {wanted}":
            return _refused(401, "Invalid credentials")
        if len(self.sessions) >= self.most_sessions:
            return _refused(503, "Maximum number of REST sessions is reached")
        self.given += 1
        session = f"Custom_Basic session-{self.given}"
        self.sessions.add(session)
        return web.json_response({"Response": {}}, headers={"Authorization": session})

    def _container(self, container: str) -> web.Response:
        name = container.rpartition("/")[2]
        port = {"name": "0/1", "wwn": "20:01:88:94:71:00:00:0b", "operational-status": 2, "speed": 32_000_000_000}
        self.octets += BYTES_A_POLL if name == "fibrechannel-statistics" else 0
        known: dict[str, list[dict[str, Any]]] = {
            "fibrechannel-switch": [{"name": "10:00:88:94:71:00:00:0b", "user-friendly-name": "b", "up-time": 5}],
            "fibrechannel": [port],
            "fibrechannel-statistics": [{"name": "0/1", "in-octets": self.octets, "out-octets": str(self.octets)}],
        }
        if name not in known:
            return _refused(404, "Not supported")
        return web.json_response({"Response": {name: known[name]}})


def _refused(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {"errors": {"error": [{"error-message": message}]}}
    return web.json_response(body, status=status, headers=headers)


Use = Callable[[BrocadeRest, LiveContext, MovableClock], Awaitable[Any]]


def with_collector(folder: Path, switch: Switch, use: Use, **options: Any) -> Any:
    async def run(host: str) -> Any:
        chosen = {"ca_file": folder / "ca.pem", "password": SecretStr(PASSWORD), **options}
        config = BrocadeRestConfig(name="b1", collector="brocade_rest", host=host, user=USER, **chosen)
        clock = MovableClock()
        return await use(BrocadeRest(config), LiveContext(clock, Cost()), clock)

    return serving(folder / "ca.pem", switch.answer, run)


async def polled(collector: BrocadeRest, context: LiveContext) -> list[Item]:
    return [item async for item in collector.poll(context)]


async def opened(collector: BrocadeRest, context: LiveContext) -> None:
    await collector.open(context)
    _ = [item async for item in collector.inventory(context)]


def received(items: list[Item]) -> int:
    (rows,) = [i for i in items if isinstance(i, Rows) and "bytes_rx_total" in i.values]
    (value,) = rows.values["bytes_rx_total"]
    assert isinstance(value, int)
    return value


def test_one_session_serves_all_polls_and_is_given_back(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: BrocadeRest, context: LiveContext, clock: MovableClock) -> list[int]:
        await opened(collector, context)
        read = []
        for _ in range(3):
            clock.us += 10_000_000
            read.append(received(await polled(collector, context)))
        await collector.close()
        return read

    first, second, third = with_collector(tmp_path, switch, use)
    assert (second - first, third - second) == (BYTES_A_POLL, BYTES_A_POLL)
    assert (switch.given, switch.sessions) == (1, set())
    assert {line.partition(" ")[0] for line in switch.asked if "/running/" in line} == {"GET"}


def test_a_session_that_the_switch_has_ended_is_renewed_once(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: BrocadeRest, context: LiveContext, clock: MovableClock) -> int:
        await opened(collector, context)
        switch.sessions.clear()
        clock.us += 10_000_000
        read = received(await polled(collector, context))
        await collector.close()
        return read

    assert with_collector(tmp_path, switch, use) > 2**40
    assert (switch.given, switch.sessions) == (2, set())


def test_a_switch_that_is_slow_to_log_in_is_waited_for(tmp_path: Path) -> None:
    switch = Switch()
    switch.login_seconds = 6

    async def use(collector: BrocadeRest, context: LiveContext, _clock: MovableClock) -> None:
        await opened(collector, context)
        await collector.close()

    with_collector(tmp_path, switch, use)
    assert BrocadeRest.open_seconds > 30
    assert (switch.given, switch.sessions) == (1, set())


@pytest.mark.parametrize("in_a_poll", [False, True], ids=["first login", "session renewed in a poll"])
def test_after_a_login_without_an_answer_no_further_session_is_opened_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_a_poll: bool
) -> None:
    """The switch opens the session, but its answer comes too late: nobody can give it back."""
    switch = Switch(most_sessions=3)

    async def use(collector: BrocadeRest, context: LiveContext, clock: MovableClock) -> str:
        if in_a_poll:
            await opened(collector, context)
            switch.sessions.clear()
        else:
            monkeypatch.setattr("sanpath_collectors.brocade_rest.collector._LOGIN_SECONDS", 0.5)
            monkeypatch.setattr("sanpath.plugin.config._REQUEST_SECONDS", 0.5)
        switch.login_seconds = 2
        before = switch.logins
        with pytest.raises((CollectorError, TimeoutError)):
            async with asyncio.timeout(0.5 if in_a_poll else 10):
                await (polled(collector, context) if in_a_poll else collector.open(context))
        await collector.close()
        for _ in range(5):
            clock.us += 100_000_000
            with pytest.raises(CollectorError) as failed:
                await collector.open(context)
        assert switch.logins == before + 1
        switch.login_seconds = 0
        clock.us += 101_000_000
        await collector.open(context)
        await collector.close()
        return str(failed.value)

    message = with_collector(tmp_path, switch, use, timeout_seconds=0.5)
    assert message.startswith("a login had no answer")
    assert message.endswith("for another 100 s")
    assert len(switch.sessions) == 1


def test_a_switch_without_a_free_session_is_unreachable_and_not_misconfigured(tmp_path: Path) -> None:
    switch = Switch(most_sessions=0)

    async def use(collector: BrocadeRest, context: LiveContext, _clock: MovableClock) -> CollectorError:
        with pytest.raises(CollectorError) as failed:
            await collector.open(context)
        return failed.value

    error = with_collector(tmp_path, switch, use)
    assert (error.failure, "sessions is reached" in str(error)) == (Failure.UNREACHABLE, True)


def test_a_busy_switch_is_left_alone_as_long_as_it_asks(tmp_path: Path) -> None:
    switch = Switch()

    async def use(collector: BrocadeRest, context: LiveContext, clock: MovableClock) -> list[str]:
        await opened(collector, context)
        switch.busy_for = 1
        found = []
        with pytest.raises(CollectorError) as failed:
            await polled(collector, context)
        found.append(str(failed.value))
        await collector.close()
        before = len(switch.asked)
        clock.us += 5_000_000
        with pytest.raises(CollectorError) as failed:
            await collector.open(context)
        found.append(str(failed.value))
        assert len(switch.asked) == before
        clock.us += 16_000_000
        await opened(collector, context)
        assert received(await polled(collector, context)) > 0
        await collector.close()
        return found

    first, second = with_collector(tmp_path, switch, use)
    assert "HTTP 503 Server is too busy" in first
    assert second == "the switch asked to wait, for another 15 s"


@pytest.mark.parametrize(
    ("options", "failure"),
    [
        ({"ca_file": None}, Failure.MISCONFIGURED),
        ({"password": SecretStr("another")}, Failure.REFUSED),
    ],
)
def test_a_stranger_gets_no_password_and_a_stranger_s_password_no_session(
    tmp_path: Path, options: dict[str, Any], failure: Failure
) -> None:
    switch = Switch()

    async def use(collector: BrocadeRest, context: LiveContext, _clock: MovableClock) -> Failure:
        with pytest.raises(CollectorError) as refused:
            await collector.open(context)
        assert "another" not in str(refused.value)
        return refused.value.failure

    assert with_collector(tmp_path, switch, use, **options) is failure
    assert switch.given == 0
    if options.get("ca_file", "") is None:
        assert switch.asked == []


def test_without_the_other_containers_it_still_polls(tmp_path: Path) -> None:
    """Name server, zones and optics answer 404 here: each is asked once and told once."""
    switch = Switch()

    async def use(collector: BrocadeRest, context: LiveContext, clock: MovableClock) -> int:
        await opened(collector, context)
        for _ in range(3):
            clock.us += 120_000_000
            await polled(collector, context)
        await collector.close()
        return sum("media-rdp" in line for line in switch.asked)

    assert with_collector(tmp_path, switch, use) == 1

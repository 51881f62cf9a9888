"""The collector against an array that speaks HTTPS: sessions, versions, pages, waiting, certificates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from sanpath.errors import Failure
from sanpath.plugin import CollectorError, Cost, Event, Item, Rows, SourceEntity
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.flasharray.collector import FlashArray
from sanpath_collectors.flasharray.config import FlashArrayConfig
from sanpath_lab.certificate import server_context
from sanpath_lab.flasharray.server import FlashArrayServer
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.scenario import load_scenario
from sanpath_lab.simulation import Simulation

TOKEN = "token-of-a-readonly-user"


class MovableClock:
    """The recorder's clock, moved on by hand."""

    def __init__(self) -> None:
        self.us = RecorderClock().now_us()

    def now_us(self) -> int:
        return self.us


class Site:
    """A simulated array under load, its server, and a collector that reads it."""

    def __init__(self, folder: Path, release: str = "6.6.3", **offers: Any) -> None:
        self.simulation = Simulation(load_scenario("four-gigabit-switch"), 1_800_000_000.0)
        self.simulation.begin_load()
        self.seconds = 0.0
        self.pass_seconds(3.0)
        self.state = SimulatedArrayState(self.simulation.scenario, self.simulation.array, lambda: None)
        self.state.identity = replace(self.state.identity, version=release)
        self.server = FlashArrayServer(self.state, TOKEN, **offers)
        self.clock, self.cost = MovableClock(), Cost()
        self._folder = folder

    def pass_seconds(self, seconds: float) -> None:
        self.seconds += seconds
        self.simulation.advance(self.seconds)

    def collector(self, **options: Any) -> tuple[FlashArray, LiveContext]:
        host, port = self.server.address
        result = {"ca_file": self._folder / "ca.pem", "detail_every_seconds": 1.0, **options}
        config = FlashArrayConfig(
            name="fa1", collector="flasharray", host=f"{host}:{port}", api_token=SecretStr(TOKEN), **result
        )
        return FlashArray(config), LiveContext(self.clock, self.cost)

    def run(self, use: Callable[[Site], Awaitable[Any]]) -> Any:
        async def served() -> Any:
            await self.server.start(server_context(self._folder / "ca.pem"))
            try:
                return await use(self)
            finally:
                await self.server.stop()

        return asyncio.run(served())


async def polled(array: FlashArray, context: LiveContext) -> list[Item]:
    return [item async for item in array.poll(context)]


async def opened(array: FlashArray, context: LiveContext) -> None:
    await array.open(context)
    _ = [item async for item in array.inventory(context)]


def rows_of(items: list[Item], kind: str) -> Rows:
    (rows,) = [item for item in items if isinstance(item, Rows) and item.table.kind == kind]
    return rows


def test_one_second_samples_have_no_gaps_and_no_repeats(tmp_path: Path) -> None:
    async def use(site: Site) -> list[int]:
        array, context = site.collector()
        await opened(array, context)
        times = []
        for seconds in (2.0, 5.0, 0.5, 3.0):
            site.pass_seconds(seconds)
            items = await polled(array, context)
            times += [
                time
                for item in items
                if isinstance(item, Rows) and item.covers_seconds
                for time in item.device_time or ()
            ]
        await array.close()
        return times

    times = Site(tmp_path).run(use)
    assert len(times) >= 10
    assert {later - earlier for earlier, later in pairwise(times)} == {1_000_000}


@pytest.mark.parametrize("release", ["6.3.13", "6.3.14", "6.4.9", "6.4.10"])
def test_parts_add_up_to_the_latency_in_every_release(tmp_path: Path, release: str) -> None:
    async def use(site: Site) -> Mapping[str, Any]:
        array, context = site.collector()
        await opened(array, context)
        items = await polled(array, context)
        await array.close()
        return rows_of(items, "array").values

    site = Site(tmp_path, release)
    values = site.run(use)
    (now,) = site.state.array_samples(None, None)
    parts = ("service", "queue", "san", "qos_limit")
    total = sum(values[f"{part}_seconds_read"][-1] for part in parts)
    result = (now.read.service_usec, now.read.queue_usec, now.read.san_usec, now.read.qos_rate_limit_usec)
    assert total == pytest.approx(sum(part or 0.0 for part in result), abs=2.0)


@pytest.mark.parametrize("newest", [(2, 2), (2, 4), (2, 27), (2, 56)])
def test_every_version_is_read_and_what_it_lacks_is_said(tmp_path: Path, newest: tuple[int, int]) -> None:
    async def use(site: Site) -> tuple[tuple[str, ...], set[str]]:
        array, context = site.collector()
        await array.open(context)
        reported = (await array.check(context)).unreadable
        _ = [item async for item in array.inventory(context)]
        kinds = {item.table.kind for item in await polled(array, context) if isinstance(item, Rows)}
        await array.close()
        return reported, kinds

    reported, kinds = Site(tmp_path, newest=newest).run(use)
    if newest < (2, 4):
        assert kinds == {"array", "volume", "host"}
        assert any("whether all paths are used is unknown" in line for line in reported)
    else:
        assert kinds == {"array", "volume", "host", "path", "array_port"}
        assert reported == ()


def test_pages_are_followed(tmp_path: Path) -> None:
    async def use(site: Site) -> list[str]:
        array, context = site.collector()
        await opened(array, context)
        ports = rows_of(await polled(array, context), "array_port").entity
        await array.close()
        return ports

    for newest in ((2, 37), (2, 40)):
        assert Site(tmp_path, newest=newest, page_items=1).run(use) == ["CT0.FC0", "CT1.FC0"]


def test_a_session_that_ends_is_renewed_once(tmp_path: Path) -> None:
    async def use(site: Site) -> tuple[int, int]:
        array, context = site.collector(detail_every_seconds=1000.0)
        await opened(array, context)
        await polled(array, context)
        site.pass_seconds(2.0)
        before = context.cost.requests
        site.server.end_sessions()
        rows = rows_of(await polled(array, context), "array")
        after = context.cost.requests
        await array.close()
        return len(rows.entity), after - before

    assert Site(tmp_path).run(use) == (2, 3)  # refused, logged in, answered


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    async def use(site: Site) -> Failure:
        array, context = site.collector(ca_file=None)
        with pytest.raises(CollectorError) as refused:
            await array.open(context)
        return refused.value.failure

    assert Site(tmp_path).run(use) is Failure.MISCONFIGURED


Answer = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def answering(folder: Path, answer: Answer) -> AsyncIterator[tuple[FlashArray, LiveContext, MovableClock]]:
    """A server that answers every request so, and a collector that reads it."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context(folder / "ca.pem")).start()
    host, port = runner.addresses[0][:2]
    config = FlashArrayConfig(
        name="fa1",
        collector="flasharray",
        host=f"{host}:{port}",
        api_token=SecretStr(TOKEN),
        ca_file=folder / "ca.pem",
    )
    clock = MovableClock()
    try:
        yield FlashArray(config), LiveContext(clock, Cost()), clock
    finally:
        await runner.cleanup()


def test_an_array_that_asks_to_wait_is_left_alone(tmp_path: Path) -> None:
    """It gets neither a login nor anything else before the time that it named."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == "/api/api_version":
            return web.json_response({"version": ["2.26"]})
        return web.json_response({"errors": [{"message": "Busy."}]}, status=429, headers={"RateLimit-Reset": "30"})

    async def use() -> list[str]:
        reported = []
        async with answering(tmp_path, answer) as (array, context, clock):
            for seconds in (0, 10, 19.7, 5.3):
                clock.us += round(seconds * 1e6)
                with pytest.raises(CollectorError) as failed:
                    await array.open(context)
                reported.append(f"{failed.value.failure.value}: {failed.value}")
        return reported

    first, second, late, third = asyncio.run(use())
    assert late == "unreachable: the array asked to wait, for another 1 s"
    assert first == third == "unreachable: login: HTTP 429 Busy., the array asks to wait 30 s"
    assert second == "unreachable: the array asked to wait, for another 20 s"
    assert asked == ["/api/api_version", "/api/2.26/login"] * 2


@pytest.mark.parametrize("every", [5, 7, 9])
def test_an_array_that_refuses_now_and_then_is_read_all_the_same(tmp_path: Path, every: int) -> None:
    """What it has answered is not asked again after a refusal: the inventory ends, however many requests it takes."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        if len(asked) % every == 0:
            return web.json_response({"errors": [{"message": "Busy."}]}, status=503)
        if request.path == "/api/api_version":
            return web.json_response({"version": ["2.26"]})
        name = {"name": "fa1"} if request.path.endswith("/arrays") else {}
        return web.json_response({"items": [name] if name else []}, headers={"x-auth-token": "session"})

    async def use() -> tuple[int, list[str]]:
        async with answering(tmp_path, answer) as (array, context, clock):
            for attempt in range(1, 20):
                clock.us += 3_000_000
                with suppress(CollectorError):
                    await array.open(context)
                    found = [item async for item in array.inventory(context)]
                    await array.close()
                    return attempt, [item.kind for item in found if isinstance(item, SourceEntity)]
        return 0, []

    attempts, kinds = asyncio.run(use())
    assert attempts
    assert "array" in kinds


@pytest.mark.parametrize("busy_for", ["a poll", "a login"])
def test_what_a_complete_inventory_had_is_asked_again(tmp_path: Path, busy_for: str) -> None:
    """Only an inventory that was refused midway goes on with its answers. Controllers fail over."""
    state: dict[str, Any] = {"busy": False, "volumes": ["v1"], "modes": ["primary", "secondary"]}

    async def answer(request: web.Request) -> web.Response:
        if state["busy"]:
            return web.json_response({"errors": [{"message": "Busy."}]}, status=503)
        if request.path == "/api/api_version":
            return web.json_response({"version": ["2.26"]})
        items = {
            "arrays": [{"name": "fa1"}],
            "volumes": [{"name": name, "id": name, "serial": name} for name in state["volumes"]],
            "controllers": [{"name": f"CT{n}", "mode": mode} for n, mode in enumerate(state["modes"])],
        }
        found = items.get(request.path.rpartition("/")[2], [])
        return web.json_response({"items": found}, headers={"x-auth-token": "session"})

    async def use() -> tuple[list[str], list[str]]:
        async with answering(tmp_path, answer) as (array, context, clock):
            await array.open(context)
            assert [item async for item in array.inventory(context)]
            state.update(busy=True, volumes=["v1", "v2"], modes=["secondary", "primary"])
            with pytest.raises(CollectorError):
                await (polled(array, context) if busy_for == "a poll" else array.open(context))
            state["busy"] = False
            clock.us += 40_000_000
            await array.open(context)
            again = [item async for item in array.inventory(context)]
            items = await polled(array, context)
            await array.close()
        volumes = [item.local_id for item in again if isinstance(item, SourceEntity) and item.kind == "volume"]
        return volumes, [item.name for item in items if isinstance(item, Event)]

    volumes, events = asyncio.run(use())
    assert volumes == ["v1", "v2"]
    assert "controller-failover" in events

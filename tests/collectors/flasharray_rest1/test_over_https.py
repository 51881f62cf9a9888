"""The collector against servers that speak HTTPS: recorded answers of a real array, the lab's array, broken ones."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from sanpath.errors import Failure
from sanpath.plugin import CollectorError, Cost, Http, Item, Rows, SourceEntity, SourceLink
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.flasharray.collector import FlashArray
from sanpath_collectors.flasharray_rest1.collector import FlashArrayRest1
from sanpath_collectors.flasharray_rest1.config import FlashArrayRest1Config
from sanpath_lab.certificate import server_context
from sanpath_lab.flasharray.server import FlashArrayServer
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.scenario import load_scenario
from sanpath_lab.simulation import Simulation

TOKEN = "token-of-a-readonly-user"
COOKIE = "session-of-a-readonly-user"
ROOT = Path(__file__).parents[3]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "flasharray" / "rest1"
RECORDED = {
    "array": "GetArray",
    "array action=monitor": "GetArrayMonitor",
    "array controllers=true": "GetArrayControllers",
    "array space=true": "GetArraySpace",
    "hardware": "GetHardware",
    "host": "GetHost",
    "message open=true": "GetMessage",
    "network": "GetNetwork",
    "port": "GetPort",
    "volume": "GetVolume",
    "volume action=monitor": "GetVolumevolMonitor",
}

Use = Callable[[FlashArrayRest1, LiveContext], Awaitable[Any]]


class HurriedContext(LiveContext):
    """Waits for an answer for a fifth of a second."""

    def http(self, base_url: str, ca_file: Path | None = None, verify_tls: bool = True, *_: Any, **__: Any) -> Http:
        return super().http(base_url, ca_file, verify_tls, 0.2)


def collector(address: tuple[str, int], folder: Path, **options: Any) -> FlashArrayRest1:
    result = {"ca_file": folder / "ca.pem", **options}
    host = "{}:{}".format(*address)
    config = FlashArrayRest1Config(
        name="fa1", collector="flasharray_rest1", host=host, api_token=SecretStr(TOKEN), **result
    )
    return FlashArrayRest1(config)


def served(handler: Callable[[web.Request], Awaitable[web.Response]], folder: Path, use: Use, **options: Any) -> Any:
    """Use a collector of a server that answers everything by `handler`."""

    async def run() -> Any:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context(folder / "ca.pem")).start()
        array = collector(runner.addresses[0][:2], folder, **options)
        try:
            return await use(array, HurriedContext(RecorderClock(), Cost()))
        finally:
            await array.close()
            await runner.cleanup()

    return asyncio.run(run())


async def recorded(request: web.Request) -> web.Response:
    """An array with Purity 5.0.0 that gives its cookie at the login only; what was not recorded is refused."""
    if request.path == "/api/api_version":
        return web.json_response({"version": ["1.0", "1.14", "1.15"]})
    if request.path == "/api/1.15/auth/session":
        given = request.method == "DELETE" or (await request.json())["api_token"] == TOKEN
        reply = web.json_response({"username": "pureuser"}, status=200 if given else 400)
        reply.set_cookie("session", COOKIE)
        return reply
    if request.cookies.get("session") != COOKIE:
        return web.json_response([{"msg": "Authentication required."}], status=401)
    asked = " ".join([request.path.rpartition("/")[2], *(f"{key}={value}" for key, value in request.query.items())])
    if asked not in RECORDED:
        return web.json_response([{"msg": "Not recorded."}], status=403)
    body = (RECORDINGS / f"{RECORDED[asked]}.rest1.15.json").read_bytes()
    return web.Response(body=body, content_type="application/json")


async def everything(array: FlashArray, context: LiveContext) -> list[Any]:
    await array.open(context)
    found: list[Any] = [item async for item in array.inventory(context)]
    return found + [item async for item in array.poll(context)]


with_recordings = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="no recorded answers: set SANPATH_RECORDINGS")


@with_recordings
def test_a_real_array_is_read_and_joins(tmp_path: Path) -> None:
    items = served(recorded, tmp_path, everything)
    entities = {(entity.kind, entity.local_id): entity for entity in items if isinstance(entity, SourceEntity)}
    rows = {item.table.kind: item for item in items if isinstance(item, Rows)}
    assert entities["array", "pure01"].attributes["version"] == "5.0.0"
    assert entities["volume", "v1"].ids["naa"] == ("naa.624a9370b75f8356604b431d00011010",)
    assert entities["array_port", "CT0.FC0"].ids["wwpn"] == ("5001500150015000",)
    assert entities["host", "h1"].ids["wwpn"] == ("0000111122223333",)
    assert SourceLink("attached_to", ("hba", "0000111122223333"), ("host", "h1"), "hosts: wwns") in items
    assert rows["array"].device_time == [1_513_401_167_000_000]
    assert rows["array"].values["service_seconds_read"] == [0]
    assert rows["array"].values["data_reduction_ratio"] == [1.0]


@with_recordings
def test_what_the_account_or_the_version_does_not_tell_is_said(tmp_path: Path) -> None:
    async def use(array: FlashArrayRest1, context: LiveContext) -> tuple[str, ...]:
        await array.open(context)
        return (await array.check(context)).unreadable

    reported = served(recorded, tmp_path, use)
    assert any(line.startswith("1.15/host: HTTP 403 Not recorded.: a host's share") for line in reported)
    assert any("whether all paths are used is unknown" in line for line in reported)
    assert any("REST 1.15 does not separate it: the service time includes it" in line for line in reported)


@with_recordings
def test_an_answer_without_a_cookie_does_not_end_the_session(tmp_path: Path) -> None:
    async def use(array: FlashArrayRest1, context: LiveContext) -> int:
        await everything(array, context)
        before = context.cost.requests
        _ = [item async for item in array.poll(context)]
        return context.cost.requests - before

    assert served(recorded, tmp_path, use) == 1


@with_recordings
def test_neither_token_nor_cookie_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served(recorded, tmp_path, everything)
    assert TOKEN not in caplog.text
    assert COOKIE not in caplog.text


def failure_of(use: Callable[[], Any]) -> tuple[Failure, str]:
    with pytest.raises(CollectorError) as failed:
        use()
    return failed.value.failure, str(failed.value)


async def opened(array: FlashArrayRest1, context: LiveContext) -> None:
    await array.open(context)


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    failure, reported = failure_of(lambda: served(recorded, tmp_path, opened, ca_file=None))
    assert failure is Failure.MISCONFIGURED
    assert "set ca_file" in reported


def test_only_who_says_so_gets_by_without_verification(tmp_path: Path) -> None:
    async def use(array: FlashArrayRest1, context: LiveContext) -> None:
        await array.open(context)

    served(recorded, tmp_path, use, ca_file=None, verify_tls=False)


def test_a_silent_array_ends_the_call_in_time(tmp_path: Path) -> None:
    async def silent(request: web.Request) -> web.Response:
        if request.path.endswith("/array"):
            await asyncio.sleep(3.0)
        return await recorded(request)

    async def use(array: FlashArrayRest1, context: LiveContext) -> None:
        await array.open(context)
        await array.check(context)

    failure, reported = failure_of(lambda: served(silent, tmp_path, use))
    assert failure is Failure.UNREACHABLE
    assert "gave no answer in 0.2 s" in reported


def test_a_redirect_does_not_carry_the_token_away(tmp_path: Path) -> None:
    asked: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        asked.append(request.path)
        if request.path == "/api/api_version":
            return web.json_response({"version": ["1.15"]})
        raise web.HTTPTemporaryRedirect("/elsewhere")

    failure, _ = failure_of(lambda: served(elsewhere, tmp_path, opened))
    assert failure is Failure.UNREADABLE
    assert "/elsewhere" not in asked


def test_a_version_that_is_withdrawn_in_mid_run_is_agreed_on_anew(tmp_path: Path) -> None:
    versions = ["1.14", "1.15"]

    async def upgraded(request: web.Request) -> web.Response:
        if request.path == "/api/api_version":
            return web.json_response({"version": versions})
        if "/1.15/" in request.path and versions == ["1.14"]:
            return web.json_response([{"msg": "Version is not supported."}], status=450)
        return web.json_response({"array_name": request.path.split("/")[2]})

    async def use(array: FlashArrayRest1, context: LiveContext) -> list[str]:
        await array.open(context)
        reported = []
        for _ in range(2):
            reported.append((await array.check(context)).identity)
            versions[:] = ["1.14"]
        return reported

    assert served(upgraded, tmp_path, use) == ["1.15, Purity", "1.14, Purity"]


def test_the_lab_tells_the_same_by_rest_1_and_rest_2(tmp_path: Path) -> None:
    from sanpath_collectors.flasharray.config import FlashArrayConfig

    simulation = Simulation(load_scenario("four-gigabit-switch"), 1_800_000_000.0)
    simulation.begin_load()
    simulation.advance(3.0)
    state = SimulatedArrayState(simulation.scenario, simulation.array, lambda: None)
    state.identity = replace(state.identity, version="6.6.3")

    async def run() -> tuple[list[Item], list[Item]]:
        server = FlashArrayServer(state, TOKEN)
        await server.start(server_context(tmp_path / "ca.pem"))
        host = "{}:{}".format(*server.address)
        old = collector(server.address, tmp_path)
        new = FlashArray(
            FlashArrayConfig(
                name="fa1",
                collector="flasharray",
                host=host,
                api_token=SecretStr(TOKEN),
                ca_file=tmp_path / "ca.pem",
            )
        )
        context = LiveContext(RecorderClock(), Cost())
        try:
            return await everything(old, context), await everything(new, context)
        finally:
            await old.close()
            await new.close()
            await server.stop()

    by_rest1, by_rest2 = asyncio.run(run())

    def values(items: list[Item], kind: str) -> dict[str, Any]:
        (rows,) = [item for item in items if isinstance(item, Rows) and item.table.kind == kind]
        return {metric: column[-1] for metric, column in rows.values.items() if metric != "queued"}

    for kind in ("array", "volume", "host"):
        assert values(by_rest1, kind) == values(by_rest2, kind)
        assert values(by_rest1, kind)["service_seconds_read"] > 300

    def joins(items: list[Item]) -> set[str]:
        return {
            json.dumps([t.kind, t.local_id, dict(t.ids)], default=list) for t in items if isinstance(t, SourceEntity)
        }

    assert joins(by_rest1) == joins(by_rest2)


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked} and not ({until!r} and {until!r} in sys.modules):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
for name in [n for n in sys.modules if n.split(".")[0] in {{"distutils", "_distutils_hack", "setuptools"}}]:
    del sys.modules[name]
sys.path[:0] = {paths!r}
from sanpath_collectors.flasharray_rest1 import sdk
try:
    print(sdk._sdk().VERSION)
except Exception as error:
    print(f"{{error.failure.value}}: {{error}}")
"""


def loaded_without(blocked: set[str], until: str = "") -> str:
    """What comes of loading the SDK in a Python that lacks modules, all along or until another one is there."""
    code = BLOCKED.format(blocked=blocked, until=until, paths=[str(ROOT), str(ROOT / "collectors")])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_python_without_distutils_takes_that_of_setuptools() -> None:
    assert loaded_without({"distutils"}, until="setuptools") == "1.19.0"


def test_what_is_not_installed_is_said() -> None:
    reported = loaded_without({"purestorage"})
    assert (
        reported
        == "misconfigured: REST 1 needs the Python package purestorage: pip install 'sanpath[flasharray-rest1]'"
    )
    assert "Python package setuptools" in loaded_without({"distutils", "setuptools"})

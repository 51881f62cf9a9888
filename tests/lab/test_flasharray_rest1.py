from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sanpath_lab.certificate import server_context
from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.server import FlashArrayServer
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState

API_TOKEN = "6e1b80a1-cd63-de90-0e5a-b94f4c2d1a8d"
ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings")
RECORDED = {
    "array": "GetArray",
    "array?action=monitor": "GetArrayMonitor",
    "array?controllers=true": "GetArrayControllers",
    "array?space=true": "GetArraySpace",
    "hardware": "GetHardware",
    "host": "GetHost",
    "network": "GetNetwork",
    "port": "GetPort",
    "volume": "GetVolume",
}

Get = Callable[..., Awaitable[tuple[int, Any]]]


def ask(state: ArrayState, folder: Path, use: Callable[[Get], Awaitable[Any]], token: str = API_TOKEN) -> Any:
    """Log in as the vendor's SDK does, and use the session."""

    async def run() -> Any:
        server = FlashArrayServer(state, API_TOKEN)
        await server.start(server_context(folder / "ca.pem"))
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=folder / "ca.pem"))
        base = "https://{}:{}/api/".format(*server.address)
        jar = aiohttp.CookieJar(unsafe=True)  # the server is an address, not a name
        try:
            async with aiohttp.ClientSession(base, connector=connector, cookie_jar=jar) as http:
                async with http.post("1.19/auth/session", json={"api_token": token}) as reply:
                    if reply.status != 200:
                        return reply.status

                async def get(path: str, **options: Any) -> tuple[int, Any]:
                    async with http.get(path, **options) as reply:
                        return reply.status, await reply.json()

                return await use(get)
        finally:
            await server.stop()

    return asyncio.run(run())


def test_a_wrong_token_is_refused(loaded: ArrayState, tmp_path: Path) -> None:
    assert ask(loaded, tmp_path, lambda get: get("1.19/array"), token="wrong") == 400


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("1.19/array", 200),
        ("1.20/array", 450),
        ("1.15/array?action=monitor&latency=true", 400),
        ("1.16/array?action=monitor&latency=true", 200),
        ("1.19/pod", 400),
    ],
)
def test_each_version_takes_what_it_knows(loaded: ArrayState, tmp_path: Path, path: str, status: int) -> None:
    assert ask(loaded, tmp_path, lambda get: get(path))[0] == status


def test_parameters_come_in_the_body_too(loaded: ArrayState, tmp_path: Path) -> None:
    async def use(get: Get) -> list[Any]:
        return [(await get("1.19/array", **how))[1] for how in ({"json": {"controllers": True}}, {"json": None})]

    controllers, about = ask(loaded, tmp_path, use)
    assert [controller["name"] for controller in controllers] == ["CT0", "CT1"]
    assert about["array_name"] == "fa1"


def test_latencies_mean_what_they_meant_in_each_version(loaded: SimulatedArrayState, tmp_path: Path) -> None:
    async def use(get: Get) -> list[Any]:
        versions = ("1.4", "1.11", "1.16")
        samples = [(await get(f"{version}/array?action=monitor"))[1][0] for version in versions]
        parts = (await get("1.16/array?action=monitor&latency=true"))[1][0]
        return [*samples, parts]

    loaded.identity = replace(loaded.identity, version="5.3.6")
    oldest, middle, newest, parts = ask(loaded, tmp_path, use)
    (now,) = loaded.array_samples(None, None)
    service, queue, san = (now.read.service_usec, now.read.queue_usec, now.read.san_usec)
    assert service is not None
    assert queue is not None
    assert san is not None
    assert oldest["usec_per_read_op"] == round(service + queue + san), "from arrival to completion"
    assert "san_usec_per_read_op" not in oldest
    assert (middle["usec_per_read_op"], middle["san_usec_per_read_op"]) == (round(service + queue), round(san))
    assert (newest["usec_per_read_op"], parts["queue_usec_per_read_op"]) == (round(service), round(queue))
    assert newest["output_per_sec"] == round(now.read.bytes_per_second), "output is what hosts read"


@pytest.mark.parametrize("resource", RECORDED)
def test_field_names_are_those_of_a_real_array(loaded: ArrayState, tmp_path: Path, resource: str) -> None:
    file = RECORDINGS / f"flasharray/rest1/{RECORDED[resource]}.rest1.15.json"
    if not file.is_file():
        pytest.skip(f"no recordings at {RECORDINGS}")
    real = json.loads(file.read_text())
    _, answer = ask(loaded, tmp_path, lambda get: get(f"1.15/{resource}"))
    assert type(answer) is type(real)
    known = {key for entry in (real if isinstance(real, list) else [real]) for key in entry}
    for entry in answer if isinstance(answer, list) else [answer]:
        assert set(entry) <= known

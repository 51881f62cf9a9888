"""The lab's web server and the certificate that it makes by openssl, as clients see them."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import aiohttp
import pytest

from sanpath_lab.http_server import HttpServer, Request, Response, json_response
from sanpath_lab.openssl_certificate import server_context

T = TypeVar("T")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="the command openssl is not installed")


def _answer(request: Request) -> Response:
    if request.path == "/broken":
        raise ZeroDivisionError
    seen = {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "cookie": request.cookie("a"),
        "body": request.body.decode(),
    }
    return json_response(seen, 201, {"X-Seen": request.headers.get("x-asked", "")})


def served(folder: Path, use: Callable[[aiohttp.ClientSession, str], Awaitable[T]], address: str = "127.0.0.1") -> T:
    """Use a server at an address of this machine, through a client that trusts its authority alone."""

    async def run() -> T:
        server = HttpServer(_answer)
        await server.start(server_context(folder / "ca.pem"), address)
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=folder / "ca.pem"))
        try:
            async with aiohttp.ClientSession(connector=connector) as client:
                return await use(client, "https://{}:{}".format(*server.address))
        finally:
            await asyncio.wait_for(server.stop(), 5)

    return asyncio.run(run())


def test_a_request_reaches_the_function_and_its_answer_the_client(tmp_path: Path) -> None:
    async def use(client: aiohttp.ClientSession, base: str) -> None:
        for _ in range(2):  # over one connection
            async with client.post(
                f"{base}/a%20b?x=1&x=2&y=", data=b"text", headers={"X-Asked": "yes", "Cookie": "a=b; c=d"}
            ) as reply:
                assert (reply.status, reply.headers["X-Seen"], reply.content_type) == (201, "yes", "application/json")
                assert json.loads(await reply.read()) == {
                    "method": "POST",
                    "path": "/a b",
                    "query": {"x": "1", "y": ""},
                    "cookie": "b",
                    "body": "text",
                }

    served(tmp_path, use)


def test_a_function_that_fails_is_500_and_the_next_request_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(client: aiohttp.ClientSession, base: str) -> list[int]:
        with caplog.at_level(logging.CRITICAL):
            return [(await client.get(f"{base}/{path}")).status for path in ("broken", "whole")]

    assert served(tmp_path, use) == [500, 201]


def test_too_large_a_request_is_not_answered(tmp_path: Path) -> None:
    async def use(client: aiohttp.ClientSession, base: str) -> None:
        with pytest.raises(aiohttp.ClientError):
            await client.post(base, data=bytes(2 << 20))

    served(tmp_path, use)


def test_stopping_does_not_wait_for_clients(tmp_path: Path) -> None:
    async def use(_: aiohttp.ClientSession, base: str) -> None:
        host, port = base.removeprefix("https://").split(":")
        for tls in (None, ssl.create_default_context(cafile=tmp_path / "ca.pem")):
            await asyncio.open_connection(host, int(port), ssl=tls)

    served(tmp_path, use)


def test_the_certificate_is_for_one_address_alone(tmp_path: Path) -> None:
    async def use(client: aiohttp.ClientSession, base: str) -> None:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get(base)

    served(tmp_path, use, "127.0.0.2")
    assert [file.name for file in tmp_path.iterdir()] == ["ca.pem"]
    assert "PRIVATE" not in (tmp_path / "ca.pem").read_text()

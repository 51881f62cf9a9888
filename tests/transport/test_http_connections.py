"""What HttpSession sends, and how it uses connections: reused, dropped, at most four, none left behind."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from sanpath.plugin import CollectorError, Cost, Failure
from sanpath.transport.http import HttpSession

T = TypeVar("T")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]]
"""Serves a connection; the number says which one it is, from 1."""
Use = Callable[[HttpSession], Awaitable[T]]


def answer(body: bytes, *headers: bytes) -> bytes:
    lines = (b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body)
    return b"\r\n".join(lines)


def with_server(serve: Serve, use: Use[T], base: str = "http://{host}:{port}", **settings: object) -> T:
    async def run() -> T:
        connections = 0
        tasks: list[asyncio.Task[None]] = []

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            task = asyncio.current_task()
            assert task is not None
            tasks.append(task)
            try:
                await serve(reader, writer, connections)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        session = HttpSession(base.format(host=host, port=port), Cost(), **settings)  # type: ignore[arg-type]
        try:
            return await use(session)
        finally:
            await session.close()
            server.close()
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)

    return asyncio.run(run())


async def head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def every_request_gets_its_number(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
) -> None:
    while True:
        await head(reader)
        writer.write(answer(b"%d" % number))


def refused(error: pytest.ExceptionInfo[CollectorError]) -> tuple[Failure, str]:
    return error.value.failure, str(error.value).partition(" ")[2]


def test_what_is_sent() -> None:
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        while True:
            requests.append(await head(reader))
            if b"Content-Length: 2" in requests[-1]:
                requests[-1] += await reader.readexactly(2)
            writer.write(answer(b""))

    async def use(session: HttpSession) -> None:
        await session.request("GET", "/a b/ü?x=1", {"filter": "name='v 1',k&"}, {"X-Auth-Token": "t"})
        await session.request("POST", "/login")
        await session.request("POST", "/sdk", headers={"Content-Type": "text/xml"}, body=b"<>")

    with_server(serve, use)
    reading, login, call = requests
    assert reading.startswith(b"GET /a%20b/%C3%BC?x=1&filter=name%3D'v+1',k%26 HTTP/1.1\r\n")
    assert b"\r\nHost: 127.0.0.1:" in reading
    assert b"\r\nX-Auth-Token: t\r\n" in reading
    assert b"Content-Length" not in reading
    assert b"\r\nContent-Length: 0\r\n" in login
    assert call.lower().count(b"content-type") == 1
    assert call.endswith(b"\r\n\r\n<>")


def test_requests_one_after_another_share_a_connection() -> None:
    async def use(session: HttpSession) -> list[bytes]:
        return [(await session.request("GET", "/")).body for _ in range(3)]

    assert with_server(every_request_gets_its_number, use) == [b"1", b"1", b"1"]


def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await head(reader)
        writer.write(answer(b"%d" % number))

    async def use(session: HttpSession) -> list[bytes]:
        bodies = []
        for _ in range(3):
            bodies.append((await session.request("POST", "/")).body)
            await asyncio.sleep(0.1)
        return bodies

    assert with_server(serve, use) == [b"1", b"2", b"3"]


@pytest.mark.parametrize(("method", "reply"), [("GET", b"2"), ("DELETE", b"2"), ("POST", None)])
def test_what_a_server_drops_unanswered_is_sent_again_only_if_twice_is_as_good_as_once(
    method: str, reply: bytes | None
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await head(reader)
        writer.write(answer(b"%d" % number))
        await head(reader)  # and it closes

    async def use(session: HttpSession) -> bytes:
        await session.request("GET", "/")
        return (await session.request(method, "/")).body  # type: ignore[arg-type]

    if reply is not None:
        assert with_server(serve, use) == reply
        return
    with pytest.raises(CollectorError) as caught:
        with_server(serve, use)
    assert refused(caught) == (Failure.UNREACHABLE, "closed the connection")


def test_what_nobody_asked_for_is_not_taken_for_the_next_answer() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        await head(reader)
        writer.write(answer(b"%d" % number))
        await asyncio.sleep(0.05)
        writer.write(answer(b"poison"))
        await reader.read()

    async def use(session: HttpSession) -> list[bytes]:
        bodies = []
        for _ in range(2):
            bodies.append((await session.request("GET", "/")).body)
            await asyncio.sleep(0.2)
        return bodies

    assert with_server(serve, use) == [b"1", b"2"]


def test_there_are_at_most_four_connections_and_all_are_answered() -> None:
    numbers: set[int] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        numbers.add(number)
        while True:
            await head(reader)
            await asyncio.sleep(0.02)
            writer.write(answer(b"x"))

    async def use(session: HttpSession) -> int:
        return len(await asyncio.gather(*(session.request("GET", "/") for _ in range(20))))

    assert with_server(serve, use) == 20
    assert numbers == {1, 2, 3, 4}


def test_a_request_that_is_given_up_leaves_no_connection() -> None:
    ended: list[float] = []

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter, __: int) -> None:
        await head(reader)
        await reader.read()  # until the client is gone
        ended.append(time.monotonic())

    async def use(session: HttpSession) -> float:
        asking = asyncio.create_task(session.request("GET", "/"))
        await asyncio.sleep(0.1)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        await asyncio.sleep(0.1)
        return time.monotonic()

    assert with_server(serve, use, timeout_seconds=60.0) > ended[0]


def test_closing_ends_a_request_under_way() -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter, __: int) -> None:
        await reader.read()

    async def use(session: HttpSession) -> None:
        asking = asyncio.create_task(session.request("GET", "/"))
        await asyncio.sleep(0.1)
        await session.close()
        await asking

    with pytest.raises(CollectorError) as caught:
        with_server(serve, use, timeout_seconds=60.0)
    assert caught.value.failure is Failure.UNREACHABLE


@pytest.mark.parametrize(
    ("packed", "body"),
    [
        (gzip.compress(b"ab" * 1000), b"ab" * 1000),
        (gzip.compress(b"first,") + gzip.compress(b"second"), b"first,second"),
        (b"", b""),
        (gzip.compress(b"ab" * 1000)[:-1], None),
        (gzip.compress(b"ab" * 1000) + b"zz", None),
    ],
    ids=["whole", "two members", "empty", "cut", "more than gzip"],
)
def test_a_packed_body_is_unpacked_or_refused(packed: bytes, body: bytes | None) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        assert b"Accept-Encoding: gzip\r\n" in await head(reader)
        writer.write(answer(packed, b"Content-Encoding: gzip"))

    async def use(session: HttpSession) -> bytes:
        return (await session.request("GET", "/")).body

    if body is not None:
        assert with_server(serve, use) == body
        return
    with pytest.raises(CollectorError) as caught:
        with_server(serve, use)
    assert refused(caught) == (Failure.UNREACHABLE, "answered with a body that is no gzip")


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv(name.upper(), "http://127.0.0.1:9")

    async def use(session: HttpSession) -> bytes:
        return (await session.request("GET", "/")).body

    assert with_server(every_request_gets_its_number, use) == b"1"


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        ({"api-token": "se\ncret"}, "http://{host}:{port}"),
        ({"api token": "secret"}, "http://{host}:{port}"),
        ({"api-token": "secret"}, "http://{host}:{port}0secret"),
    ],
)
def test_what_cannot_be_sent_is_a_mistake_that_quotes_no_secret(headers: dict[str, str], base: str) -> None:
    with pytest.raises(CollectorError) as caught:
        with_server(every_request_gets_its_number, lambda session: session.request("GET", "/", None, headers), base)
    assert caught.value.failure is Failure.MISCONFIGURED
    assert "cret" not in str(caught.value).partition(": ")[2]

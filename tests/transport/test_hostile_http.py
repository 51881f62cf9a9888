"""A server that answers as no server should: each request ends in time, in a reply or in one line of text."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Iterable

import pytest

from sanpath.plugin import CollectorError, Cost, Failure, HttpReply
from sanpath.transport.http import HttpSession

MOST_BYTES = 1_000_000
OK = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(bytes(64 << 20))


def packed(kind: bytes, content: bytes) -> bytes:
    return OK + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n%b" % (kind, len(content), content)


ANSWERS: dict[str, bytes] = {
    "nothing": b"",
    "no HTTP": bytes(range(256)) * 8,
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "half a status line": b"HTTP/1.1 2",
    "a status that is none": b"HTTP/1.1 999999 \r\n\r\n",
    "a negative length": OK + b"Content-Length: -1\r\n\r\n",
    "a length of many digits": OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "fewer bytes than announced": OK + b"Content-Length: 100\r\n\r\n{}",
    "more bytes than announced": OK + b"Content-Length: 2\r\n\r\n{}" + b"x" * 5000,
    "a chunk whose size is no number": OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a chunk of 16 EB": OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 16 + b"\r\n{}",
    "chunks without end": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "a body that is larger than allowed": OK + b"\r\n" + b"x" * (2 * MOST_BYTES),
    "a header of a megabyte": OK + b"X-Long: " + b"x" * (1 << 20) + b"\r\n\r\n",
    "30,000 headers": OK + b"".join(b"X-%d: 1\r\n" % n for n in range(30_000)) + b"\r\n",
    "a header without a name": OK + b": x\r\n\r\n",
    "a header with NUL": OK + b"X-Name: a\0b\r\nContent-Length: 0\r\n\r\n",
    "a redirect to a file": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
    "a redirect in a circle": b"HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "a thousand times 100 Continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
    "an upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "cookies": OK + b"Set-Cookie: a=b; Domain=.com\r\nContent-Length: 2\r\n\r\n{}",
    "64 MB in 64 kB of gzip": packed(b"gzip", BOMB),
    "64 MB in deflate": packed(b"deflate", zlib.compress(bytes(64 << 20))),
    "gzip that is none": packed(b"gzip", b"{}"),
    "an encoding that nobody asked for": packed(b"x-own", b"{}"),
}


async def ask(answer: Iterable[bytes] | AsyncIterator[bytes]) -> HttpReply:
    """One request to a server that sends these parts, whatever it is asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            if isinstance(answer, AsyncIterator):
                async for part in answer:
                    writer.write(part)
                    await writer.drain()
            else:
                writer.writelines(answer)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    session = HttpSession(f"http://{host}:{port}", Cost(), timeout_seconds=1.0, max_body_bytes=MOST_BYTES)
    try:
        return await session.request("GET", "/api")
    finally:
        await session.close()
        server.close()


def outcome(answer: bytes) -> HttpReply | CollectorError:
    try:
        return asyncio.run(asyncio.wait_for(ask([answer]), 20))
    except CollectorError as error:
        return error


@pytest.mark.parametrize("name", ANSWERS)
def test_any_answer_ends_in_a_reply_or_in_one_line(name: str) -> None:
    given = outcome(ANSWERS[name])
    if isinstance(given, HttpReply):
        assert len(given.body) <= MOST_BYTES
        assert given.status < 1000
    else:
        assert given.failure in (Failure.UNREACHABLE, Failure.UNREADABLE)
        assert "\n" not in str(given)
        assert len(str(given)) < 300


@pytest.mark.parametrize("part", [b"X-Header: x\r\n", b"x"])
def test_an_answer_that_drips_without_end_takes_no_longer_than_the_time_limit(part: bytes) -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield OK if part.endswith(b"\n") else OK + b"\r\n"
        while True:
            yield part
            await asyncio.sleep(0.05)

    with pytest.raises(CollectorError) as caught:
        asyncio.run(asyncio.wait_for(ask(drip()), 20))
    assert caught.value.failure is Failure.UNREACHABLE

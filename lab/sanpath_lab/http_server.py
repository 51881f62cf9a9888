"""A small HTTP/1.1 server: asyncio carries the bytes, h11 knows the protocol, a function answers."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, unquote

import h11

MAX_BODY_BYTES = 1 << 20
_CHUNK_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks. `headers` have names in lower case; `query` has the first value of each parameter."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def cookie(self, name: str) -> str:
        """Return the value of a cookie, "" without one."""
        cookies = SimpleCookie(self.headers.get("cookie", ""))
        return cookies[name].value if name in cookies else ""


@dataclass(frozen=True, slots=True)
class Response:
    """What the server answers."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a JSON document."""
    return Response(json.dumps(value).encode(), status, headers or {})


class HttpServer:
    """Use `await start()`, then `address`; `await stop()` at the end. `answer` is called in the event loop."""

    def __init__(self, answer: Callable[[Request], Response]) -> None:
        self._handler = answer
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, tls: ssl.SSLContext, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0: a free port."""
        self._server = await asyncio.start_server(self._serve, host, port, ssl=tls)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on. Raises RuntimeError before `start`."""
        if self._server is None:
            raise RuntimeError("the server has not been started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def stop(self) -> None:
        """Close the socket and every connection."""
        if self._server is not None:
            self._server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this as a task
        self._connections.add(task)
        http = h11.Connection(h11.SERVER)
        try:
            while (request := await _request(http, reader)) is not None:
                writer.write(b"".join(_sent(http, self._answered(request))))
                await writer.drain()
                if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                    break
                http.start_next_cycle()
        except (OSError, h11.RemoteProtocolError, asyncio.CancelledError):
            pass  # the client is gone or speaks something else, or the server stops
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    def _answered(self, request: Request) -> Response:
        try:
            return self._handler(request)
        except Exception:
            logging.getLogger(__name__).exception("no answer to %s %s", request.method, request.path)
            return Response(status=500)


async def _request(http: h11.Connection, reader: asyncio.StreamReader) -> Request | None:
    """Read the next request; None: the client has closed, or sends too much."""
    head: h11.Request | None = None
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(_CHUNK_BYTES))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            path, _, query = head.target.decode("ascii").partition("?")
            parameters = dict(reversed(parse_qsl(query, keep_blank_values=True)))
            headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
            return Request(head.method.decode("ascii"), unquote(path), parameters, headers, bytes(body))
        else:
            return None
    return None


def _sent(http: h11.Connection, response: Response) -> Iterable[bytes]:
    headers = {"Content-Type": response.content_type, "Content-Length": str(len(response.body)), **response.headers}
    for event in (
        h11.Response(status_code=response.status, headers=list(headers.items())),
        h11.Data(response.body),
        h11.EndOfMessage(),
    ):
        yield http.send(event) or b""

"""One connection of HTTP/1.1: asyncio transports the bytes, h11 implements the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from ssl import SSLContext, SSLObject
from typing import cast

import h11

MAX_HEADER_BYTES = 64 << 10
"""Size limit of a status line with its headers."""
_MAX_UNREAD_BYTES = 1 << 20
"""With so many unparsed bytes, reading from the network pauses."""
_NEXT_ADDRESS_AFTER_SECONDS = 0.25
"""How long one address of a host name is tried before the next (RFC 8305, section 5)."""


class ProtocolError(Exception):
    """A server violated HTTP. The text completes a sentence that begins with the server."""


class HttpConnection(asyncio.Protocol):
    """An open connection, for one request at a time: `send`, then `body`. After an error: `abort`.

    `answered`: whether any byte of an answer to the last request has arrived.
    """

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._transport: asyncio.Transport | None = None
        self._changed: asyncio.Future[None] | None = None
        self._lost = False
        self._error: Exception | None = None
        self._unread_bytes = 0
        self._idle_since: float | None = None
        self.answered = False

    @classmethod
    async def open(cls, host: str, port: int, tls: SSLContext | None) -> HttpConnection:
        """Connect to a server, over TLS if a context is given. Raises OSError, which includes ssl.SSLError."""
        _, connection = await asyncio.get_running_loop().create_connection(
            cls, host, port, ssl=tls, happy_eyeballs_delay=_NEXT_ADDRESS_AFTER_SECONDS
        )
        return connection

    @property
    def certificate(self) -> bytes:
        """The server's certificate, DER; empty without TLS."""
        tls: SSLObject | None = self._transport.get_extra_info("ssl_object") if self._transport else None
        return (tls.getpeercert(binary_form=True) if tls else None) or b""

    @property
    def is_busy(self) -> bool:
        """Whether a request is in progress."""
        return self._idle_since is None

    def is_fresh(self, at_most_seconds: float) -> bool:
        """Whether it is open, and idle for less than `at_most_seconds`."""
        now = asyncio.get_running_loop().time()
        return not self._lost and self._idle_since is not None and now - self._idle_since < at_most_seconds

    async def send(self, method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> h11.Response:
        """Send a request, and return the status and headers of the answer.

        Raises OSError, ProtocolError, and ValueError for a target or header that HTTP cannot carry.
        """
        try:
            events = (h11.Request(method=method, target=target, headers=headers), h11.Data(body), h11.EndOfMessage())
            request = b"".join(self._http.send(event) or b"" for event in events)
        except h11.LocalProtocolError:  # it quotes the header, which may be a secret
            raise ValueError("not allowed in a request") from None
        self._idle_since, self.answered = None, False
        if self._transport is not None:
            self._transport.write(request)
        while not isinstance(event := await self._next_event(), h11.Response):
            pass  # 1xx: the answer follows
        return event

    async def body(self) -> AsyncIterator[bytes]:
        """Read the body of the answer as it arrives. Raises OSError and ProtocolError."""
        while isinstance(event := await self._next_event(), h11.Data):
            yield bytes(event.data)
        if self._http.our_state is self._http.their_state is h11.DONE and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
            self._idle_since = asyncio.get_running_loop().time()
        else:  # the server closes it, or sent more than an answer
            self.abort()

    def abort(self) -> None:
        """Close immediately, without completing an answer or TLS."""
        self._lost = True
        if self._transport is not None:
            self._transport.abort()

    async def _next_event(self) -> h11.Event:
        ended = False
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                text = "closed the connection" if ended else "answered what is not HTTP"
                raise ProtocolError(text) from error
            if event is not h11.NEED_DATA:
                return cast("h11.Event", event)
            ended = await self._wait_for_data()

    async def _wait_for_data(self) -> bool:
        """Wait for more data to parse. Returns True at the end of the connection."""
        self._unread_bytes = 0
        if not self._lost:
            if self._transport is not None:
                self._transport.resume_reading()
            self._changed = asyncio.get_running_loop().create_future()
            try:
                await self._changed
            finally:
                self._changed = None
        if self._unread_bytes:
            return False
        if self._error is not None:
            raise self._error
        self._http.receive_data(b"")
        return True

    # asyncio calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._idle_since = asyncio.get_running_loop().time()

    def data_received(self, data: bytes) -> None:
        """Keep bytes to parse. Unrequested bytes could be mistaken for the next answer: they end the connection."""
        if not self.is_busy:
            self.abort()
            return
        self.answered = True
        self._http.receive_data(data)
        self._unread_bytes += len(data)
        if self._unread_bytes > _MAX_UNREAD_BYTES and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Record that the server sends no more. asyncio then closes the connection."""
        self._lost = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Record that the connection is lost; an error cuts off an answer in progress."""
        self._lost, self._error = True, self._error or error
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

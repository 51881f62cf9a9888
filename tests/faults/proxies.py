"""Faults on the way to a device: proxies that pass on, fall silent, answer late, garble, reset or refuse."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import TypeVar

Address = tuple[str, int]
LOOPBACK = "127.0.0.1"
GARBAGE = bytes(range(256))
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""struct linger, socket(7): on, for no time."""


class Fault(Enum):
    """NONE passes everything on. REFUSED: UDP by ICMP, TCP by a reset of what is open and of what is asked."""

    NONE = auto()
    SILENT = auto()
    LATE = auto()
    GARBAGE = auto()
    REFUSED = auto()


class Proxy(ABC):
    """Stands for `device`. Everything but `address` and `fail` happens in the thread of `_loop`."""

    kind: socket.SocketKind

    def __init__(self, device: Address) -> None:
        self._device = device
        self._fault = Fault.NONE
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        with socket.socket(socket.AF_INET, self.kind) as free:
            free.bind((LOOPBACK, 0))
            self.address: Address = free.getsockname()
        self._call(self._listen())

    def fail(self, fault: Fault) -> None:
        """Behave like this from now on."""
        self._call(self._turn(fault))

    def close(self) -> None:
        self._call(self._stop())
        self._call(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end_tasks(self) -> None:
        """End what still serves a connection: a task that is pending when its loop is gone is reported as lost."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _call(self, work: object) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)  # type: ignore[arg-type]

    async def _turn(self, fault: Fault) -> None:
        before, self._fault = self._fault, fault
        if fault is Fault.REFUSED:
            await self._stop()
        elif before is Fault.REFUSED:
            await self._listen()

    @abstractmethod
    async def _listen(self) -> None: ...

    @abstractmethod
    async def _stop(self) -> None: ...


class UdpProxy(Proxy):
    """For an SNMP agent."""

    kind = socket.SOCK_DGRAM
    late_seconds = 8.0

    async def _listen(self) -> None:
        self._front, _ = await self._loop.create_datagram_endpoint(lambda: _Asked(self), local_addr=self.address)
        self._agent, _ = await self._loop.create_datagram_endpoint(lambda: _Answered(self), remote_addr=self._device)
        self._client: Address | None = None

    async def _stop(self) -> None:
        self._front.close()
        self._agent.close()

    def asked(self, request: bytes, client: Address) -> None:
        self._client = client
        if self._fault is Fault.GARBAGE:
            self._front.sendto(GARBAGE, client)
        elif self._fault is not Fault.SILENT:
            self._agent.sendto(request)

    def answered(self, answer: bytes) -> None:
        delay = self.late_seconds if self._fault is Fault.LATE else 0.0
        self._loop.call_later(delay, self._front.sendto, answer, self._client)


class _Asked(asyncio.DatagramProtocol):
    def __init__(self, proxy: UdpProxy) -> None:
        self._proxy = proxy

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self._proxy.asked(data, addr)


class _Answered(_Asked):
    def datagram_received(self, data: bytes, addr: Address) -> None:  # noqa: ARG002 - the protocol's signature
        self._proxy.answered(data)


class TcpProxy(Proxy):
    """For an HTTPS server: of what is encrypted it can only pass on, hold or replace bytes."""

    kind = socket.SOCK_STREAM

    async def _listen(self) -> None:
        self._open: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._serve, *self.address)

    async def _turn(self, fault: Fault) -> None:
        await super()._turn(fault)
        if fault is Fault.GARBAGE:
            self._reset()  # what is open would go on as it is

    async def _stop(self) -> None:
        self._server.close()
        self._reset()

    def _reset(self) -> None:
        for writer in self._open:
            # OSError: closed by the device a moment ago.
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            writer.transport.abort()
        self._open.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._fault is Fault.GARBAGE:
            writer.write(GARBAGE)
            writer.close()
            return
        self._open.add(writer)
        from_device, to_device = await asyncio.open_connection(*self._device)
        await asyncio.gather(self._pass_on(reader, to_device), self._pass_on(from_device, writer))
        self._open.discard(writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                while self._fault is Fault.SILENT:
                    await asyncio.sleep(0.05)
                writer.write(data)
        writer.close()


P = TypeVar("P", bound=Proxy)


@contextmanager
def standing_for(kind: type[P], device: Address) -> Iterator[P]:
    """A proxy that is gone afterwards."""
    proxy = kind(device)
    try:
        yield proxy
    finally:
        proxy.close()


def unused_port(kind: socket.SocketKind) -> int:
    """A port of 127.0.0.1 where nobody listens."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])

"""GET and GETBULK by gufo-snmp, which encodes messages in Rust: 1/40 of pysnmp's CPU time per value.

It is used only if its answer is certainly the same as pysnmp's. It hides the error status of an answer, does not
distinguish an IpAddress from an OBJECT IDENTIFIER, and panics on some damaged messages: each of these raises
`UnclearError`. It accepts SNMPv3 answers without checking their digest (RFC 3414, section 3.2, step 6), so it is not
used for SNMPv3.
"""

from __future__ import annotations

import asyncio
import fcntl
import re
import struct
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

from gufo.snmp import SnmpVersion, ValueType
from gufo.snmp.aio import SnmpSession

from sanpath.plugin import Cost, SnmpValue
from sanpath.transport.snmp.cached_rows import SilentError, UnclearError

T = TypeVar("T")

_AMBIGUOUS = re.compile(r"\d+\.\d+\.\d+\.\d+|(?:[3-9]|\d\d).*")
"""Four numbers may be an IpAddress; a first number above 2 is 2.48 or above, decoded wrongly by gufo-snmp 0.13."""

_PANIC = "PanicException"  # a BaseException of pyo3 that no module exports


class GufoClient:
    """A client for one agent by SNMP v2c, with one request at a time. Raises UnclearError and SilentError.

    `answered`: whether the agent has answered at least once.
    """

    def __init__(
        self, address: tuple[str, int], community: str, timeout_seconds: float, retries: int, cost: Cost
    ) -> None:
        with _errors_as_unclear():
            self._session = _Session(address, community, timeout_seconds, retries, cost)
        self.answered = False

    async def get(self, oids: list[str]) -> dict[str, SnmpValue]:
        """Read the objects; those that do not exist are left out."""
        with _errors_as_unclear():
            answer = await self._session.get_many(oids)
            self.answered = True
            if not answer:  # no such objects, or an error
                raise UnclearError
        return _unambiguous(answer)

    async def indexes(self, column: str, limit: int, max_repetitions: int) -> list[str]:
        """Read at most `limit` index suffixes of a column in the agent's order, until it ends or repeats."""
        values_by_index, _ = await self._bulk(column, limit, max_repetitions)
        return list(values_by_index)

    async def values(self, column: str, limit: int, max_repetitions: int) -> tuple[dict[str, SnmpValue], bool]:
        """Read values by index, otherwise as `indexes`.

        The second value is False if rows may be missing: an error looks like the end of the view.
        """
        values_by_index, complete = await self._bulk(column, limit, max_repetitions)
        return _unambiguous(values_by_index), complete

    async def _bulk(self, column: str, limit: int, max_repetitions: int) -> tuple[dict[str, ValueType], bool]:
        values_by_index: dict[str, ValueType] = {}
        start, complete = len(column) + 1, True
        with _errors_as_unclear():
            async for oid, value in self._session.getbulk(column, max_repetitions):
                index = oid[start:]
                if index in values_by_index:
                    break
                values_by_index[index] = value
                if len(values_by_index) == limit:
                    break
            else:
                complete = self._session.passed_the_end
            self.answered = True
        return values_by_index, complete


def _unambiguous(values: dict[str, ValueType]) -> dict[str, SnmpValue]:
    for kind in {type(value) for value in values.values()} - {int, bytes}:
        if kind is not str or any(_AMBIGUOUS.fullmatch(v) for v in values.values() if isinstance(v, str)):
            raise UnclearError  # BOOLEAN and REAL have no place in SNMP
    return cast("dict[str, SnmpValue]", values)


@contextmanager
def _errors_as_unclear() -> Iterator[None]:
    try:
        yield
    except (SilentError, UnclearError):
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == _PANIC:
            raise UnclearError from error
        raise


class _Session(SnmpSession):
    """gufo-snmp's session with counted cost, repeated requests, and one deadline for all datagrams of a request.

    `passed_the_end`: whether the last answer to a GETBULK ended with an object after the column.
    """

    def __init__(
        self, address: tuple[str, int], community: str, timeout_seconds: float, retries: int, cost: Cost
    ) -> None:
        super().__init__(*address, community=community, version=SnmpVersion.v2c, timeout=timeout_seconds)
        self._retries, self._cost = retries, cost
        self.passed_the_end = False
        self._request: Callable[[], None] = lambda: None

    async def _send(self, sender: Callable[[], None]) -> None:
        self._request = sender
        self._cost.requests += 1
        with suppress(OSError):  # a closed port or a network that is down counts as no answer
            sender()

    async def _recv(self, receiver: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        for attempt in range(1 + self._retries):
            if attempt:
                await self._send(self._request)
            deadline = loop.time() + self._timeout
            with suppress(OSError):  # includes TimeoutError; a lasting refusal is reported again to the next attempt
                return await self._answer(receiver, deadline)
            await asyncio.sleep(deadline - loop.time())
        raise SilentError

    async def _answer(self, receiver: Callable[[], T], deadline: float) -> T:
        loop = asyncio.get_running_loop()
        while True:
            ready = loop.create_future()
            loop.add_reader(self._fd, _wake, ready)
            timer = loop.call_at(deadline, _wake, ready)
            try:
                await ready
            finally:
                loop.remove_reader(self._fd)
                timer.cancel()
            (waiting_bytes,) = struct.unpack("i", fcntl.ioctl(self._fd, termios.FIONREAD, b"\0\0\0\0"))
            self.passed_the_end = False
            try:
                answer = receiver()
            except BlockingIOError:  # nothing, or only answers to earlier requests
                if loop.time() >= deadline:
                    raise
                continue
            except StopAsyncIteration:
                self._cost.bytes_in += waiting_bytes
                raise
            self._cost.bytes_in += waiting_bytes
            self.passed_the_end = isinstance(answer, list) and answer[-1] is None
            return answer


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)

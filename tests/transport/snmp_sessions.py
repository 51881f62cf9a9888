"""Sessions with an agent on 127.0.0.1, in a loop of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import SecretStr

from sanpath.plugin import CollectorError, Cost, Failure, Snmp, SnmpCredentials, SnmpValue
from sanpath.transport.snmp.fast_session import FastSession
from sanpath.transport.snmp.session import PysnmpSession

T = TypeVar("T")
Rows = dict[str, dict[str, SnmpValue]]


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


def credentials(port: int, timeout_seconds: float = 5.0, retries: int = 1) -> SnmpCredentials:
    return SnmpCredentials("127.0.0.1", port, SecretStr("public"), timeout_seconds, retries)


def by_both(who: SnmpCredentials, scene: Callable[[Snmp], Awaitable[T]], cost: Cost | None = None) -> T:
    """What a session with the fast client makes of a scene."""
    return _played(FastSession(who, WallClock(), cost or Cost()), scene)


def by_pysnmp(who: SnmpCredentials, scene: Callable[[Snmp], Awaitable[T]], cost: Cost | None = None) -> T:
    """What pysnmp alone makes of it."""
    return _played(PysnmpSession(who, WallClock(), cost or Cost()), scene)


def _played(session: Snmp, scene: Callable[[Snmp], Awaitable[T]]) -> T:
    async def play() -> T:
        try:
            return await scene(session)
        finally:
            await session.close()

    return asyncio.run(play())


def without_times(rows: Rows) -> list[tuple[str, dict[str, SnmpValue]]]:
    """The rows in their order; "seen" has to be there."""
    timeless = []
    for index, row in rows.items():
        assert isinstance(row["seen"], int)
        timeless.append((index, {key: value for key, value in row.items() if key != "seen"}))
    return timeless


async def outcome(asked: Awaitable[Rows]) -> object:
    """The rows, or the failure and what is said of it."""
    try:
        return without_times(await asked)
    except CollectorError as error:
        failure: Failure = error.failure
        return failure, str(error)

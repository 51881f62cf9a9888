"""A deadline that counts from the last received data, so that a long answer does not time out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sanpath.plugin import Cost

_CHECK_SECONDS = 1.0


@asynccontextmanager
async def while_answering(cost: Cost, silent_seconds: float, limit_seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError when, by `cost`, nothing has arrived for `silent_seconds`, or after `limit_seconds`.

    `cost` is checked every second: silence is detected at most a second late, and never early.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(max(silent_seconds, limit_seconds)) as deadline:

        async def watch() -> None:
            bytes_before, since = cost.bytes_in, loop.time()
            while loop.time() - since < silent_seconds:
                await asyncio.sleep(min(_CHECK_SECONDS, silent_seconds))
                if cost.bytes_in != bytes_before:
                    bytes_before, since = cost.bytes_in, loop.time()
            if not deadline.expired():
                deadline.reschedule(loop.time())

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()

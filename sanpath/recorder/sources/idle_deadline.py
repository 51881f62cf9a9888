"""A deadline that counts from the last answer: what takes long because there is much to read is no silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sanpath.plugin import Cost

_LOOK_SECONDS = 1.0


@asynccontextmanager
async def while_answering(cost: Cost, silent_seconds: float, at_most_seconds: float) -> AsyncIterator[None]:
    """Raises TimeoutError when by `cost` nothing has arrived for `silent_seconds`, or after `at_most_seconds`.

    What has arrived is looked at each second: silence is noticed a second late at most, and never early.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(max(silent_seconds, at_most_seconds)) as deadline:

        async def listen() -> None:
            heard, since = cost.bytes_in, loop.time()
            while loop.time() - since < silent_seconds:
                await asyncio.sleep(min(_LOOK_SECONDS, silent_seconds))
                if cost.bytes_in != heard:
                    heard, since = cost.bytes_in, loop.time()
            if not deadline.expired():
                deadline.reschedule(loop.time())

        listening = asyncio.create_task(listen())
        try:
            yield
        finally:
            listening.cancel()

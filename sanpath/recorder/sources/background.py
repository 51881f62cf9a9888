"""Work that may take long, beside the loop: one hostile input must not hold the polls of all sources."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_background(work: Callable[[], T], seconds: float) -> T:
    """What `work` returns. Raises what it raises, and TimeoutError when it has not ended after `seconds`: then it is
    left alone, in a thread that does not hold the end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return  # Too late.
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # None only if that is what work returns

    def run() -> None:
        result, failed = None, None
        try:
            result = work()
        except Exception as error:  # handed to whoever waits for it
            failed = error
        with contextlib.suppress(RuntimeError):  # The loop has ended.
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wait_for(done, seconds)

"""Runs slow work outside the event loop: a hostile input must not delay the polls of all sources."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

ResultT = TypeVar("ResultT")


async def run_in_background(work: Callable[[], ResultT], seconds: float) -> ResultT:
    """Run `work` in a thread and return its result.

    Raises its exceptions, or TimeoutError if it has not ended after `seconds`. Then it continues in a daemon thread,
    which does not delay the end of the process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[ResultT] = loop.create_future()

    def set_result(result: ResultT | None, error: BaseException | None) -> None:
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
        except Exception as error:  # re-raised in the caller
            failed = error
        with contextlib.suppress(RuntimeError):  # The loop has ended.
            loop.call_soon_threadsafe(set_result, result, failed)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wait_for(done, seconds)

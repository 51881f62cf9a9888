"""An event loop that is kept from input to input: a new one costs more than many inputs take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch


def run(asked: Coroutine[Any, Any, object]) -> None:
    """Run it to its end, and end the tasks that it has left, as asyncio.run does. Raises what it raises."""
    loop = _loop()
    try:
        loop.run_until_complete(asked)
    finally:
        if left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


@contextmanager
def without_threads() -> Iterator[None]:
    """What would block runs in the loop, and what it asks of the loop meanwhile is answered at once: to pass each
    request of an SDK to a thread and back takes more than all that is tried."""
    with patch("asyncio.to_thread", _here), patch("asyncio.run_coroutine_threadsafe", _at_once):
        yield


async def _here(work: Callable[..., object], *arguments: object) -> object:
    return work(*arguments)


@dataclass(frozen=True, slots=True)
class _at_once:  # noqa: N801 - takes the place of a function
    """The outcome of what waits for nothing. A Future has a lock, which costs more than a recorded answer."""

    asked: Coroutine[Any, Any, object]
    loop: asyncio.AbstractEventLoop

    def result(self) -> object:
        """Raises what it raises."""
        try:
            self.asked.send(None)
        except StopIteration as ended:
            return ended.value
        raise RuntimeError("a recorded answer has to be waited for")

"""Waits for the first of several awaitables."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def sleep(seconds: float | None) -> None:
    """Sleep for some seconds; None: forever."""
    await asyncio.sleep(seconds if seconds is not None else float("inf"))


async def either(*awaitables: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> None:
    """Wait until the first awaitable is done, and cancel the others except shielded ones."""
    tasks = [asyncio.ensure_future(wait) for wait in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

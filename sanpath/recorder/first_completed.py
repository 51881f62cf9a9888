"""Waiting for the first of several things."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def sleep(seconds: float | None) -> None:
    """None: for ever."""
    await asyncio.sleep(seconds if seconds is not None else float("inf"))


async def either(*waits: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> None:
    """Until the first of them is done; the others are cancelled, but for what is shielded."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()

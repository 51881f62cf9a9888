"""A source that answers in part and then hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from behaved_sources import Source, spec
from sanpath.plugin import Context, Item

COLLECTOR = spec("hanging", "Hanging")


class Hanging(Source):
    """Gives its port and never ends; logging out hangs too."""

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        async for item in super().poll(ctx):
            yield item
        await asyncio.Event().wait()

    async def close(self) -> None:
        await asyncio.Event().wait()

"""A source whose SDK blocks its thread for ever."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator

from behaved_sources import Source, spec
from sanpath.plugin import Context, Item

COLLECTOR = spec("blocking", "Blocking")


class Blocking(Source):
    """Answers once."""

    runs_in = "thread"
    _polls = 0

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        self._polls += 1
        if self._polls > 1:
            threading.Event().wait()
        async for item in super().poll(ctx):
            yield item

"""A source with a defect."""

from __future__ import annotations

from collections.abc import AsyncIterator

from behaved_sources import PORT, Source, spec
from sanpath.plugin import Context, Item, Rows

COLLECTOR = spec("failing", "Failing")


class Failing(Source):
    """Yields rows that cannot be recorded, then fails."""

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        yield Rows(PORT, ["p1"], [ctx.clock.now_us()], {"link_up": ["up"]})  # type: ignore[list-item]
        raise ZeroDivisionError("a defect")

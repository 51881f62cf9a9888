"""Somebody else's collectors, found by entry point: one that works, and three that do not each in their own way."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sanpath.plugin import (
    Check,
    Collector,
    Column,
    Context,
    Item,
    Rows,
    SourceConfig,
    SourceEntity,
    SourceLink,
    Spec,
    Table,
)

PORT = Table("switch_port", (Column("link_up"),))


class Source(Collector[SourceConfig]):
    """Has one port."""

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002
        return Check("a test")

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002
        yield SourceEntity("switch_port", "p1", "p1")

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        yield Rows(PORT, ["p1"], [ctx.clock.now_us()], {"link_up": [1]})


def spec(name: str, of_class: str) -> Spec:
    """What a module exports as COLLECTOR."""
    where = f"behaved_sources.{name}:{of_class}"
    return Spec(name=name, title=f"{name}, for a test", tables=(PORT,), config=SourceConfig, collector=where)

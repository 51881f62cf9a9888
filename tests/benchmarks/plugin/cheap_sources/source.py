"""Has 48 ports with traffic."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from cheap_sources import PORT
from sanpath.plugin import Check, Collector, Context, Item, Rows, SourceConfig, SourceEntity, SourceLink

DECODE_SECONDS = 0.003
PORTS = [str(number) for number in range(48)]


class Cheap(Collector[SourceConfig]):
    """Its counters are the time."""

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002
        return Check("a benchmark")

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002
        for port in PORTS:
            yield SourceEntity("switch_port", port, port)

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        until = time.perf_counter() + DECODE_SECONDS
        while time.perf_counter() < until:
            pass
        seen = ctx.clock.now_us()
        count = len(PORTS)
        octets = [seen * 100] * count
        yield Rows(
            PORT, PORTS, [seen] * count, {"link_up": [1] * count, "bytes_rx_total": octets, "bytes_tx_total": octets}
        )

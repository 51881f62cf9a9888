"""Sources in virtual time: a loop whose clock jumps to the next timer, so that an hour of polls takes a moment."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from sanpath.model import Event, Poll
from sanpath.plugin import (
    Check,
    Collector,
    Column,
    Context,
    Cost,
    Item,
    Rows,
    SourceConfig,
    SourceEntity,
    SourceLink,
    Table,
)
from sanpath.recorder.sink import Sink
from sanpath.recorder.sources.source import Source
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.writer import Writer
from sanpath.transport.live_context import LiveContext

SECOND = 1_000_000
PORT = Table("switch_port", (Column("link_up"),))
START_US = 1_800_000_000 * SECOND


class JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for a timer it moves the clock; other threads are waited for as ever."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time` starts at 0 and costs nothing."""

    def __init__(self) -> None:
        self.virtual = JumpingSelector()
        super().__init__(self.virtual)

    def time(self) -> float:
        return self.virtual.now


@dataclass
class VirtualClock:
    loop: VirtualLoop

    def now_us(self) -> int:
        return START_US + round(self.loop.time() * SECOND)


@dataclass
class Scripted(Collector[SourceConfig]):
    """A collector that does at each poll what `act` says of the number of the poll, and for an inventory `look`."""

    act: Callable[[int], AsyncIterator[Item]]
    look: Callable[[Context], Awaitable[None]] | None = None
    opened: int = 0
    closed: int = 0
    polls: int = 0
    inventories: int = 0

    async def open(self, ctx: Context) -> None:  # noqa: ARG002
        self.opened += 1

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002
        return Check("a test")

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:
        self.inventories += 1
        if self.look is not None:
            await self.look(ctx)
        yield SourceEntity("switch_port", "p1", "p1")

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:  # noqa: ARG002
        self.polls += 1
        async for item in self.act(self.polls):
            yield item

    async def close(self) -> None:
        self.closed += 1


def row(value: float = 1) -> Rows:
    return Rows(PORT, ["p1"], [START_US], {"link_up": [value]})


async def answers(_number: int) -> AsyncIterator[Item]:
    yield row()


@dataclass
class Account:
    """What was recorded."""

    recording: Recording
    collectors: dict[str, Scripted] = field(default_factory=dict)

    def polls(self, source: str, *outcomes: str) -> list[Poll]:
        return [p for p in self.recording.polls() if p.source == source and (not outcomes or p.outcome in outcomes)]

    def seconds(self, source: str) -> list[float]:
        """When each poll of a source was begun, from its first on."""
        begun = [p.started for p in self.polls(source, "ok", "partial", "failed")]
        return [(started - begun[0]) / SECOND for started in begun]

    def events(self, source: str) -> list[Event]:
        return [event for name, event in self.recording.events() if name == source]


def record(
    folder: Path,
    seconds: float,
    every_seconds: float = 1.0,
    fill: Callable[[Sink], None] | None = None,
    load_ends: float | None = None,
    look: Callable[[Context], Awaitable[None]] | None = None,
    **acts: Callable[[int], AsyncIterator[Item]],
) -> Account:
    """Run a source for each of `acts` beside each other for so many seconds of virtual time. `load_ends`: seconds
    after which the load has; `look`: what each source's inventory waits for."""
    layout.create(folder)
    writer = Writer(folder, "test.1")
    collectors = {name: Scripted(act, look) for name, act in acts.items()}

    async def run(clock: VirtualClock) -> None:
        def context(cost: Cost) -> Context:
            return LiveContext(clock, cost)

        sink, stop = Sink(writer), asyncio.Event()
        if fill is not None:
            fill(sink)
        sources = [
            Source(_config(name, every_seconds), collector, context, clock, sink)
            for name, collector in collectors.items()
        ]
        running = [asyncio.create_task(source.run(clock.now_us(), stop)) for source in sources]
        started = clock.now_us()
        await asyncio.sleep(seconds)
        for source in sources:
            if load_ends is not None:
                source.load_ended(started + round(load_ends * SECOND))
        stop.set()
        await asyncio.wait(running)
        await sink.flush()
        assert not sink.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        runner.run(run(VirtualClock(loop)))
    writer.close()
    return Account(Recording(folder), collectors)


def _config(name: str, every_seconds: float) -> SourceConfig:
    return SourceConfig(name=name, collector="scripted", every_seconds=every_seconds)

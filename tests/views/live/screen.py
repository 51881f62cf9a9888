"""The live view on a terminal of a given size, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from textual.geometry import Region
from textual.pilot import Pilot

from sanpath.views.live.app import Canvas, LiveView, PulseFeed
from sanpath.views.live.reading.snapshot import Snapshot


class Film:
    """A feed that gives these snapshots one after the other, and then none."""

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self._snapshots = list(snapshots)
        self.given, self.closed = 0, False
        self.marked: list[str] = []
        self.refused = ""
        self.wanted = asyncio.Semaphore(1)

    async def snapshot(self) -> Snapshot:
        await self.wanted.acquire()
        if not self._snapshots:
            await asyncio.Event().wait()
        self.given += 1
        return self._snapshots.pop(0)

    async def mark(self, text: str) -> str:
        self.marked.append(text)
        return self.refused

    async def close(self) -> None:
        self.closed = True


class Shown:
    """The application, and what a person sees of it."""

    def __init__(self, app: LiveView, pilot: Pilot[None], film: Film) -> None:
        self.app, self.pilot, self.film = app, pilot, film

    def lines(self) -> list[str]:
        canvas = self.app.query_one(Canvas)
        return [strip.text for strip in canvas.render_lines(Region(0, 0, *canvas.size))]

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines())

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return self.text()

    async def resize(self, width: int, height: int) -> str:
        await self.pilot.resize_terminal(width, height)
        await self.pilot.pause()
        return self.text()

    async def next(self) -> str:
        """Let the next snapshot come."""
        given = self.film.given
        self.film.wanted.release()
        while self.film.given == given:
            await self.pilot.pause(0.01)
        await self.pilot.pause()
        return self.text()


@asynccontextmanager
async def showing(
    *snapshots: Snapshot,
    size: tuple[int, int] = (80, 24),
    ended: Callable[[], bool] | None = None,
    interrupt: Callable[[], None] | None = None,
    pulse_feed: PulseFeed | None = None,
    begin: Callable[[], None] | None = None,
    hint: str = "",
) -> AsyncIterator[Shown]:
    """The application after its first snapshot."""
    film = Film(snapshots)
    app = LiveView(film, ended, interrupt, pulse_feed and (lambda: pulse_feed), begin, hint)
    async with app.run_test(size=size) as pilot:
        shown = Shown(app, pilot, film)
        while snapshots and film.given == 0:
            await pilot.pause(0.01)
        await pilot.pause()
        yield shown


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Run one scene."""

    async def run() -> None:
        await scene()

    asyncio.run(run())

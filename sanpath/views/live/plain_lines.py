"""`python -m sanpath.views.live.plain_lines FOLDER [CHOICE]`: plain lines about a growing recording, on stdout.

They follow the pulse, which costs next to nothing; what judges is the reader, a process that gives way to everybody.
It ends when standard input closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping

from sanpath.pulse.viewer import Viewer
from sanpath.recording.storage.store import Location, location
from sanpath.rulebook.site import Choice
from sanpath.views.live.cursor import Cursor
from sanpath.views.live.reading.feed import Feed, ReaderProcess
from sanpath.views.live.reading.shown_verdict import Steady, told_by
from sanpath.views.live.reading.snapshot import Look
from sanpath.views.progress import beat, every_seconds, line, verdict

_BEGIN_SECONDS = 0.2
"""How often it is looked for the first thing that can be said."""


class Lines:
    """Says a line every few seconds, and one at once when the verdict becomes another one."""

    def __init__(self, feed: Feed, viewer: Viewer, tell: Callable[[str], None], seconds: float) -> None:
        self._feed, self._viewer, self._tell, self._seconds = feed, viewer, tell, seconds
        self._look: Look | None = None
        self._steady = Steady()
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Until every writer has ended, or its recorder has gone without a word, or it is cancelled."""
        tasks = [asyncio.create_task(self._viewer.run()), asyncio.create_task(self._judge())]
        try:
            while not self._over.is_set():
                said = self._line()
                if said:
                    self._tell(said)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), self._seconds if said else _BEGIN_SECONDS)
            if self._look is not None:
                self._tell(_judged(self._look))
        finally:
            for task in tasks:
                task.cancel()
            await self._feed.close()

    async def _judge(self) -> None:
        while True:
            seen = await self._feed.look()
            if seen.diagnosis is not None or self._look is None:
                self._take(seen)
            if seen.ended or seen.silent:
                self._over.set()
                return
            await asyncio.sleep(seen.pause_seconds)

    def _take(self, seen: Look) -> None:
        before, self._look = self._steady, seen
        if seen.diagnosis is None or seen.ended:
            return
        self._steady = before.take(told_by(seen.diagnosis, Cursor()))
        if self._steady.before is not None and self._steady.before is not before.before and self._steady.shown:
            self._tell(f"sanpath: {verdict(self._steady.shown.step)}; was {verdict(self._steady.before.step)}")

    def _line(self) -> str:
        pulse = self._viewer.pulse()
        if pulse is not None:
            return beat(pulse, self._look.diagnosis if self._look is not None else None)
        return _judged(self._look) if self._look is not None and self._look.diagnosis is not None else ""


def _judged(seen: Look) -> str:
    return line(seen.diagnosis) if seen.diagnosis is not None else f"sanpath: {seen.failure}"


async def tell(
    folder: Location, choice: Choice, environment: Mapping[str, str], until_input_closes: bool = False
) -> None:
    """Print lines until there are no more, or nobody wants them. `environment`: of the process that judges."""
    words = (str(folder), *choice.words())
    feed = ReaderProcess((sys.executable, "-P", "-m", "sanpath.views.live.reading.reader", *words), environment)
    lines = Lines(feed, Viewer(folder), lambda said: print(said, flush=True), every_seconds(sys.stdout))
    running, loop = asyncio.create_task(lines.run()), asyncio.get_running_loop()

    def end() -> None:
        # Once: a closed input is reported again and again, and a second cancellation would interrupt the clean-up,
        # in which the reader process is waited for.
        if not running.cancelling():
            running.cancel()

    loop.add_signal_handler(signal.SIGTERM, end)
    if until_input_closes:
        loop.add_reader(sys.stdin.fileno(), end)
    with contextlib.suppress(asyncio.CancelledError):
        await running


if __name__ == "__main__":
    asyncio.run(tell(location(sys.argv[1]), Choice.of(sys.argv[2:]), os.environ, until_input_closes=True))

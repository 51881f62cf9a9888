"""`python -m sanpath.views.live.plain_lines FOLDER [CHOICE]`: plain lines about a growing recording, on stdout.

They follow the pulse, which costs almost no processor time. A separate process with a lower priority judges. It ends
when standard input closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sanpath.pulse.viewer import Viewer
from sanpath.recording.storage.store import Location, location
from sanpath.rulebook.site.options import Choice
from sanpath.views.live.cursor import Cursor
from sanpath.views.live.reading.feed import ReaderProcess, SnapshotFeed
from sanpath.views.live.reading.pace import Pace
from sanpath.views.live.reading.shown_verdict import DebouncedVerdict, verdict_of
from sanpath.views.progress import every_seconds, line, pulse_line, verdict

if TYPE_CHECKING:
    from sanpath.views.live.reading.snapshot import Snapshot

_BEGIN_SECONDS = 0.2
"""How often to check whether the first line can be printed."""


class Lines:
    """Prints a line every few seconds, and immediately when the verdict changes."""

    def __init__(self, feed: SnapshotFeed, viewer: Viewer, write: Callable[[str], None], seconds: float) -> None:
        self._feed, self._viewer, self._write, self._seconds = feed, viewer, write, seconds
        self._snapshot: Snapshot | None = None
        self._verdict = DebouncedVerdict()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Print until every writer has ended, its recorder has died, or the task is cancelled."""
        tasks = [asyncio.create_task(self._viewer.run()), asyncio.create_task(self._judge())]
        try:
            while not self._ended.is_set():
                text = self._line()
                if text:
                    self._write(text)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), self._seconds if text else _BEGIN_SECONDS)
            if self._snapshot is not None:
                self._write(_diagnosis_line(self._snapshot))
        finally:
            for task in tasks:
                task.cancel()
            await self._feed.close()

    async def _judge(self) -> None:
        pace = Pace(self._viewer.pulse)
        while True:
            snapshot = await self._feed.snapshot()
            if snapshot.diagnosis is not None or self._snapshot is None:
                self._take(snapshot)
            if snapshot.ended or snapshot.silent:
                self._ended.set()
                return
            await pace.wait(snapshot, self._verdict)

    def _take(self, snapshot: Snapshot) -> None:
        before, self._snapshot = self._verdict, snapshot
        if snapshot.diagnosis is None or snapshot.ended:
            return
        self._verdict = before.update(verdict_of(snapshot.diagnosis, Cursor()))
        shown, previous = self._verdict.shown, self._verdict.previous
        if previous is not None and previous is not before.previous and shown is not None:
            self._write(f"sanpath: {verdict(shown.step)}; was {verdict(previous.step)}")

    def _line(self) -> str:
        diagnosis = self._snapshot.diagnosis if self._snapshot is not None else None
        if (pulse := self._viewer.pulse()) is not None:
            return pulse_line(pulse, diagnosis)
        return line(diagnosis) if diagnosis is not None else ""


def _diagnosis_line(snapshot: Snapshot) -> str:
    return line(snapshot.diagnosis) if snapshot.diagnosis is not None else f"sanpath: {snapshot.failure}"


async def print_lines(
    folder: Location, choice: Choice, environment: Mapping[str, str], until_input_closes: bool = False
) -> None:
    """Print lines until the recording ends or SIGTERM arrives; with `until_input_closes` also until stdin closes.
    `environment`: of the reader process."""
    arguments = (str(folder), *choice.arguments())
    feed = ReaderProcess((sys.executable, "-P", "-m", "sanpath.views.live.reading.reader", *arguments), environment)
    lines = Lines(feed, Viewer(folder), lambda text: print(text, flush=True), every_seconds(sys.stdout))
    running, loop = asyncio.create_task(lines.run()), asyncio.get_running_loop()

    def end() -> None:
        # Only once: a closed input is reported repeatedly, and a second cancellation would interrupt the clean-up
        # that waits for the reader process.
        if not running.cancelling():
            running.cancel()

    loop.add_signal_handler(signal.SIGTERM, end)
    if until_input_closes:
        loop.add_reader(sys.stdin.fileno(), end)
    with contextlib.suppress(asyncio.CancelledError):
        await running


if __name__ == "__main__":
    asyncio.run(
        print_lines(location(sys.argv[1]), Choice.from_arguments(sys.argv[2:]), os.environ, until_input_closes=True)
    )

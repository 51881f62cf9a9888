"""Everything that is recorded goes through here: taken in any thread at once, written by one thread."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import duckdb

from sanpath.model import Event, Poll, Rows, Thing, Tie
from sanpath.plugin import Item
from sanpath.recording.write import Writer

FLUSH_SECONDS = 5.0
FLUSH_ROWS = 20_000
FULL_ROWS = 200_000
"""Rows that may wait. Above it no poll is started: a gap with a reason, instead of rows the device has paid for."""


class Sink:
    """The recorder's end of the writer. `take` is safe from any thread; the rest belongs to the recorder's loop."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._pending: list[Callable[[], None]] = []
        self._rows = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._hurry = asyncio.Event()
        self._failed = ""

    @property
    def full(self) -> bool:
        """Whether too much waits to start another poll."""
        return self._rows + self._writer.rows_waiting > FULL_ROWS

    def take(self, source: str, seen: int, item: Item | Poll) -> None:
        """Take one thing to be recorded."""
        match item:
            case Rows():
                action = partial(self._writer.samples, source, item)
                self._rows += len(item.entity)
            case Thing() | Tie():
                action = partial(self._writer.inventory, source, seen, item)
                self._rows += 1
            case Event():
                action = partial(self._writer.event, source, item)
                self._rows += 1
            case Poll():
                action = partial(self._writer.poll, item)
                self._rows += 1
        self._pending.append(action)
        if self._rows > FLUSH_ROWS:
            self._hurry.set()

    async def run(self) -> None:
        """Flush every few seconds until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), FLUSH_SECONDS)
            self._hurry.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write what waits. What cannot be written (disk full) waits on; it is said once."""
        pending, self._pending, self._rows = self._pending, [], 0
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._apply, pending)
        except (OSError, duckdb.Error) as error:
            if not self._failed:
                print(
                    f"sanpath: cannot write the recording, {self._writer.rows_waiting} rows wait: {error}",
                    file=sys.stderr,
                )
            self._failed = str(error)
            return
        self._failed = ""

    def close(self) -> str:
        """End the writer's thread. Returns why the last flush failed, "" if it did not."""
        self._thread.shutdown()
        return self._failed

    def _apply(self, pending: list[Callable[[], None]]) -> None:
        for action in pending:
            action()
        self._writer.flush()

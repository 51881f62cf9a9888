"""Everything that is recorded goes through here: taken in any thread at once, written by one thread."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import duckdb

from sanpath.model import Event, Poll, Rows, SourceEntity, SourceLink
from sanpath.plugin import Item
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.writing.clock import CLOCK_JUMP, RecorderClock
from sanpath.recording.writing.writer import Writer

FLUSH_SECONDS = 5.0
FLUSH_ROWS = 20_000
FULL_ROWS = 200_000
"""Rows that may wait. Above it no poll is started: a gap with a reason, instead of rows the device has paid for."""
LOST_ROWS = 2 * FULL_ROWS
"""Above it nothing is taken any more: the load talks on, and every gap has to be accounted for."""

Taken = tuple[str, int, Item | Poll]


class Sink:
    """The recorder's end of the writer, made in the recorder's loop. Only `take` is safe from any thread.

    `clock`: looked at before each flush, so that a jump of the wall clock is recorded. None: it is not. `also`: is
    given everything at once, in the thread that gives it, and must neither wait nor fail. None: nobody is.
    """

    def __init__(
        self,
        writer: Writer,
        clock: RecorderClock | None = None,
        also: Callable[[str, Item | Poll], None] | None = None,
    ) -> None:
        self._writer, self._clock, self._also = writer, clock, also
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._pending: list[Taken] = []
        self._rows = self._lost = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._hurry = asyncio.Event()
        self._failed = ""

    @property
    def waiting(self) -> int:
        """Rows that were taken and are not written, those that were lost among them."""
        return self._rows + self._writer.rows_waiting + self._lost

    @property
    def full(self) -> bool:
        """Whether too much waits to start another poll."""
        return self._rows + self._writer.rows_waiting > FULL_ROWS

    def take(self, source: str, seen: int, item: Item | Poll) -> None:
        """Take one thing to be recorded."""
        rows = len(item.entity) if isinstance(item, Rows) else 1
        if self._also is not None:
            self._also(source, item)
        with self._lock:
            if self._rows + self._writer.rows_waiting > LOST_ROWS:
                self._lost += rows
                return
            self._pending.append((source, seen, item))
            self._rows += rows
            many = self._rows > FLUSH_ROWS
        if many:
            # A blocking source may come back from its SDK when the loop has ended.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._hurry.set)

    async def run(self) -> None:
        """Flush every few seconds until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), FLUSH_SECONDS)
            self._hurry.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write what waits. What cannot be written (disk full) waits on; it is said once."""
        self._look_at_clock()
        try:
            await self._loop.run_in_executor(self._thread, self._apply, self._swap())
        except (OSError, duckdb.Error) as error:
            if not self._failed:
                waiting = f"{self._writer.rows_waiting} rows wait"
                with contextlib.suppress(OSError):  # The terminal may have gone.
                    print(f"sanpath: cannot write the recording, {waiting}: {reason(error)}", file=sys.stderr)
            self._failed = reason(error)
            return
        failed, self._failed = self._failed, ""
        self._tell_lost(failed)

    def flush_at_once(self, seconds: float) -> None:
        """Write what waits, for at most `seconds`, while the loop stands still: for an end at once."""
        with contextlib.suppress(OSError, duckdb.Error, TimeoutError):
            self._thread.submit(self._apply, self._swap()).result(seconds)

    def close(self) -> str:
        """End the writer's thread. Returns why the last flush failed, "" if it did not."""
        self._thread.shutdown()
        return self._failed

    def _look_at_clock(self) -> None:
        if self._clock is not None and (jump := self._clock.jump_seconds()) is not None:
            now = self._clock.now_us()
            self.take(RECORDER, now, Event(now, CLOCK_JUMP, {"seconds": round(jump, 3)}))

    def _tell_lost(self, failed: str) -> None:
        """Record what came of a time when nothing could be written."""
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            self._warn(f"{lost} rows were lost: the recording could not be written for too long")
        elif failed:
            self._warn(f"the recording could not be written for a while, and is whole: {failed}")

    def _warn(self, text: str) -> None:
        if self._clock is not None:
            now = self._clock.now_us()
            self.take(RECORDER, now, Event(now, "data-warning", {"text": text}))

    def _swap(self) -> list[Taken]:
        with self._lock:
            pending, self._pending, self._rows = self._pending, [], 0
        return pending

    def _apply(self, pending: list[Taken]) -> None:
        for source, seen, item in pending:
            try:
                self._write(source, seen, item)
            except Exception as error:  # a defect in one collector must not cost the rows of the others
                message = f"could not be recorded: {type(error).__name__}: {error}"[:300]
                self._writer.poll(Poll(source, seen, seen, seen, "failed", "defect", message))
        self._writer.flush()

    def _write(self, source: str, seen: int, item: Item | Poll) -> None:
        match item:
            case Rows():
                self._writer.samples(source, item)
            case SourceEntity() | SourceLink():
                self._writer.inventory(source, seen, item)
            case Event():
                self._writer.event(source, item)
            case Poll():
                self._writer.poll(item)
            case _:
                raise TypeError(f"a collector yields no {type(item).__name__}")


def reason(error: Exception) -> str:
    """Why something could not be written, in one line: DuckDB wraps what the system said into JSON."""
    wrapped = re.search(r'"exception_message":("(?:[^"\\]|\\.)*")', str(error))
    text = str(json.loads(wrapped[1])) if wrapped else str(error)
    return text.partition("\n")[0]

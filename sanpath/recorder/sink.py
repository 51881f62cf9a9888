"""The queue of everything that is recorded: any thread may add to it, one thread writes."""

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
from sanpath.units import counted

FLUSH_SECONDS = 5.0
"""How often rows are written: a crash loses about this much."""
FLUSH_ROWS = 20_000
"""Number of rows that are written immediately, without waiting for that time."""
FULL_ROWS = 200_000
"""Pending rows from which no further poll is started: a gap with a reason costs the device nothing."""
LIMIT_ROWS = 2 * FULL_ROWS
"""Pending rows from which all new rows are dropped and counted: the load's output cannot be stopped."""

PendingItem = tuple[str, int, Item | Poll]


class Sink:
    """Queues items for the writer. It is created in the recorder's loop; only `take` may be called from any thread.

    `clock` is checked before each flush, so that a jump of the wall clock is recorded; None: it is not checked.
    `observer` receives every item at once, in the calling thread; it must neither block nor fail. None: no observer.
    """

    def __init__(
        self,
        writer: Writer,
        clock: RecorderClock | None = None,
        observer: Callable[[str, Item | Poll], None] | None = None,
    ) -> None:
        self._writer, self._clock, self._observer = writer, clock, observer
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._pending: list[PendingItem] = []
        self._rows = self._lost = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._flush_now = asyncio.Event()
        self._failed = ""

    @property
    def waiting(self) -> int:
        """Rows that were taken but not written, including lost ones."""
        return self._rows + self._writer.rows_waiting + self._lost

    @property
    def full(self) -> bool:
        """Whether so many rows are pending that no further poll may start."""
        return self._rows + self._writer.rows_waiting > FULL_ROWS

    def take(self, source: str, seen_us: int, item: Item | Poll) -> None:
        """Queue an item, seen at `seen_us` in microseconds of the recorder's clock."""
        rows = len(item.entity) if isinstance(item, Rows) else 1
        if self._observer is not None:
            self._observer(source, item)
        with self._lock:
            if self._rows + self._writer.rows_waiting > LIMIT_ROWS:
                self._lost += rows
                return
            self._pending.append((source, seen_us, item))
            self._rows += rows
            is_large = self._rows > FLUSH_ROWS
        if is_large:
            # A blocking source may return from its SDK after the loop has ended.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._flush_now.set)

    async def run(self) -> None:
        """Flush every few seconds until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._flush_now.wait(), FLUSH_SECONDS)
            self._flush_now.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write the pending rows. If that fails (disk full), they remain pending; the failure is reported once."""
        self._check_clock()
        try:
            await self._loop.run_in_executor(self._thread, self._write_pending, self._take_pending())
        except (OSError, duckdb.Error) as error:
            if not self._failed:
                waiting = f"{self._writer.rows_waiting} rows wait"
                with contextlib.suppress(OSError):  # The terminal may have been closed.
                    print(f"sanpath: cannot write the recording, {waiting}: {error_text(error)}", file=sys.stderr)
            self._failed = error_text(error)
            return
        failed, self._failed = self._failed, ""
        self._record_gap(failed)

    def flush_within(self, seconds: float) -> None:
        """Write the pending rows, for at most `seconds`, while the loop is blocked: for an abort."""
        with contextlib.suppress(OSError, duckdb.Error, TimeoutError):
            self._thread.submit(self._write_pending, self._take_pending()).result(seconds)

    def close(self) -> str:
        """End the writer's thread. Returns the reason why the last flush failed, "" on success."""
        self._thread.shutdown()
        return self._failed

    def _check_clock(self) -> None:
        if self._clock is not None and (jump := self._clock.jump_seconds()) is not None:
            now = self._clock.now_us()
            self.take(RECORDER, now, Event(now, CLOCK_JUMP, {"seconds": round(jump, 3)}))

    def _record_gap(self, failed: str) -> None:
        """Record an event after a period in which nothing could be written."""
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            self._warn(f"{counted(lost, 'row')} lost: the recording could not be written for too long")
        elif failed:
            self._warn(f"the recording could not be written for a while, but is complete: {failed}")

    def _warn(self, text: str) -> None:
        if self._clock is not None:
            now = self._clock.now_us()
            self.take(RECORDER, now, Event(now, "data-warning", {"text": text}))

    def _take_pending(self) -> list[PendingItem]:
        with self._lock:
            pending, self._pending, self._rows = self._pending, [], 0
        return pending

    def _write_pending(self, pending: list[PendingItem]) -> None:
        for source, seen_us, item in pending:
            try:
                self._write(source, seen_us, item)
            except Exception as error:  # a defect in one collector must not cost the rows of the others
                message = f"could not be recorded: {type(error).__name__}: {error}"[:300]
                self._writer.poll(Poll(source, seen_us, seen_us, seen_us, "failed", "defect", message))
        self._writer.flush()

    def _write(self, source: str, seen_us: int, item: Item | Poll) -> None:
        match item:
            case Rows():
                self._writer.samples(source, item)
            case SourceEntity() | SourceLink():
                self._writer.inventory(source, seen_us, item)
            case Event():
                self._writer.event(source, item)
            case Poll():
                self._writer.poll(item)
            case _:
                raise TypeError(f"a collector yields no {type(item).__name__}")


def error_text(error: Exception) -> str:
    """Return the reason for a failed write as one line: DuckDB wraps the system's message in JSON."""
    wrapped = re.search(r'"exception_message":("(?:[^"\\]|\\.)*")', str(error))
    text = str(json.loads(wrapped[1])) if wrapped else str(error)
    return text.partition("\n")[0]

"""Polls one source during a run: on a fixed grid, with deadlines and back-off, and a record of every poll."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from sanpath.errors import CollectorError, Failure
from sanpath.model import Poll, Rows
from sanpath.plugin import Clock, Collector, Context, Cost, Event, SourceConfig
from sanpath.recorder.sink import Sink
from sanpath.units import counted

OPEN_SECONDS = 10.0
"""How long opening and inventory may wait without data; a collector may need longer (open_seconds)."""
CLOSE_SECONDS = 2.0
"""How long logging out may take."""
INVENTORY_SECONDS = 300.0
"""How often entities and links are read: cables and paths seldom change during a run."""
BACK_OFF_SECONDS = 60.0
"""The longest wait after failures; it starts at one second and doubles."""
MAX_REFUSALS = 3
"""A source is given up after so many refusals: further attempts may lock the account."""
MAX_LATE_POLLS = 3
"""After so many polls in a row with late rows, the session ends, because it may be broken. A busy device is late,
too, and each new login would cost it more than the poll."""
_CHECK_SECONDS = 1.0
"""How often to check whether bytes have arrived."""

NewContext = Callable[[Cost], Context]


class Source:
    """Runs one collector. `blocking`: it runs in a separate thread, because its SDK blocks.

    `polled` is set after the first poll. `busy_since`: start of the current poll; None between polls. Failures of the
    collector never stop or delay another source.
    """

    def __init__(
        self,
        config: SourceConfig,
        collector: Collector[SourceConfig],
        context: NewContext,
        clock: Clock,
        sink: Sink,
    ) -> None:
        self.name, self.blocking = config.name, collector.runs_in == "thread"
        self._config, self._context, self._clock, self._sink = config, context, clock, sink
        self._cost = Cost()
        self._collector = collector
        self._opened: Context | None = None
        self._inventory_due = 0.0
        self._failures = self._refusals = self._late = 0
        self._given_up = self._has_answered = False
        self.polled = threading.Event()
        self.busy_since: int | None = None
        self._complete_from_us: int | None = None
        """From when on a poll reports all of the load; None: the load has not ended."""
        self._asked_us = 0

    async def run(self, start_us: int, stop: asyncio.Event) -> None:
        """Poll from `start_us` until `stop`. The collector is closed in any case.

        Sources are spread over the first quarter of the interval by their names.
        """
        try:
            await self._poll_until(stop, start_us)
        finally:
            await self._close()

    def load_ended(self, now_us: int) -> float:
        """Note that the load has ended. Returns the seconds until a poll reports all of it.

        When the source stops, it is polled once more if its last poll was before that.
        """
        is_polled = not (self._given_up or self._failures)
        delay_seconds = self._collector.delay_seconds if is_polled else 0.0
        self._complete_from_us = now_us + round(delay_seconds * 1e6)
        return delay_seconds

    async def _poll_until(self, stop: asyncio.Event, start_us: int) -> None:
        every_us = round(self._config.every_seconds * 1e6)
        start_us += zlib.crc32(self.name.encode()) % max(1, every_us // 4)
        number = 0
        while not self._given_up and not stop.is_set():
            due = start_us + number * every_us
            if await _wait(stop, (due - self._clock.now_us()) / 1e6):
                break
            await self._poll_once(due)
            self.polled.set()
            number = self._next_number(start_us, every_us, number)
        if (
            self._complete_from_us is not None
            and self._asked_us < self._complete_from_us
            and not (self._given_up or self._failures)
        ):
            await self._poll_once(self._clock.now_us())

    def _next_number(self, start_us: int, every_us: int, number: int) -> int:
        """Return the number of the next poll on the grid; later while the source fails. Records skipped polls."""
        now = self._clock.now_us()
        wait_us = min(BACK_OFF_SECONDS, 2.0 ** min(self._failures - 1, 10)) * 1e6 if self._failures else 0
        next_number = max(number + 1, math.ceil((now + wait_us - start_us) / every_us))
        missed = next_number - number - 1
        if missed:
            reason = "backing off after a failure" if wait_us else "the previous poll took too long"
            due = start_us + (number + 1) * every_us
            message = f"{counted(missed, 'poll')} skipped: {reason}"
            self._record(Poll(self.name, due, now, now, "skipped", message=message))
        return next_number

    async def _poll_once(self, due: int) -> None:
        if self._sink.full:
            now = self._clock.now_us()
            self._record(Poll(self.name, due, now, now, "skipped", message="the recording cannot be written"))
            return
        self._cost.requests = self._cost.bytes_in = 0
        started = self.busy_since = self._asked_us = self._clock.now_us()
        rows, failure, message, is_late = 0, "", "", False
        try:
            async for count in self._read_items():
                rows += count
        except TimeoutError:
            is_late, failure, message = True, Failure.UNREACHABLE.value, "no answer within the deadline"
        except CollectorError as error:
            failure, message = error.failure.value, _shorten(f"{error} {error.excerpt}".strip())
        except Exception as error:  # a defect in one collector must not end the run
            failure, message = "defect", _shorten(f"{type(error).__name__}: {error}")
        outcome: Literal["ok", "partial", "failed"] = "ok" if not failure else "partial" if rows else "failed"
        ended = self._clock.now_us()
        self.busy_since = None
        work = rows, self._cost.requests, self._cost.bytes_in
        self._record(Poll(self.name, due, started, ended, outcome, failure, message, *work))
        self._late = self._late + 1 if is_late and rows else 0
        await self._update_back_off("" if 0 < self._late < MAX_LATE_POLLS else failure)

    async def _read_items(self) -> AsyncIterator[int]:
        """Poll once, after logging in if needed. Yields the number of rows of each item."""
        if self._opened is None:
            context = self._context(self._cost)
            async with self._idle_deadline(self._collector.open_seconds):
                await self._collector.open(context)
            self._opened = context
            self._inventory_due = 0.0
        now = self._clock.now_us() / 1e6
        if now >= self._inventory_due:
            async with self._idle_deadline():
                async for entry in self._collector.inventory(self._opened):
                    self._sink.take(self.name, self._clock.now_us(), entry)
            self._inventory_due = now + INVENTORY_SECONDS
        async with asyncio.timeout(self._config.deadline_seconds):
            async for item in self._collector.poll(self._opened):
                self._sink.take(self.name, self._clock.now_us(), item)
                yield len(item.entity) if isinstance(item, Rows) else 0

    def _idle_deadline(self, min_seconds: float = OPEN_SECONDS) -> AbstractAsyncContextManager[None]:
        """Return the deadline of rare reads: while data arrive, at most until the next inventory is due."""
        silent_seconds = max(min_seconds, self._config.deadline_seconds)
        return _while_answering(self._cost, silent_seconds, INVENTORY_SECONDS)

    async def _update_back_off(self, failure: str) -> None:
        """Adapt later polls to a failure, "" for none."""
        if failure in ("", Failure.UNREADABLE.value):
            self._failures = self._refusals = 0
            self._has_answered = True
            return
        await self._close()
        self._late = 0
        self._failures += 1
        self._refusals += failure == Failure.REFUSED.value
        # A source that has answered with this configuration may do so again, whatever it answers now.
        misconfigured = failure == Failure.MISCONFIGURED.value and not self._has_answered
        if misconfigured or self._refusals >= MAX_REFUSALS:
            self._given_up = True
            self._sink.take(self.name, 0, Event(self._clock.now_us(), "source-given-up", {"failure": failure}))

    async def _close(self) -> None:
        self._opened = None
        # Logging out is optional: only the failure of the poll is recorded.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._collector.close()

    def _record(self, poll: Poll) -> None:
        self._sink.take(self.name, poll.due, poll)


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 300 else flat[:299] + "…"


async def _wait(stop: asyncio.Event, seconds: float) -> bool:
    """Sleep, at most until `stop`. Returns whether `stop` was set."""
    try:
        await asyncio.wait_for(stop.wait(), max(0.0, seconds))
    except TimeoutError:
        return False
    return True


@asynccontextmanager
async def _while_answering(cost: Cost, silent_seconds: float, limit_seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError if nothing has arrived for `silent_seconds`, according to `cost`, or after `limit_seconds`.

    The deadline counts from the last received data, so that a long answer does not time out. `cost` is checked every
    second: silence is detected up to a second late, and never early.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(max(silent_seconds, limit_seconds)) as deadline:

        async def watch() -> None:
            bytes_before, since = cost.bytes_in, loop.time()
            while loop.time() - since < silent_seconds:
                await asyncio.sleep(min(_CHECK_SECONDS, silent_seconds))
                if cost.bytes_in != bytes_before:
                    bytes_before, since = cost.bytes_in, loop.time()
            if not deadline.expired():
                deadline.reschedule(loop.time())

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()

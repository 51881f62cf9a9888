"""One source during a run: polls on a fixed grid, with a deadline, back-off, and an account of every poll."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

from sanpath.errors import CollectorError, Failure
from sanpath.model import Poll, Rows
from sanpath.plugin import Clock, Collector, Context, Cost, Event, SourceConfig
from sanpath.recorder.sink import Sink
from sanpath.recorder.sources.idle_deadline import while_answering

OPEN_SECONDS = 10.0
CLOSE_SECONDS = 2.0
INVENTORY_SECONDS = 300.0
BACK_OFF_SECONDS = 60.0
REFUSALS = 3

NewContext = Callable[[Cost], Context]


class Source:
    """Runs one collector; `blocking`: in a thread of its own, because its SDK blocks.

    `polled` is set after the first poll. `busy_since`: start of the poll under way, None between polls.
    `ask_after_us`: when it stops and has not been asked since then, it is asked once more; None: it is not.
    Its failures end here: nothing it does stops or delays another source."""

    def __init__(
        self,
        config: SourceConfig,
        make: Callable[[], Collector[SourceConfig]],
        context: NewContext,
        clock: Clock,
        sink: Sink,
        blocking: bool = False,
    ) -> None:
        self.name, self.blocking = config.name, blocking
        self._config, self._context, self._clock, self._sink = config, context, clock, sink
        self._cost = Cost()
        self._collector = make()
        self._opened: Context | None = None
        self._inventory_due = 0.0
        self._failures = self._refusals = 0
        self._off = self._has_answered = False
        self.polled = threading.Event()
        self.busy_since: int | None = None
        self.ask_after_us: int | None = None
        self._asked_us = 0

    async def run(self, start_us: int, stop: asyncio.Event) -> None:
        """Poll from `start_us` until `stop`. Sources are spread over the interval by their names."""
        every_us = round(self._config.every_seconds * 1e6)
        start_us += zlib.crc32(self.name.encode()) % max(1, every_us // 4)
        number = 0
        while not self._off and not stop.is_set():
            due = start_us + number * every_us
            if await _wait(stop, (due - self._clock.now_us()) / 1e6):
                break
            await self._round(due)
            self.polled.set()
            number = self._next(start_us, every_us, number)
        if self.ask_after_us is not None and self._asked_us < self.ask_after_us and not (self._off or self._failures):
            await self._round(self._clock.now_us())
        await self._close()

    def _next(self, start_us: int, every_us: int, number: int) -> int:
        """The next place on the grid, later while the source fails; what was missed is noted."""
        now = self._clock.now_us()
        wait_us = min(BACK_OFF_SECONDS, 2.0 ** min(self._failures - 1, 10)) * 1e6 if self._failures else 0
        following = max(number + 1, math.ceil((now + wait_us - start_us) / every_us))
        missed = following - number - 1
        if missed:
            why = "backing off after a failure" if wait_us else "the poll before took too long"
            due = start_us + (number + 1) * every_us
            self._account(Poll(self.name, due, now, now, "skipped", message=f"{missed} polls left out: {why}"))
        return following

    async def _round(self, due: int) -> None:
        if self._sink.full:
            now = self._clock.now_us()
            self._account(Poll(self.name, due, now, now, "skipped", message="the recording cannot be written"))
            return
        self._cost.requests = self._cost.bytes_in = 0
        started = self.busy_since = self._asked_us = self._clock.now_us()
        rows, failure, message = 0, "", ""
        try:
            async for count in self._items():
                rows += count
        except TimeoutError:
            failure, message = Failure.UNREACHABLE.value, "no answer within the deadline"
        except CollectorError as error:
            failure, message = error.failure.value, _shorten(f"{error} {error.excerpt}".strip())
        except Exception as error:  # a defect in one collector must not end the run
            failure, message = "defect", _shorten(f"{type(error).__name__}: {error}")
        outcome: Literal["ok", "partial", "failed"] = "ok" if not failure else "partial" if rows else "failed"
        ended = self._clock.now_us()
        self.busy_since = None
        self._account(
            Poll(
                self.name,
                due,
                started,
                ended,
                outcome,
                failure,
                message,
                rows,
                self._cost.requests,
                self._cost.bytes_in,
            )
        )
        await self._learn(failure)

    async def _items(self) -> AsyncIterator[int]:
        """One poll, the log-in before it where needed. Yields the number of rows of each item taken."""
        if self._opened is None:
            context = self._context(self._cost)
            async with self._patience():
                await self._collector.open(context)
            self._opened = context
            self._inventory_due = 0.0
        now = self._clock.now_us() / 1e6
        if now >= self._inventory_due:
            async with self._patience():
                async for thing in self._collector.inventory(self._opened):
                    self._sink.take(self.name, self._clock.now_us(), thing)
            self._inventory_due = now + INVENTORY_SECONDS
        async with asyncio.timeout(self._config.budget_seconds):
            async for item in self._collector.poll(self._opened):
                self._sink.take(self.name, self._clock.now_us(), item)
                yield len(item.entity) if isinstance(item, Rows) else 0

    def _patience(self) -> AbstractAsyncContextManager[None]:
        """For what is read once or seldom: as long as the device answers, until the next inventory would be due."""
        silent_seconds = max(OPEN_SECONDS, self._config.budget_seconds)
        return while_answering(self._cost, silent_seconds, INVENTORY_SECONDS)

    async def _learn(self, failure: str) -> None:
        """What a failure means for the polls to come."""
        if failure in ("", Failure.UNREADABLE.value):
            self._failures = self._refusals = 0
            self._has_answered = True
            return
        await self._close()
        self._failures += 1
        self._refusals += failure == Failure.REFUSED.value
        # What has answered as it is configured may do so again, whatever stands in its place for now.
        misconfigured = failure == Failure.MISCONFIGURED.value and not self._has_answered
        if misconfigured or self._refusals >= REFUSALS:
            self._off = True
            self._sink.take(self.name, 0, Event(self._clock.now_us(), "source-given-up", {"failure": failure}))

    async def _close(self) -> None:
        self._opened = None
        # Logging out is a courtesy; the poll's own failure is what is recorded.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._collector.close()

    def _account(self, poll: Poll) -> None:
        self._sink.take(self.name, poll.due, poll)


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 300 else flat[:299] + "…"


async def _wait(stop: asyncio.Event, seconds: float) -> bool:
    """Sleep, at most until `stop`. True when it was set."""
    try:
        await asyncio.wait_for(stop.wait(), max(0.0, seconds))
    except TimeoutError:
        return False
    return True

"""A parser that takes long holds neither the loop of the recorder nor the load: the others are polled meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import pytest

from sanpath.model import Poll
from sanpath.plugin import Item, LoadReader
from sanpath.recorder.loads.output_reader import OutputReading
from sanpath.recorder.sink import Sink

SLOW_SECONDS = 1.0
TICK_SECONDS = 0.02


class Slow:
    """A reader that computes in Python without ever letting go by itself."""

    def feed(self, _added: bytes, _seen: int) -> Iterator[Item]:
        until = time.monotonic() + SLOW_SECONDS
        while time.monotonic() < until:
            sum(range(1000))
        return iter(())

    def passthrough(self) -> bytes:
        return b""


class Taken:
    """What would be recorded."""

    def __init__(self) -> None:
        self.items: list[object] = []

    def take(self, _source: str, _seen: int, item: object) -> None:
        self.items.append(item)


class StillClock:
    def now_us(self) -> int:
        return 1


def fed_alongside_ticks(limit: float, monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], Taken]:
    """Moments of a loop that ticks while a slow reader is fed, and what was recorded."""
    monkeypatch.setattr("sanpath.recorder.loads.output_reader.PARSE_SECONDS", limit)
    taken = Taken()
    reading = OutputReading(cast(LoadReader, Slow()), "load", StillClock(), cast(Sink, taken))
    ticks: list[float] = []

    async def scene() -> None:
        feeding = asyncio.create_task(reading.feed(b"x"))
        while not feeding.done():
            ticks.append(time.monotonic())
            await asyncio.sleep(TICK_SECONDS)
        await feeding

    asyncio.run(scene())
    return ticks, taken


def test_the_loop_goes_on_while_a_parser_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, taken = fed_alongside_ticks(30, monkeypatch)
    assert ticks[-1] - ticks[0] > SLOW_SECONDS / 2
    assert max(later - before for before, later in pairwise(ticks)) < SLOW_SECONDS / 2
    assert not [item for item in taken.items if isinstance(item, Poll) and item.outcome == "failed"]


def test_a_parser_that_takes_too_long_is_given_up_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _, taken = fed_alongside_ticks(0.2, monkeypatch)
    (poll,) = [item for item in taken.items if isinstance(item, Poll)]
    assert (poll.outcome, poll.failure) == ("failed", "defect")
    assert "was not understood within" in poll.message

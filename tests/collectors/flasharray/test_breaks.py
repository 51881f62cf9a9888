"""After a break in polling, samples are read from where they were left, as far back as the array keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import pairwise

import pytest
from pydantic import SecretStr

from sanpath.plugin import Cost, Event, Http, Rows
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.flasharray.collector import FlashArray
from sanpath_collectors.flasharray.config import FlashArrayConfig
from sanpath_collectors.flasharray.rest import Session

START_MS = 1_800_000_000_000
KEPT_MS = 3_600_000


class Clocks:
    """The clock of the array, and that of the recorder, which is behind it by 7 minutes."""

    ms = START_MS

    def now_us(self) -> int:
        return (self.ms - 420_000) * 1000


class KeepsAnHour:
    """A session with an array that refuses what it no longer keeps."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks

    async def login(self) -> None:
        return None

    async def logout(self) -> None:
        return None

    async def items(self, endpoint: str, params: Mapping[str, str] | None = None) -> list[Mapping[str, object]]:
        if endpoint != "arrays/performance":
            return []
        since_ms = int((params or {}).get("start_time", self.clocks.ms))
        assert since_ms >= self.clocks.ms - KEPT_MS
        first = -(-since_ms // 1000) * 1000
        return [{"time": ms, "reads_per_sec": 5} for ms in range(first, self.clocks.ms + 1, 1000)]


class Array(FlashArray):
    clocks: Clocks

    def _new_session(self, http: Http) -> Session:  # noqa: ARG002 - the base class' signature
        return KeepsAnHour(self.clocks)


@pytest.mark.parametrize(("break_seconds", "missing"), [(1800, 0), (6 * 3600, 5 * 3600)])
def test_after_a_break_nothing_is_asked_for_that_the_array_no_longer_has(break_seconds: int, missing: int) -> None:
    async def use() -> tuple[list[int], list[str]]:
        config = FlashArrayConfig(name="fa1", collector="flasharray", host="fa1", api_token=SecretStr("t"))
        array = Array(config)
        array.clocks = Clocks()
        context = LiveContext(array.clocks, Cost())
        await array.open(context)
        times: list[int] = []
        texts: list[str] = []
        for seconds in (0, 5, break_seconds, 5):
            array.clocks.ms += seconds * 1000
            for item in [item async for item in array.poll(context)]:
                if isinstance(item, Rows):
                    times += [us // 1_000_000 for us in item.device_time or ()]
                elif isinstance(item, Event) and item.name == "data-warning":
                    texts.append(str(item.detail["text"]))
        await array.close()
        return times, texts

    times, texts = asyncio.run(use())
    assert len(times) == len(set(times))
    steps = [later - earlier for earlier, later in pairwise(times)]
    assert times[-1] == START_MS // 1000 + 10 + break_seconds
    assert [step for step in steps if step > 1] == ([missing + 1] if missing else [])
    assert texts == ([f"the array has no samples of {missing} s"] if missing else [])

"""A server's clock, told from the dates of its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

import pytest

from sanpath.plugin import DatedHttp, HttpReply, ServerClock

SECOND = 1_000_000
START = 1_800_000_000 * SECOND


class Dated:
    """A server whose clock is ahead of ours; each answer takes 20 ms to come."""

    def __init__(self, offset_us: int, text: str | None = None) -> None:
        self.now, self._ahead, self._text = START, offset_us, text

    def now_us(self) -> int:
        return self.now

    async def request(self, *_: Any) -> HttpReply:
        self.now += 10_000
        date = self._text if self._text is not None else formatdate((self.now + self._ahead) // SECOND, usegmt=True)
        self.now += 10_000
        headers: Mapping[str, str] = {"date": date} if date else {}
        return HttpReply(200, headers, b"")

    async def close(self) -> None: ...


def asked(server: Dated, times: int, every_us: int = 717_000) -> ServerClock:
    clock = ServerClock()
    http = DatedHttp(server, server, clock)
    for _ in range(times):
        asyncio.run(http.request("GET", "/"))
        server.now += every_us
    return clock


@pytest.mark.parametrize("ahead", [0, 90 * SECOND, -37_400_000])
def test_dates_of_whole_seconds_narrow_each_other(ahead: int) -> None:
    event = asked(Dated(ahead), 100).event(START)
    assert event is not None
    offset, within = (event.detail[f"{name}_seconds"] for name in ("offset", "uncertainty"))
    assert isinstance(offset, float)
    assert isinstance(within, float)
    assert within < 0.05
    assert abs(offset - ahead / 1e6) <= within


def test_one_date_tells_no_more_than_its_second() -> None:
    event = asked(Dated(0), 1).event(START)
    assert event is not None
    assert event.detail["uncertainty_seconds"] == pytest.approx(0.51)


def test_it_is_said_again_only_when_much_more_is_known() -> None:
    clock = ServerClock()
    clock.add_reading(START, START - 400_000, START + 400_000)
    assert clock.event(START) is not None
    clock.add_reading(START, START - 390_000, START + 400_000)
    assert clock.event(START) is None
    clock.add_reading(START, START - 50_000, START + 50_000)
    assert clock.event(START) is not None


def test_a_clock_that_was_set_is_told_anew() -> None:
    clock = ServerClock()
    clock.add_reading(START, START - 1000, START + 1000)
    clock.add_reading(START + 60 * SECOND, START - 1000, START + 1000)
    assert clock.offset_us == 60 * SECOND


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Foo 2026"])
def test_answers_without_a_readable_date_tell_nothing(date: str) -> None:
    clock = asked(Dated(0, date), 2)
    assert (clock.offset_us, clock.event(START)) == (None, None)

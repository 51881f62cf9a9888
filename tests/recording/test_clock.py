"""The wall clock may jump: it is recorded, and no time stamp follows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sanpath.model import Event
from sanpath.recorder.sink import Sink
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer

SECOND = 1_000_000_000


class Sources:
    """A wall clock and a monotonic one that are set by hand."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1_800_000_000 * SECOND, 77 * SECOND

    def clock(self) -> RecorderClock:
        return RecorderClock(lambda: self.wall, lambda: self.monotonic)

    def wait(self, seconds: float, jump: float = 0.0) -> None:
        self.monotonic += round(seconds * SECOND)
        self.wall += round((seconds + jump) * SECOND)


@pytest.mark.parametrize("jump", [3600.0, -3600.0, 0.6, -0.6])
def test_a_jump_is_told_once_and_time_goes_on_as_before(jump: float) -> None:
    sources = Sources()
    clock = sources.clock()
    sources.wait(5)
    assert clock.jump_seconds() is None
    sources.wait(5, jump)
    assert clock.jump_seconds() == pytest.approx(jump)
    assert clock.now_us() == clock.anchor_us + 10_000_000
    sources.wait(5)
    assert clock.jump_seconds() is None


def test_a_clock_that_is_slewed_does_not_jump() -> None:
    sources = Sources()
    clock = sources.clock()
    for _ in range(1000):
        sources.wait(5, 5 * 500e-6)
        assert clock.jump_seconds() is None
    assert clock.now_us() == clock.anchor_us + 5_000_000_000


def test_a_reading_that_was_held_up_is_no_jump() -> None:
    held_up = [0]

    def monotonic() -> int:
        held_up[0] += SECOND
        return held_up[0]

    assert RecorderClock(lambda: 5 * SECOND, monotonic).jump_seconds() is None


def test_a_jump_between_two_flushes_is_an_event_of_the_recording(tmp_path: Path) -> None:
    layout.create(tmp_path / "r.sanpath")
    sources = Sources()
    clock = sources.clock()
    writer = Writer(tmp_path / "r.sanpath", "host.1")

    async def run() -> None:
        sink = Sink(writer, clock)
        for jump in (0.0, -7200.0, 0.0):
            sources.wait(5, jump)
            sink.take("s", 0, Event(clock.now_us(), "e"))
            await sink.flush()
        sink.close()

    asyncio.run(run())
    writer.close()
    found = [
        (source, event.seen - clock.anchor_us, event) for source, event in Recording(tmp_path / "r.sanpath").events()
    ]
    assert [(source, seen, event.name) for source, seen, event in found] == [
        ("s", 5_000_000, "e"),
        ("s", 10_000_000, "e"),
        ("recorder", 10_000_000, "clock-jump"),
        ("s", 15_000_000, "e"),
    ]
    assert found[2][2].detail == {"seconds": -7200.0}

"""What a source that has answered before may do without being given up; and a wall clock that is set."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sanpath.plugin import CollectorError, Failure, Item
from sanpath.recording.clock import RecorderClock
from tests.recorder.support import record, row


async def replaced_for_a_while(number: int) -> AsyncIterator[Item]:
    """Something else stands in its place, as when a controller takes over another's address."""
    if 3 <= number <= 6:
        raise CollectorError(Failure.MISCONFIGURED, "does not speak TLS as asked")
    yield row()


def test_what_has_answered_as_configured_is_asked_again_whatever_it_says_later(tmp_path: Path) -> None:
    account = record(tmp_path, 60, a=replaced_for_a_while)
    assert len(account.polls("a", "failed")) == 4
    assert account.polls("a")[-1].outcome == "ok"
    assert account.events("a") == []


def test_a_wall_clock_that_is_set_does_not_reach_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RecorderClock()
    before = clock.now_us()
    day_before = time.time_ns() - 86_400 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: day_before)
    monkeypatch.setattr(time, "time", lambda: day_before / 1e9)
    assert 0 <= clock.now_us() - before < 60_000_000

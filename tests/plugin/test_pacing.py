"""How long a device asks to wait, and when a request is due that is not made with every poll."""

from __future__ import annotations

import pytest

from sanpath.plugin import HttpReply, LessOften, wait_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("60", 60), ("300", 300), ("1700000000", 0), ("Fri, 31 Dec 1999 23:59:59 GMT", 0), ("", 0)]
)
def test_a_wait_is_a_number_of_seconds_and_no_time_of_day(text: str, seconds: float) -> None:
    assert wait_seconds(HttpReply(429, {"retry-after": text}, b"")) == seconds


def test_the_first_header_with_a_wait_counts() -> None:
    reply = HttpReply(429, {"retry-after": "soon", "ratelimit-reset": "7"}, b"")
    assert wait_seconds(reply, ("retry-after", "ratelimit-reset")) == 7


def test_a_request_is_due_at_once_and_then_half_a_poll_early() -> None:
    optics = LessOften(every_seconds=60, poll_seconds=10)
    assert optics.is_due(0)
    optics.note(0)
    assert [optics.is_due(seconds * 1_000_000) for seconds in (10, 54, 55)] == [False, False, True]

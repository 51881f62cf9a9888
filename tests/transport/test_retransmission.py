"""A lost datagram costs about what an answer takes, and a silent agent no more than configured."""

from __future__ import annotations

import pytest

from sanpath.transport.snmp.retransmission import RetransmissionTimer


def test_an_agent_that_has_not_answered_yet_gets_the_configured_time() -> None:
    assert RetransmissionTimer(2.0, 1).waits() == [2.0, 2.0]
    assert RetransmissionTimer(30.0, 0).waits() == [30.0]


@pytest.mark.parametrize("answer", [0.001, 0.05, 0.2, 0.6, 1.9])
@pytest.mark.parametrize(("timeout", "retries"), [(2.0, 1), (2.0, 0), (5.0, 2)])
def test_all_waits_together_are_not_longer_than_configured(answer: float, timeout: float, retries: int) -> None:
    timer = RetransmissionTimer(timeout, retries)
    timer.note(answer)
    waits = timer.waits()
    assert sum(waits) <= timeout * (1 + retries)
    assert waits[-1] == timeout
    assert all(wait >= min(timeout, 4 * answer) for wait in waits)


def test_a_quick_agent_is_asked_again_soon_and_a_late_answer_is_forgotten() -> None:
    timer = RetransmissionTimer(2.0, 1)
    timer.note(0.02)
    assert timer.waits()[0] == 0.5
    timer.note(0.24)
    assert timer.waits()[0] == pytest.approx(0.96)
    for _ in range(40):
        timer.note(0.02)
    assert timer.waits()[0] == 0.5

"""What a source that has answered before may do without being given up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from sanpath.plugin import CollectorError, Failure, Item
from tests.recorder.support import record, row


async def replaced_for_a_while(number: int) -> AsyncIterator[Item]:
    """Something else stands in its place, as when a controller takes over another's address."""
    if 3 <= number <= 6:
        raise CollectorError(Failure.MISCONFIGURED, "refused the TLS connection")
    yield row()


def test_what_has_answered_as_configured_is_asked_again_whatever_it_says_later(tmp_path: Path) -> None:
    account = record(tmp_path, 60, a=replaced_for_a_while)
    assert len(account.polls("a", "failed")) == 4
    assert account.polls("a")[-1].outcome == "ok"
    assert account.events("a") == []

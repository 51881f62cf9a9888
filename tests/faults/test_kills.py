"""Whoever is killed at whatever moment: what was flushed and what the load said is there, and can be diagnosed."""

from __future__ import annotations

import pytest

from tests.faults.kills import VICTIMS, tried
from tests.recorder.conftest import fio

__all__ = ["fio"]


@pytest.mark.slow
@pytest.mark.usefixtures("fio")
@pytest.mark.parametrize("number", range(len(VICTIMS)), ids=VICTIMS)
def test_nothing_that_was_flushed_or_said_is_lost(number: int) -> None:
    counts, wrong = tried(range(number, number + 1))
    assert wrong == {}
    assert counts == {VICTIMS[number]: 1}

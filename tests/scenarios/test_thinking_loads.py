"""A load that pauses after each of its I/Os: its pauses limit it, or what its I/Os wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from tests.support.san import KIB, AtArray, Flow, San
from tests.support.stories import judged

OPS, PAUSE_SECONDS = 3000.0, 0.004


def thinking(folder: Path, outstanding: float) -> Diagnosis:
    """Reads of 8 KiB, each after a pause of 4 ms. `outstanding`: how many are in the mean. All of their time but 0.1
    ms passes in the array, which serves each in 0.4 ms."""
    configured, latency = outstanding + OPS * PAUSE_SECONDS, outstanding / OPS
    san = San(folder / "r.sanpath")
    queue = max(0.0, latency - 0.0005)
    array = {"read": AtArray(min(0.0004, latency), san=0.00002, queue=queue)}
    ports = dict.fromkeys(("fc1/7", "fc1/1"), (OPS * 8 * KIB * 1.02, 0.0))
    san.step(
        "s",
        configured,
        block=8 * KIB,
        read=Flow(OPS, latency),
        array=array,
        ports=ports,
        rate_limited=True,
        seconds=30,
    )
    return judged(san.write())


def test_pauses_that_are_most_of_the_cycle_limit(tmp_path: Path) -> None:
    """Of 13.5 I/Os 1.5 are outstanding."""
    assert thinking(tmp_path, 1.5).verdict.kind == "demand_limited"


@pytest.mark.parametrize("outstanding", [2.0, 3.0])
def test_what_waits_in_a_cycle_of_pauses_is_a_share_of_the_whole_cycle(tmp_path: Path, outstanding: float) -> None:
    """A quarter and a half of the latency are waiting, but less than a tenth of a cycle of 4.7 and 5 ms."""
    assert thinking(tmp_path, outstanding).verdict.kind == "demand_limited"


@pytest.mark.parametrize("outstanding", [6.0, 8.0, 10.0])
def test_pauses_do_not_acquit_what_waits_for_much_of_the_whole_cycle(tmp_path: Path, outstanding: float) -> None:
    """A quarter to two fifths of the cycle are a wait in the array."""
    assert thinking(tmp_path, outstanding).verdict.kind != "demand_limited"


@pytest.mark.parametrize("outstanding", [36.0, 52.0, 120.0])
def test_pauses_explain_no_more_of_the_cycle_than_they_take(tmp_path: Path, outstanding: float) -> None:
    """12 I/Os pause at any time, and three to ten times as many wait in the array."""
    found = thinking(tmp_path, outstanding)
    assert found.verdict.kind != "demand_limited", found.verdict.headline
    assert found.verdict.suspects[0].verdict != "demand_limited"

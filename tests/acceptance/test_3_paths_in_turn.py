"""Row 3: the story over two HBAs that take turns after 1,000 I/Os, then after every one."""

from __future__ import annotations

import pytest

from sanpath_lab.scenario import Scenario
from tests.acceptance.lab import HOST, SECOND_HOST, SHORT, STORY, TWO_PATHS, Ran, Record, changed

pytestmark = pytest.mark.slow


def changing_after(operations: int) -> Scenario:
    return changed(STORY, load={**SHORT, "threads": [2, 64]}, paths=TWO_PATHS, ios_per_path=operations)


@pytest.fixture(scope="module")
def in_turn(record: Record) -> Ran:
    return record(changing_after(1000))


@pytest.fixture(scope="module")
def evenly(record: Record) -> Ran:
    return record(changing_after(1))


def test_the_paths_are_used_one_after_the_other(in_turn: Ran) -> None:
    assert in_turn.ops_per_second == pytest.approx(6482, rel=0.01)
    assert (in_turn.limit.kind, in_turn.limit.coincident) == ("path_policy", (HOST, SECOND_HOST))
    assert "path-serialised" in in_turn.causes
    assert "The paths are used one after the other: 2 links of the host are busy 5" in in_turn.found.verdict.headline


def test_it_is_neither_healthy_nor_balanced_nor_the_queue(in_turn: Ran) -> None:
    assert in_turn.found.verdict.kind == "bottleneck"
    assert "balanced" not in in_turn.report
    assert "lun-queue-limits" not in in_turn.causes
    assert not {HOST, SECOND_HOST} & in_turn.cleared


def test_what_one_io_each_would_give_is_predicted(in_turn: Ran) -> None:
    for step in in_turn.relieved.steps:
        assert step.likely is not None
        assert 12_300 <= step.likely <= 12_700


def test_compared_it_is_fixed_and_both_links_limit_next(in_turn: Ran, evenly: Ran) -> None:
    assert evenly.ops_per_second == pytest.approx(12_602, rel=0.01)
    found = in_turn.compared(evenly)
    assert ("path-serialised", "FIXED") in {(f.rule, f.outcome) for f in found.findings}
    assert found.outcome == "MOVED"
    assert HOST in found.headline
    assert SECOND_HOST in found.headline
    assert all(check.held for check in found.checks)

"""Limits of control groups bound what a load would reach if something else were relieved."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.verdict.run_verdict import judgement_of_steps
from sanpath.whatif.ceilings import ceilings
from sanpath.whatif.change import UNCHANGED, Change
from tests.scenarios.test_control_groups import DEVICE_SECONDS, OWN, READS, Limits, grouped
from tests.support.san import KIB, Flow

OF_OWN = "cgroup:db7/load.slice/fio.service on sda"


def allowed(folder: Path, limits: Limits, change: Change = UNCHANGED) -> dict[str, float]:
    """Control group → reads a second that its limit allows, where the load does 2,000 of 8 KiB."""
    san = grouped(folder, limits)
    flow = Flow(2000, DEVICE_SECONDS)
    san.step("s", 1, block=8 * KIB, read=flow, disk={"read": flow})
    facts, judgements = judge_recording(san.write())
    found = ceilings(facts, judgement_of_steps(judgements).load, change, None)
    return {each.entity: each.ops_per_second[1] for each in found if each.entity.startswith("cgroup:")}


def test_a_limit_that_is_not_reached_bounds_the_load(tmp_path: Path) -> None:
    """A third more than now, and no more."""
    assert allowed(tmp_path, {OWN: {READS: 2667}}) == {OF_OWN: pytest.approx(2667, rel=0.02)}


def test_a_limit_in_bytes_counts_in_ios(tmp_path: Path) -> None:
    assert allowed(tmp_path, {OWN: {"limit_bytes_per_second_read": 4000 * 8 * KIB}}) == {
        OF_OWN: pytest.approx(4000, rel=0.02)
    }


def test_no_other_limit_bounds_it(tmp_path: Path) -> None:
    """One of writes, one that is lifted, and none at all."""
    assert allowed(tmp_path / "writes", {OWN: {"limit_ops_per_second_write": 100}}) == {}
    assert allowed(tmp_path / "lifted", {OWN: {READS: 2667}}, Change(lifted=frozenset({OF_OWN}))) == {}
    assert allowed(tmp_path / "none", {OWN: {}}) == {}

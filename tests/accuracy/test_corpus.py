"""A small fixed corpus: a case of every family whose verdict was right when it was recorded is still right.

How often the verdict is right in a corpus that nobody has developed with is in docs/accuracy.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from sanpath_lab.families import FAMILIES, case
from sanpath_testbed.corpus import Job, outcome
from sanpath_testbed.outcome import judge
from sanpath_testbed.record import record

pytestmark = pytest.mark.slow

SEED = 103
SHORT_SECONDS = 4.0
"""Enough for the windows of a step; steps of families that need more than twice as much are left as they are."""


@pytest.mark.parametrize("family", FAMILIES)
def test_the_verdict_is_as_right_as_it_was(family: str, tmp_path: Path) -> None:
    scenario = case(family, SEED).scenario
    if scenario.load.measured_seconds < 2 * SHORT_SECONDS:
        short = scenario.load.model_copy(update={"measured_seconds": SHORT_SECONDS})
        scenario = scenario.model_copy(update={"load": short})
    record(scenario, tmp_path / "r.sanpath")
    found = judge(family, SEED, None, scenario.truth, diagnose(Recording(tmp_path / "r.sanpath")))
    assert not found.false_alarm, found.headline
    assert found.is_right, f"{found.kind}, {found.named[:3]}: {found.headline}"
    assert set(found.causes).isdisjoint(found.forbidden)


def test_small_ios_of_others_do_not_hide_what_the_volume_waits_for() -> None:
    """Others move a hundredth of the array's bytes with a fourteenth of its operations."""
    found = outcome(Job("qos", 515, None), relieve=False)
    assert (found.kind, found.is_right) == ("configured_cap", True)


def test_what_a_deeper_queue_of_a_virtual_disk_brings_is_predicted() -> None:
    """It is the driver's queue, which the guest's block device has as well."""
    found = outcome(Job("vscsi-queue", SEED, None))
    assert found.predicted is not None
    assert found.reached is not None
    assert 0.99 * found.predicted[0] <= found.reached <= 1.01 * found.predicted[1]

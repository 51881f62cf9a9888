"""What relieving a limit means, also where the limit was counted at the device alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sanpath.diagnose import judge_recording
from sanpath.verdict.prediction.change import Change
from sanpath.verdict.prediction.relief import relief
from sanpath.verdict.run_verdict import deciding
from tests.support.san import San
from tests.support.stories import published


def test_a_port_that_only_its_device_counts_has_no_speed_to_raise(tmp_path: Path) -> None:
    facts, judgements = judge_recording(published(San(tmp_path)).write())
    found = deciding(judgements)
    port = replace(found.bottlenecks[0], entity="hba:esx7/vmhba2", coincident=())
    change, words = relief(facts, replace(found, bottlenecks=(port,)), None)
    assert change == Change()
    assert words == "hba:esx7/vmhba2 was measured at no switch: what a faster one brings is not known"

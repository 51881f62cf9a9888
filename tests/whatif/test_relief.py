"""What relieving a limit means, also where the limit was counted at the device alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.run_verdict import deciding
from sanpath.whatif.change import Change
from sanpath.whatif.predict import Prediction, explaining, predict
from sanpath.whatif.relief import relief
from tests.scenarios.test_paths_in_turn import HOST_LINKS, over_two
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, published


def test_a_port_that_only_its_device_counts_has_no_speed_to_raise(tmp_path: Path) -> None:
    facts, judgements = judge_recording(published(San(tmp_path)).write())
    found = deciding(judgements)
    port = replace(found.bottlenecks[0], entity="hba:esx7/vmhba2", coincident=())
    change, words = relief(facts, replace(found, bottlenecks=(port,)), None)
    assert change == Change()
    assert words == "hba:esx7/vmhba2 was measured at no switch: what a faster one brings is not known"


def relieved(recording: Recording) -> tuple[Change, Prediction]:
    facts, judgements = judge_recording(recording)
    found = deciding(judgements)
    change, _ = relief(facts, found, explaining(facts, judgements, found))
    return change, predict(facts, judgements, found, change)


def test_the_twin_of_a_full_link_is_relieved_with_it(tmp_path: Path) -> None:
    """Two links carry half of the test each, the second a little less: a faster first link alone would bring 4 %."""
    over_two(tmp_path / "a.sanpath", 0.985, 0.945)
    change, prediction = relieved(Recording(tmp_path / "a.sanpath"))
    assert set(change.speeds) == set(HOST_LINKS)
    assert prediction.predicted_ops_per_second is not None
    assert prediction.predicted_ops_per_second[1] > 1.5 * prediction.ops_per_second


@pytest.mark.parametrize("first", [0.45, 0.50, 0.58])
def test_paths_used_evenly_reach_what_their_links_carry(tmp_path: Path, first: float) -> None:
    """Used in turn, links have uneven shares in a step. Two 4GFC links carry 836.9 MB/s of 32 x 2,076 bytes."""
    over_two(tmp_path / "a.sanpath", first, 1.02 - first)
    _, prediction = relieved(Recording(tmp_path / "a.sanpath"))
    assert prediction.predicted_ops_per_second is not None
    low, high = prediction.predicted_ops_per_second
    assert low < 836.9e6 / (32 * 2076) == pytest.approx(high, rel=0.01)


def test_a_link_between_switches_can_be_as_fast_as_their_other_ports(tmp_path: Path) -> None:
    """6,295 reads of 64 KiB a second fill one link of 4GFC; the host's and the array's ports run at 16GFC."""
    ports = [fast(HOST_PORT), fast(replace(ARRAY_PORT, on="sw2"))]
    san = San(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True, isl_speed=4)
    counted = (6295 * 32 * 2076.0, NOTHING)
    for in_flight in (16, 128):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(6295, in_flight / 6295),
            ports=dict.fromkeys(("fc1/7", "sw1/fc1/31", "sw2/fc1/31", "fc1/1"), counted),
            array={"read": AtArray(0.0004, san=0.8 * in_flight / 6295)},
        )
    change, prediction = relieved(san.write())
    assert {speed.name for speed in change.speeds.values()} == {"16GFC"}
    assert prediction.predicted_ops_per_second is not None
    assert prediction.predicted_ops_per_second[1] == pytest.approx(4 * 6295, rel=0.05)

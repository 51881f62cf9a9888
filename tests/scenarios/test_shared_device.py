"""A device that other processes of the host use as well, by its own counters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.san import Flow, San
from tests.support.stories import calm, judged


@pytest.mark.parametrize(("times", "is_shared"), [(1.0, False), (1.4, False), (4.0, True)])
def test_a_device_that_does_far_more_than_the_load_is_shared(tmp_path: Path, times: float, is_shared: bool) -> None:
    """The load has all its 32 I/Os outstanding and nothing else is measured: they are not too few for sure."""
    san = calm(
        San(tmp_path, about={"random_ratio": 1.0}, guest_queue_depth=None), in_flight=32, ops=4_700, latency=0.0068
    )
    san.steps[0] = replace(san.steps[0], disk={"read": Flow(4_700 * times, 0.0068)})
    diagnosis = judged(san.write())
    hits = {finding.rule for finding in diagnosis.findings if finding.outcome == "hit"}
    assert ("device-shared" in hits) is is_shared
    against = [words for s in diagnosis.verdict.suspects if s.verdict == "concurrency_limited" for words in s.against]
    assert any("other I/Os are outstanding there, too" in words for words in against) is is_shared


def test_slots_that_others_take_as_well_are_all_in_use(tmp_path: Path) -> None:
    """32 slots, and 128 I/Os outstanding at the device, the load has a quarter: most of its time is a wait."""
    san = calm(San(tmp_path, guest_queue_depth=32), in_flight=32, ops=4_700, latency=0.0068)
    san.steps[0] = replace(san.steps[0], disk={"read": Flow(4 * 4_700, 0.0068)})
    assert [bottleneck.entity for bottleneck in judged(san.write()).verdict.bottlenecks] == ["lun:sqlvm1/sda"]


def test_what_a_device_does_in_the_turn_of_one_writer_is_not_of_others(tmp_path: Path) -> None:
    """One synchronous writer of 8 KiB, 120 a second: of its 8.3 ms, 2 are at the device. The device does four times
    as many writes of 2 ms, one after another: it holds 120 x 4 x 0.002 = 0.96, no more than the load. They are its
    file system's."""
    san = calm(San(tmp_path, about={"random_ratio": 1.0}, leave_out={"switch", "array"}, guest_queue_depth=None))
    san.steps[0] = replace(san.steps[0], flows={"write": Flow(120, 0.0083)}, disk={"write": Flow(4 * 120, 0.002)})
    diagnosis = judged(san.write())
    assert "device-shared" not in {finding.rule for finding in diagnosis.findings if finding.outcome == "hit"}
    against = [words for s in diagnosis.verdict.suspects if s.verdict == "concurrency_limited" for words in s.against]
    assert not any("others are outstanding there" in words for words in against)

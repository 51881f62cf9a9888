"""Writes that end in a file cache reach the storage during the flush that the load waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Verdict
from sanpath.facts.compute import compute
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, judged

FULL = 0.97 * 425e6 / (32 * 2076)
"""Writes of 64 KiB a second that fill 4GFC links."""
JOBS = 8


def buffered(folder: Path, ops: float, direct: bool) -> Verdict:
    """Each of eight jobs writes in 0.05 ms, and waits for a flush the rest of the time."""
    latency = 5e-5
    san = San(folder, leave_out={"disk", "lun"}, about={"direct": direct}, flushes_in_flight=JOBS - ops * latency)
    ports = {port.name: (NOTHING, ops * 32 * 2076) for port in (HOST_PORT, ARRAY_PORT)}
    san.step("s", JOBS, write=Flow(ops, latency), array={"write": AtArray(2e-5)}, ports=ports, seconds=20)
    return judged(san.write()).verdict


def test_a_full_link_limits_writes_that_end_in_a_file_cache(tmp_path: Path) -> None:
    """All data cross the links while the load waits for its flushes: 0.05 of 1.3 ms are timed."""
    verdict = buffered(tmp_path, FULL, direct=False)
    assert verdict.bottlenecks[0].kind == "link"
    assert verdict.suspects[0].probability > 0.9


@pytest.mark.parametrize("direct", [True, False])
def test_flushes_above_links_with_room_are_too_few(tmp_path: Path, direct: bool) -> None:
    assert buffered(tmp_path, FULL / 4, direct).kind == "concurrency_limited"


def test_flushes_that_were_queued_behind_the_writes_do_not_count_twice(tmp_path: Path) -> None:
    """As fio counts with libaio: of eight outstanding operations seven are writes, and flushes wait as long."""
    san = San(tmp_path / "r.sanpath", leave_out={"lun"}, flushes_in_flight=7.9)
    san.step("s", JOBS, write=Flow(7000, 7.1 / 7000), seconds=20)
    recording = san.write()
    found = judged(recording)
    assert "more-in-flight-than-configured" not in {f.rule for f in found.findings if f.outcome == "hit"}
    (load,) = compute(recording).loads
    assert load.outstanding == pytest.approx(JOBS, rel=0.01)
    assert load.cycle_seconds == pytest.approx(JOBS / 7000, rel=0.01)

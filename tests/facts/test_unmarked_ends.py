"""A step whose end is not marked yet, at any moment of a run: a load may tell it only with its next step."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.facts.facts import Facts
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder, microseconds

OPS, LATENCY = 1000, 0.016
BEGINS, LENGTH, PAUSE = (2.0, 37.0), 20.0, 15.0
"""Two steps with a pause between them, in seconds."""
MOMENTS = sorted(random.Random(3).sample(range(8, 58), 10))


def facts_at(folder: Path, now: float, every: float, stall: tuple[float, float] = (0.0, 0.0)) -> Facts:
    """What is recorded at a moment of a load that completes nothing in pauses, and while it is stalled."""
    recording = RecordingBuilder(folder)
    recording.source("fio", "fio", LOAD, every=every)
    done, at = {"t1": 0.0, "t2": 0.0}, 0.0
    while (at := round(at + 0.1, 1)) <= now:
        for step, begin in zip(done, BEGINS, strict=True):
            is_busy = begin < at <= begin + LENGTH and not stall[0] < at <= stall[1]
            done[step] += 0.1 * OPS if is_busy else 0.0
        if round(10 * at) % round(10 * every) == 3:
            values = {
                f"fio/{step}": {
                    "ops_read_total": round(ops),
                    "bytes_read_total": round(ops) * 4096,
                    "latency_seconds_read_total": round(ops * LATENCY * 1e9),
                }
                for step, ops in done.items()
                if ops
            }
            recording.samples("fio", LOAD, at, values)
            recording.poll("fio", at)
    for group, (step, begin) in enumerate(zip(done, BEGINS, strict=True)):
        about = {"step": step, "group": group, "loads": f"fio/{step}", "offered": 16}
        if group and begin <= now:
            recording.event("fio", BEGINS[0] + LENGTH, "step-end", step="t1", group=0)
        if begin <= now:
            recording.event("fio", begin, "step-begin", **about)
            recording.event("fio", begin + 1, "ramp-end", **about)
    return judge_recording(recording.write(ended=False))[0]


@pytest.mark.parametrize("every", [1.0, 2.5])
@pytest.mark.parametrize("now", MOMENTS)
def test_the_pause_after_a_step_is_no_part_of_it(now: int, every: float, tmp_path: Path) -> None:
    """Links that are idle in the pause are not as idle in the step. The window in which the pause began may count."""
    facts = facts_at(tmp_path / "r", now, every)
    assert len(facts.steps) == sum(begin <= now for begin in BEGINS)
    for step, begin in zip(facts.steps, BEGINS, strict=False):
        ended = min(now, begin + LENGTH)
        assert ended - 2 * every <= (step.end - microseconds(0)) / 1e6 <= ended + every
    for load in facts.loads:
        assert load.ops_per_second == pytest.approx(OPS, rel=0.05)
        assert load.in_flight_measured == pytest.approx(OPS * LATENCY, rel=0.05)


def test_a_load_that_has_stalled_and_goes_on_has_stalled_in_its_step(tmp_path: Path) -> None:
    facts = facts_at(tmp_path / "r", 20, 1.0, stall=(8.0, 14.0))
    (load,) = facts.loads
    assert load.ops_per_second == pytest.approx(OPS * 11 / 17, rel=0.1)


def test_a_step_that_was_never_marked_as_ended_ends_with_its_last_io(tmp_path: Path) -> None:
    """Its load was killed: other sources were read on."""
    (step,) = facts_at(tmp_path / "r", 36, 1.0).steps
    assert microseconds(20) <= step.end <= microseconds(22)

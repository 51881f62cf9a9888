"""Where the latency of a step was spent, and what each part waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.recording.reading.recording import Recording
from sanpath_lab.generator import draw
from sanpath_testbed.record import record
from tests.support.stories import judged


@pytest.mark.parametrize("seed", [89123, 89125])
def test_where_an_array_limits_its_queue_is_in_the_layer_of_the_verdict(tmp_path: Path, seed: int) -> None:
    """The array reports the times of one volume in the first, and of the array in the second."""
    record(draw(seed).scenario, tmp_path / "r.sanpath")
    found = judged(Recording(tmp_path / "r.sanpath"))
    limit = found.verdict.bottlenecks[0]
    assert limit.kind == "array"
    (budget,) = (
        each
        for each in found.latency_budget
        if (each.step, each.direction) == (found.verdict.from_step, limit.direction)
    )
    (queue,) = (part for part in budget.parts if part.what == "queue in the array")
    assert (queue.layer, queue.limited_by) == (limit.layer, limit.entity)
    assert queue.seconds[0] > budget.total_seconds / 2

"""When the ramp of a step ended, where a load reports several ends of it."""

from __future__ import annotations

import pytest

from sanpath.facts.time.steps import StepMarks
from sanpath.plugin import LoadStep

STEP = LoadStep(name="rd1", loads=("vdbench/rd1",), offered=8.0)


@pytest.mark.parametrize(
    ("ends", "counts"),
    [
        (((2, False),), 2),
        (((2, False), (5, False)), 2),
        (((2, False), (5, True)), 5),
        (((2, True), (5, False)), 2),
        (((1, False), (2, True), (5, False)), 2),
    ],
)
def test_the_first_end_counts_unless_the_load_calls_another_one_final(
    ends: tuple[tuple[int, bool], ...], counts: int
) -> None:
    marks = StepMarks()
    marks.add("vdbench", STEP.event("step-begin", 0))
    for seen, final in ends:
        marks.add("vdbench", STEP.event("ramp-end", seen, final=final))
    assert [each.ramp_end_us for each in marks.marked] == [counts]

"""A file whose own times are right stays where it is, however unevenly its device worked."""

from __future__ import annotations

import numpy as np
import pytest

from sanpath.facts.samples.clock_offsets import ClockOffset
from sanpath.facts.samples.cumulative import Work
from sanpath.facts.time.load_edges import offset

STEP_SECONDS, BEGINS = 8.0, (0.0, 10.0, 20.0, 30.0)
TOKENS = (
    [9.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    *([3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] for _ in range(3)),
)
"""I/Os of each second of four steps: a volume saves what it may do in bursts while a test pauses."""
EVEN = tuple([sum(step) / len(step)] * len(step) for step in TOKENS)


def load() -> Work:
    """One figure for each step, as fio's final result has."""
    limits, until = [], [0.0]
    for begin, seconds in zip(BEGINS, TOKENS, strict=True):
        limits += [begin, begin + STEP_SECONDS]
        until += [until[-1] + sum(seconds)] * 2
    return Work(np.array(limits), np.array(until[:-1]))


def device(late: float, steps: tuple[list[float], ...] = TOKENS) -> Work:
    """A window each second; the first after a pause contains the pause, as where a cache has no news."""
    moments, until = [-3.0], [0.0]
    for begin, seconds in zip(BEGINS, steps, strict=True):
        moments.append(begin)
        until.append(until[-1])
        for second, done in enumerate(seconds, 1):
            moments.append(begin + second)
            until.append(until[-1] + done)
    limits = np.array([-2.0, *(begin + second for begin in BEGINS for second in range(1, 10))])
    return Work(limits + late, np.interp(limits, moments, until))


def test_a_burst_at_the_begin_of_steps_moves_no_file_into_another_step() -> None:
    found = offset(load(), device(0.0))
    assert isinstance(found, ClockOffset)
    assert found.seconds == 0


@pytest.mark.parametrize("late", [-100.0, -13.0, 12.0, 300.0])
def test_a_file_that_is_late_is_moved(late: float) -> None:
    found = offset(load(), device(late, EVEN))
    assert isinstance(found, ClockOffset)
    assert found.seconds == pytest.approx(late, abs=1.0)

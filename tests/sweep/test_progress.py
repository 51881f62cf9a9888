"""What is done, what was cut, and how long it will still take."""

from __future__ import annotations

import pytest

from sanpath.model import Event, Scalar
from sanpath.sweep.matrix import steps
from sanpath.sweep.plan import Plan
from sanpath.sweep.progress import STEP_BEGIN, STEP_END, progress, remaining_seconds
from sanpath.units import long_duration

PLAN = Plan.model_validate(
    {"target": {"filename": "a"}, "seconds": 10, "warmup_seconds": 2, "matrix": {"in_flight": [1, 2, 4, 8]}}
)
SECOND = 1_000_000


def begin(at: float, key: str, plan: str = "p") -> tuple[str, Event]:
    return "recorder", Event(round(at * SECOND), STEP_BEGIN, {"key": key, "plan": plan})


def end(at: float, key: str, outcome: str = "done", code: int = 0, plan: str = "p") -> tuple[str, Event]:
    detail: dict[str, Scalar] = {"key": key, "plan": plan, "outcome": outcome, "exit_code": code}
    return "recorder", Event(round(at * SECOND), STEP_END, detail)


def test_only_what_ended_well_is_done() -> None:
    events = [
        begin(0, "step-01"), end(12, "step-01"),
        begin(13, "step-02"), end(20, "step-02", "interrupted", 128),
        begin(30, "step-02"),
        begin(50, "step-03", plan="another"), end(60, "step-03", plan="another"),
    ]  # fmt: skip
    now = progress(events, "p")
    assert (set(now.done), set(now.cut), now.running) == ({"step-01"}, {"step-02"}, "step-02")
    assert now.took == (12.0,)


def test_a_failure_is_forgotten_when_the_step_is_run_again() -> None:
    failed = [begin(0, "step-01"), end(1, "step-01", "failed", 1)]
    assert progress(failed, "p").failed == (("step-01", 1),)
    assert progress([*failed, begin(5, "step-01")], "p").failed == ()


def test_remaining_time_from_the_plan_then_from_what_steps_took() -> None:
    todo = steps(PLAN)
    nothing = progress([], "p")
    assert remaining_seconds(PLAN, todo, nothing, 0) == pytest.approx(4 * (2 + 10 + 1 + 1))
    one = progress([begin(0, "step-01"), end(20, "step-01"), begin(21, "step-02")], "p")
    assert remaining_seconds(PLAN, todo, one, 31 * SECOND) == pytest.approx(3 * 21 - 10)


def test_a_step_that_takes_longer_than_the_others_does_not_eat_their_time() -> None:
    now = progress([begin(0, "step-01"), end(10, "step-01"), begin(11, "step-02")], "p")
    assert remaining_seconds(PLAN, steps(PLAN), now, 500 * SECOND) == pytest.approx(2 * 11)


@pytest.mark.parametrize(
    ("seconds", "reported"), [(0.4, "0 s"), (59.4, "59 s"), (130, "2 min 10 s"), (3 * 3600 + 300, "3 h 5 min")]
)
def test_time_as_a_person_says_it(seconds: float, reported: str) -> None:
    assert long_duration(seconds) == reported

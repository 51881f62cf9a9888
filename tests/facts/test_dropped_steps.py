"""Steps that were cut short are not judged; the same step, run again, is."""

from __future__ import annotations

from sanpath.facts.time.steps import load_steps
from sanpath.model import Event

SECOND = 1_000_000


def mark(at: float, name: str, step: str) -> tuple[str, Event]:
    source = "recorder" if name == "step-dropped" else "fio"
    return source, Event(round(at * SECOND), name, {"step": step, "group": 0, "loads": f"fio/{step}"})


def names(*events: tuple[str, Event]) -> list[str]:
    return [step.name for step in load_steps(events, 0, 100 * SECOND)]


def test_a_dropped_step_is_left_out_and_the_others_stay() -> None:
    one = mark(1, "step-begin", "a"), mark(10, "step-end", "a")
    cut = mark(12, "step-begin", "b"), mark(15, "step-end", "b"), mark(16, "step-dropped", "b")
    assert names(*one, *cut) == ["a"]


def test_run_again_it_counts_under_its_own_name() -> None:
    cut = mark(12, "step-begin", "b"), mark(30, "step-dropped", "b")
    again = mark(31, "step-begin", "b"), mark(50, "step-end", "b")
    [step] = load_steps([*cut, *again], 0, 100 * SECOND)
    assert (step.name, step.end) == ("b", 50 * SECOND)
    assert step.start >= 31 * SECOND


def test_when_every_step_was_dropped_the_whole_run_is_none() -> None:
    assert names(mark(1, "step-begin", "a"), mark(5, "step-dropped", "a")) == []

"""Load steps from the marks of a load, or from nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.facts.time.steps import load_steps
from sanpath.model import Event, Scalar, Step, StepLoad
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder, microseconds

SECOND = 1_000_000


def marks(*reported: tuple[float, str, int, str]) -> list[tuple[str, Event]]:
    """(time, mark, group, step) of one fio."""
    events = []
    for at, name, group, step in reported:
        detail: dict[str, Scalar] = {"step": step, "group": group, "loads": f"fio/{step}", "offered": 16}
        events.append(("fio", Event(round(at * SECOND), name, {**detail, "block_bytes": 65536.0})))
    return events


def limits(steps: Sequence[Step]) -> list[tuple[str, float, float]]:
    return [(s.name, s.start / SECOND, s.end / SECOND) for s in steps]


def test_a_tenth_of_a_step_is_left_out_as_its_ramp() -> None:
    (step,) = load_steps(marks((10, "step-begin", 0, "t2"), (70, "step-end", 0, "t2")), 0, 99 * SECOND)
    assert limits([step]) == [("t2", 16, 70)]
    assert step.origin == "marks"
    assert step.loads == (StepLoad("fio", ("fio/t2",), offered=16.0, block_bytes=65536.0),)
    assert (step.offered, step.block_bytes, step.rate_limited) == (16, 65536, False)


def test_of_a_short_step_at_least_a_second_is_left_out() -> None:
    (step,) = load_steps(marks((10, "step-begin", 0, "t2"), (15, "step-end", 0, "t2")), 0, 99 * SECOND)
    assert limits([step]) == [("t2", 11, 15)]


def test_the_ramp_that_the_load_names_is_left_out() -> None:
    reported = marks((10, "step-begin", 0, "t2"), (30, "ramp-end", 0, "t2"), (70, "step-end", 0, "t2"))
    assert limits(load_steps(reported, 0, 99 * SECOND)) == [("t2", 30, 70)]


def test_a_ramp_that_the_load_marks_again_ended_at_the_earlier_time() -> None:
    reported = [(10, "step-begin"), (24, "ramp-end"), (30, "ramp-end"), (70, "step-end")]
    for order in (reported, [reported[0], reported[2], reported[1], reported[3]]):
        marked = marks(*((at, name, 0, "t2") for at, name in order))
        assert limits(load_steps(marked, 0, 99 * SECOND)) == [("t2", 24, 70)]


@pytest.mark.parametrize(("behind", "placed"), [(0.0, 0.0), (4.0, -4.0), (30.0, 0.0)])
def test_a_load_dates_its_steps_by_its_own_clock_unless_that_was_set(
    behind: float, placed: float, tmp_path: Path
) -> None:
    """Samples arrive as they are dated; the marks say that they arrived late by so many seconds."""
    recording = RecordingBuilder(tmp_path / "recording")
    recording.source("fio", "fio", LOAD)
    for at in range(100):
        recording.samples("fio", LOAD, at, {"fio/t2": {"ops_read_total": 100 * at}}, device_at=at)
    for at, name in ((40, "step-begin"), (42, "ramp-end"), (60, "step-end")):
        dated = microseconds(at - behind)
        recording.event("fio", at, name, step="t2", group=0, loads="fio/t2", device_time=dated)
    facts, _ = judge_recording(recording.write())
    (step,) = facts.steps
    assert (step.start, step.end) == (microseconds(42 + placed), microseconds(60 + placed))


def test_a_killed_run_ends_with_what_was_recorded() -> None:
    reported = marks((10, "step-begin", 0, "a"), (20, "step-end", 0, "a"), (30, "step-begin", 1, "b"))
    assert limits(load_steps(reported, 0, 50 * SECOND)) == [("a", 11, 20), ("b", 32, 50)]


def test_a_step_that_has_just_begun_has_no_negative_length() -> None:
    (step,) = load_steps(marks((10, "step-begin", 0, "a")), 0, 5 * SECOND)
    assert step.seconds == 0


def test_without_marks_the_whole_run_is_one_step() -> None:
    (step,) = load_steps([("fio", Event(3, "load-ended", {"exit_code": 0}))], 5 * SECOND, 65 * SECOND)
    assert limits([step]) == [("whole run", 5, 65)]
    assert (step.origin, step.offered, step.loads) == ("whole run", None, ())


def test_two_steps_of_one_name_are_told_apart() -> None:
    reported = marks(
        *((10, "step-begin", 0, "t2"), (20, "step-end", 0, "t2")),
        *((30, "step-begin", 1, "t2"), (40, "step-end", 1, "t2")),
    )
    assert [s.name for s in load_steps(reported, 0, 99 * SECOND)] == ["t2", "t2 (2)"]


def test_a_second_run_of_the_load_into_the_same_recording_has_steps_of_its_own() -> None:
    """The second fio numbers its groups from 0 as well."""
    reported = marks(
        *((10, "step-begin", 0, "t2"), (20, "step-end", 0, "t2")),
        *((110, "step-begin", 0, "t2"), (120, "step-end", 0, "t2")),
    )
    assert limits(load_steps(reported, 0, 199 * SECOND)) == [("t2", 11, 20), ("t2 (2)", 111, 120)]


def test_marks_that_name_no_load_mean_every_load() -> None:
    events = [("other", Event(SECOND, "step-begin", {"step": "a"})), ("other", Event(9 * SECOND, "step-end", {}))]
    (step,) = load_steps(events, 0, 9 * SECOND)
    assert step.loads == ()


def two_loads(*reported: tuple[float, str, str, str]) -> list[tuple[str, Event]]:
    """(time, source, mark, step) of loads that keep 8 I/Os in flight each."""
    return [
        (source, Event(round(at * SECOND), name, {"step": step, "loads": f"{source}/{step}", "offered": 8}))
        for at, source, name, step in sorted(reported, key=lambda mark: mark[0])
    ]


def test_loads_that_run_together_share_a_step() -> None:
    """The edges, where only one of them runs, are no steps."""
    reported = two_loads(
        *((10, "one", "step-begin", "read"), (10, "one", "ramp-end", "read"), (70, "one", "step-end", "read")),
        *((11, "two", "step-begin", "write"), (11, "two", "ramp-end", "write"), (72, "two", "step-end", "write")),
    )
    (step,) = load_steps(reported, 0, 99 * SECOND)
    assert limits([step]) == [("read + write", 11, 70)]
    assert step.loads == (
        StepLoad("one", ("one/read",), offered=8.0),
        StepLoad("two", ("two/write",), offered=8.0),
    )
    assert step.offered == 16


def test_a_load_that_joins_for_a_while_makes_three_steps() -> None:
    reported = two_loads(
        *((0, "one", "step-begin", "read"), (0, "one", "ramp-end", "read"), (90, "one", "step-end", "read")),
        *((30, "two", "step-begin", "write"), (30, "two", "ramp-end", "write"), (60, "two", "step-end", "write")),
    )
    steps = load_steps(reported, 0, 99 * SECOND)
    assert limits(steps) == [("read", 0, 30), ("read + write", 30, 60), ("read (2)", 60, 90)]
    assert [step.offered for step in steps] == [8, 16, 8]


@pytest.mark.parametrize("loads", [2, 5, 6, 40])
def test_a_step_of_many_loads_has_a_name_that_can_be_read(loads: int) -> None:
    events = [
        (f"fio-{number}", Event(at * SECOND, name, {"step": f"job {number}"}))
        for at, name in ((0, "step-begin"), (60, "step-end"))
        for number in range(loads)
    ]
    (step,) = load_steps(events, 0, 99 * SECOND)
    assert len(step.name) < 64
    assert step.name.startswith("job 0 + job 1")
    assert (f"and {loads - 5} more" in step.name) is (loads > 5)


def test_the_one_figure_of_a_load_keeps_its_own_limits() -> None:
    """Its ramp is in its figure; everything else is judged after the ramp."""
    events = [
        ("sqlio", Event(10 * SECOND, "step-begin", {"step": "a", "loads": "sqlio", "summary": True})),
        ("sqlio", Event(70 * SECOND, "step-end", {})),
    ]
    (step,) = load_steps(events, 0, 99 * SECOND)
    assert limits([step]) == [("a", 11, 70)]
    assert step.loads == (StepLoad("sqlio", ("sqlio",), (10 * SECOND, 70 * SECOND)),)


@pytest.mark.parametrize("name", ["ramp-end", "step-end"])
def test_a_mark_without_a_beginning_is_not_a_step(name: str) -> None:
    assert [s.origin for s in load_steps(marks((10, name, 0, "a")), 0, 20 * SECOND)] == ["whole run"]

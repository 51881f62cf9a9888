"""When no load runs, and which windows of an array tell of that time."""

from __future__ import annotations

import pytest

from sanpath.facts.storage.idle_arrays import idle_windows, times_without_load
from sanpath.model import Event

SECOND = 1_000_000


def at(seconds: float) -> int:
    return round(seconds * SECOND)


def test_no_load_runs_before_the_first_and_between_loads_that_do_not_overlap() -> None:
    """a runs from 8 to 38 s, b from 30 to 40, c from 45 and is not known to end."""
    marks = [("a", 8, "begin"), ("b", 30, "begin"), ("a", 38, "end"), ("b", 40, "end"), ("c", 45, "begin")]
    events = [(source, Event(at(seconds), f"step-{name}", {})) for source, seconds, name in marks]
    assert times_without_load(events, 0) == [(0, at(8)), (at(40), at(45))]
    assert times_without_load(events, at(8)) == [(at(40), at(45))]
    assert times_without_load([], 0) == []


@pytest.mark.parametrize(
    ("uncertain", "means", "begins", "loaded"),
    [
        pytest.param(0.0, True, [0, 20], 0.3, id="the load runs in 2 + 4 of 20 s"),
        pytest.param(0.5, True, [-0.5, 19.5], 0.4, id="it may run in 1 s more of each: in 3 + 5 of 20 s"),
        pytest.param(0.0, False, [], 0.0, id="moments tell nothing of a window in which it begins"),
    ],
)
def test_a_window_that_spans_the_begin_of_a_load_tells_of_the_time_without_it(
    uncertain: float, means: bool, begins: list[float], loaded: float
) -> None:
    """Windows of 10 s; no load runs from 0 to 8 and from 21 to 27 s. The one between is of the load alone."""
    windows = [(at(begin), at(begin + 10)) for begin in (0, 10, 20)]
    steps, ratio = idle_windows(windows, [(0, at(8)), (at(21), at(27))], at(uncertain), means)
    assert [step.start / SECOND for step in steps] == begins
    assert ratio == pytest.approx(loaded)


def test_windows_in_a_row_are_one_step() -> None:
    """The sources of an array need not report at the same moments."""
    windows = [(at(begin), at(begin + 1)) for begin in range(4)]
    steps, loaded = idle_windows(windows, [(0, at(3))], 0, False)
    assert [(step.start, step.end) for step in steps] == [(0, at(3))]
    assert loaded == 0

"""How often a verdict comes: soon after whatever changes, seldom while nothing does on a busy machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from sanpath.diagnosis.experiment import VerdictKind
from sanpath.pulse.model import Freshness
from sanpath.views.live.cursor import Cursor
from sanpath.views.live.reading import pace
from sanpath.views.live.reading.pace import Pace
from sanpath.views.live.reading.priority import Processors
from sanpath.views.live.reading.shown_verdict import DebouncedVerdict, verdict_of
from tests.views.live.made import diagnosis, snapshot, step
from tests.views.live.test_pulse import PULSE, READ

ALL_ANSWER = replace(PULSE, ages={"sw1": Freshness(1.0, 0.4, late=False)})
Happenings = dict[int, Callable[["Run"], None]]
"""Second of the run → what happens then."""


class Run:
    """A run in simulated time, on a machine with two processors that is busy. `verdicts`: when each was judged."""

    def __init__(self, cost_seconds: float = 0.1, idle_ratio: float = 0.05, processors: int = 2) -> None:
        self.now, self.pulse = 0.0, ALL_ANSWER
        self.verdicts: list[float] = []
        self.kind: VerdictKind = "bottleneck"
        self._windows = 4
        self._machine = Processors(processors, 0, 1)
        self._cost_seconds, self._idle_ratio = cost_seconds, idle_ratio
        self.pace = Pace(lambda: self.pulse, lambda: self.now)

    def play(self, seconds: float, happenings: Happenings, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """The times of all verdicts until then."""
        waiting = dict(happenings)

        async def sleep(asked_seconds: float) -> None:
            self.now += asked_seconds
            for second in [second for second in waiting if second <= self.now]:
                waiting.pop(second)(self)

        async def judge() -> None:
            shown = DebouncedVerdict()
            while self.now < seconds:
                self.verdicts.append(self.now)
                self._windows += 2
                made = diagnosis(step(kind=self.kind, windows=self._windows))
                judged = replace(snapshot(made), cost_seconds=self._cost_seconds, machine=self._machine)
                shown = shown.update(verdict_of(made, Cursor()))
                await self.pace.wait(replace(judged, idle_ratio=self._idle_ratio), shown)

        monkeypatch.setattr(pace.asyncio, "sleep", sleep)
        asyncio.run(judge())
        return self.verdicts

    def between(self, first: float, last: float) -> int:
        """How many verdicts there were."""
        return sum(first <= moment < last for moment in self.verdicts)


def begin_a_step(run: Run) -> None:
    run.pulse = replace(run.pulse, step="t200")


def reach_more(run: Run) -> None:
    run.pulse = replace(run.pulse, loads=(replace(READ, ops_per_second=2 * READ.ops_per_second),))


def add_something(run: Run) -> None:
    run.pulse = replace(run.pulse, additions=1)


def lose_a_source(run: Run) -> None:
    run.pulse = replace(run.pulse, ages={"sw1": Freshness(1.0, 9.0, late=True)})


def hear_from_it_again(run: Run) -> None:
    run.pulse = ALL_ANSWER


def test_in_a_run_in_which_nothing_changes_verdicts_become_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    verdicts = run.play(900, {}, monkeypatch)
    assert run.between(0, 20) >= 4
    assert run.between(300, 900) in range(9, 31)
    pauses = [later - earlier for earlier, later in pairwise(verdicts)]
    assert max(pauses) <= 61


def test_in_the_long_run_verdicts_take_less_than_a_fifth_of_a_percent_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(cost_seconds=0.15)
    run.play(1800, {}, monkeypatch)
    assert run.between(600, 1800) * 0.15 / (2 * 1200) < 0.002


@pytest.mark.parametrize("happens", [begin_a_step, reach_more, add_something, lose_a_source])
def test_whatever_changes_is_judged_soon(monkeypatch: pytest.MonkeyPatch, happens: Callable[[Run], None]) -> None:
    run = Run()
    run.play(640, {602: happens}, monkeypatch)
    assert any(604 <= moment <= 613 for moment in run.verdicts)


def test_a_new_step_brings_several_verdicts_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()
    run.play(640, {602: begin_a_step}, monkeypatch)
    assert run.between(602, 622) >= 4


def test_a_changed_verdict_is_confirmed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run()

    def become_healthy(_: Run) -> None:
        run.kind = "healthy"

    run.play(720, {602: become_healthy}, monkeypatch)
    first = next(moment for moment in run.verdicts if moment >= 602)
    assert run.between(first, first + 10) >= 3


def test_a_poll_that_is_late_once_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = Run().play(700, {}, monkeypatch)
    disturbed = Run().play(700, {602: lose_a_source, 604: hear_from_it_again}, monkeypatch)
    assert len(disturbed) == len(undisturbed)


def test_a_machine_with_time_to_spare_is_judged_as_often_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = Run(idle_ratio=0.9)
    idle.play(900, {}, monkeypatch)
    assert idle.between(600, 900) >= 140
    large = Run(processors=128)
    large.play(900, {}, monkeypatch)
    assert large.between(600, 900) >= 140

"""What a verdict proposes is done in the simulation: what one step alone cannot tell is told afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sanpath_lab.generator import draw
from sanpath_lab.generator.reading import EVERYTHING
from sanpath_testbed import draws
from sanpath_testbed.corpus import EXPERIMENTS, Job, outcome
from sanpath_testbed.experiments import Trial, heaviest_step_alone, perform, trials
from sanpath_testbed.outcome import NO_ELEMENT_KINDS, judge, not_applicable

CASES = {
    20007: ("neighbour-media", "more_in_flight"),
    20052: ("media", "more_in_flight"),
    20057: ("neighbour-media", "more_in_flight"),
}
"""Draws that one step cannot tell: fault, and an experiment without which it stays so."""


@pytest.fixture(scope="module", params=CASES, ids=lambda seed: f"draw-{seed}")
def case(request: pytest.FixtureRequest) -> tuple[int, list[Trial]]:
    drawn = draw(request.param)
    assert drawn.fault == CASES[request.param][0]
    return request.param, list(trials(heaviest_step_alone(drawn.scenario), drawn.reading))


def test_one_step_alone_acquits_nobody(case: tuple[int, Sequence[Trial]]) -> None:
    first = case[1][0].diagnosis.verdict
    assert first.kind not in NO_ELEMENT_KINDS
    assert first.kind == "cannot_tell"
    assert first.experiment is not None


def test_what_it_proposes_tells(case: tuple[int, Sequence[Trial]]) -> None:
    seed, made = case
    assert CASES[seed][1] in made[-1].performed
    assert judge("draw", seed, None, draw(seed).scenario.truth, made[-1].diagnosis).is_right


def test_the_suspect_that_it_raises_is_the_one_that_is_right(case: tuple[int, Sequence[Trial]]) -> None:
    """Of the first experiment: what was seen is what it said it would mean."""
    (before, after), truth = case[1][:2], draw(case[0]).scenario.truth
    experiment = before.diagnosis.verdict.experiment
    assert experiment is not None
    if experiment.action != "more_in_flight":
        return
    few, many = (step.directions[truth.direction].ops_per_second for step in after.diagnosis.steps)
    seen = many > 1.5 * few
    most = max(experiment.meanings, key=lambda m: (m.if_seen if seen else m.if_not) / m.probability)
    assert (most.verdict == "concurrency_limited") == (truth.kind == "concurrency_limited")


def test_what_a_person_has_to_change_is_not_done() -> None:
    drawn = draw(20007)
    experiment = next(trials(heaviest_step_alone(drawn.scenario), EVERYTHING)).diagnosis.verdict.experiment
    assert experiment is not None
    deeper = replace(experiment, action="deeper_queue", in_flight=None)
    assert perform(drawn.scenario, EVERYTHING, deeper) is None


def test_the_table_has_what_came_of_it() -> None:
    blank = replace(not_applicable("draw", 7, None, draw(20007).scenario.truth), applies=True, fault="media")
    result = replace(blank, experiments=("more_in_flight",), kind="bottleneck", kind_is_right=True, rank=1)
    result = replace(result, kind_at_first="cannot_tell")
    left = replace(blank, seed=8, experiments=(), kind_at_first="cannot_tell", suspects=("unseen  0.5",))
    table = draws.experiments([result, left])
    assert "| cannot tell | 2 | 0.000 | 0.500 | 0 | 0 | 0.50 |" in table
    assert "draw:8" in table
    assert "draw:7" not in table


@pytest.mark.slow
def test_a_score_does_what_is_proposed() -> None:
    found = outcome(Job("draw", 20007, None, EXPERIMENTS))
    assert found.experiments is not None
    assert (found.kind_at_first, found.right_at_first, found.is_right) == ("cannot_tell", False, True)

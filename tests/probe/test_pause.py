"""A pause of the load shows whether it slows other hosts: where they wait for it, it is limited at the array."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, Trial
from sanpath.probe.budget import Spent, rate_limit, refusal_reason, step_seconds
from sanpath.probe.choice import best_choice, expected_bits
from sanpath.probe.experiment_steps import Order, order_of, start_order
from sanpath.views import json, markdown, terminal_report
from sanpath_lab.generator import draw
from sanpath_testbed.experiments import heaviest_step_alone
from sanpath_testbed.probes import lab_runner, probe_plan
from tests.probe.plans import plan

MEDIA, PORT, DISK, UNREAD = 60021, 60014, 60169, 70109
"""Draws that are limited by the media behind the array, by a port of the array that others fill, and by the queue of
a disk; and one whose array is not read."""


def pause_of(**changed: object) -> Order:
    order = order_of(plan(**changed), "pause", None, "to see the neighbours")
    assert order is not None
    return order


def paused(seed: int, folder: Path) -> list[Diagnosis]:
    """The diagnoses of a draw after its load and after a pause of it."""
    drawn = draw(seed)
    scenario = heaviest_step_alone(drawn.scenario)
    with lab_runner(scenario, drawn.reading, folder / "p.sanpath") as run:
        return [run(start_order(probe_plan(scenario))), run(pause_of())]


def share(trial: Trial, name: str) -> float:
    return next((suspect.probability for suspect in trial.suspects if suspect.name == name), 0.0)


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> list[Diagnosis]:
    return paused(MEDIA, tmp_path_factory.mktemp("media"))


def test_where_others_wait_less_without_the_load_the_array_is_suspected_more(media: list[Diagnosis]) -> None:
    before, after = media
    assert after.probe is not None
    start, pause = after.probe.steps
    assert (start.experiment, pause.experiment, pause.is_seen) == ("start", "pause", True)
    assert share(pause, "array:fa1") > 2 * share(start, "array:fa1") > 0
    assert "lower latency of other hosts would point to array fa1" in pause.why
    assert "1.64 ms in the pause, 6.78 ms under load, 4.14 times: lower latency of other hosts" in pause.outcome
    assert [step.name for step in after.steps] == [step.name for step in before.steps], "it is no step of the load"


@pytest.mark.slow
def test_where_others_do_as_before_the_array_is_ruled_out(tmp_path: Path) -> None:
    _, after = paused(DISK, tmp_path)
    assert after.probe is not None
    start, pause = after.probe.steps
    assert pause.is_seen is False
    assert "lower latency of other hosts was not seen" in pause.outcome
    assert share(pause, "array:fa1") < share(start, "array:fa1") / 2
    assert share(pause, "lun:sqlvm1/sda") > share(start, "lun:sqlvm1/sda")


@pytest.mark.slow
def test_a_pause_before_the_load_waits_for_it(tmp_path: Path) -> None:
    """A probe that begins from a recording runs the experiment first, and then what it is compared with."""
    drawn = draw(MEDIA)
    scenario = heaviest_step_alone(drawn.scenario)
    with lab_runner(scenario, drawn.reading, tmp_path / "p.sanpath") as run:
        alone, both = run(pause_of()), run(start_order(probe_plan(scenario)))
    assert alone.probe is not None
    assert both.probe is not None
    assert [trial.outcome for trial in alone.probe.steps] == ["no load: to be compared with the load itself"]
    assert [(trial.experiment, trial.is_seen) for trial in both.probe.steps] == [("start", None), ("pause", True)]


@pytest.mark.slow
def test_a_port_that_others_alone_fill_is_said(tmp_path: Path) -> None:
    _, after = paused(PORT, tmp_path)
    assert after.probe is not None
    assert "without the load, its busiest link sw1/fc1/11 - fa1/CT0.FC0 is 98" in after.probe.steps[-1].outcome
    assert "while the test paused, it was still 98.5 % utilised" in after.verdict.bottlenecks[0].because


@pytest.mark.slow
def test_the_pause_is_proposed_only_where_others_are_measured(media: list[Diagnosis], tmp_path: Path) -> None:
    pause = next(experiment for experiment in media[0].verdict.experiments if experiment.action == "pause")
    assert expected_bits(pause) > 0.05
    choice = best_choice([pause], {"pause": 15.0}, ("start",))
    assert choice is not None
    before, after = paused(UNREAD, tmp_path)
    assert "pause" not in [experiment.action for experiment in before.verdict.experiments]
    assert after.probe is not None
    assert after.probe.steps[-1].outcome.startswith("the I/O of other hosts was not measured")


def test_reports_show_it_as_a_step(media: list[Diagnosis]) -> None:
    for report in (terminal_report.render(media[-1], 100), markdown.render(media[-1])):
        tried = report.partition("What was tried")[2].partition("Where the")[0]
        assert "pause the load and watch the latency of other hosts" in tried
    assert '"experiment": "pause"' in json.render(media[-1])


def test_it_costs_time_and_nothing_else() -> None:
    small = plan(budget={"steps": 2, "bytes": "1k", "bytes_per_second": "1k", "seconds": 60}, seconds=20)
    order = pause_of()
    assert (rate_limit(small, Spent(), order), refusal_reason(small, Spent(), order)) == (None, "")
    assert step_seconds(small, order) == 23, "no warm-up"
    assert refusal_reason(small, Spent(steps=2), order)
    assert refusal_reason(small, Spent(seconds=40), order)
    assert order_of(plan(experiments=["smaller_blocks"]), "pause", None, "") is None

"""A probe of the lab proves what one step only suggests, and a diagnosis of its recording shows every step again."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.probe.budget import Spent
from sanpath.probe.experiment_steps import Finish, order_of, start_order
from sanpath.probe.search import change_text, find_limit
from sanpath.recording.reading.recording import Recording
from sanpath.views import json, markdown, terminal_report
from sanpath_lab.generator import draw
from sanpath_testbed.experiments import heaviest_step_alone
from sanpath_testbed.outcome import judge
from sanpath_testbed.probes import lab_runner, probe_plan

SEED = 70154
"""One step is not sure whether too few I/Os are outstanding or the array limits."""


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Diagnosis], Finish]:
    """The recording, the diagnosis after each step, and how the probe ended."""
    drawn = draw(SEED)
    scenario = heaviest_step_alone(drawn.scenario)
    plan, diagnoses = probe_plan(scenario), list[Diagnosis]()
    folder = tmp_path_factory.mktemp("probe") / "p.sanpath"
    with lab_runner(scenario, drawn.reading, folder) as run:
        while not isinstance(order := find_limit(plan, diagnoses[-1] if diagnoses else None, Spent()), Finish):
            diagnoses.append(run(order))
    return folder, diagnoses, order


def test_one_step_is_not_sure_and_the_next_proves(probed: tuple[Path, list[Diagnosis], Finish]) -> None:
    _, diagnoses, finish = probed
    assert [diagnosis.verdict.grade for diagnosis in diagnoses] == ["C", "A"]
    assert finish.reason.startswith("the verdict is settled: confidence A")
    assert judge("draw", SEED, None, draw(SEED).scenario.truth, diagnoses[-1]).is_right


def test_the_verdict_is_about_the_load_as_it_is_named(probed: tuple[Path, list[Diagnosis], Finish]) -> None:
    """Twice as many I/Os have twice the throughput; the question was about the first step all the same."""
    verdict = probed[1][-1].verdict
    assert verdict.from_step == probed[1][0].verdict.from_step


def test_every_step_is_in_the_recording(probed: tuple[Path, list[Diagnosis], Finish]) -> None:
    again = diagnose(Recording(probed[0]))
    assert again.probe is not None
    start, more = again.probe.steps
    assert (start.experiment, more.experiment) == ("start", "more_in_flight")
    assert start.is_seen is None
    assert more.is_seen is True
    assert "2.00 times the start, more throughput" in more.outcome
    assert "too few I/Os were outstanding" in more.why
    assert set(more.ruled_out) == {"array:fa1"}
    before, after = (
        next(s.probability for s in trial.suspects if s.name == "too few outstanding I/Os") for trial in (start, more)
    )
    assert before < 0.9 < 0.97 < after


def test_reports_show_what_was_tried(probed: tuple[Path, list[Diagnosis], Finish]) -> None:
    last = probed[1][-1]
    for report in (terminal_report.render(last, 100), markdown.render(last)):
        tried = report.partition("What was tried")[2].partition("Where the")[0]
        assert "the load as given" in tried
        assert "repeat the step with 24 outstanding I/Os" in tried
        assert "fa1" in tried
    assert '"experiment": "more_in_flight"' in json.render(last)


MIXED = 71413
"""A draw that reads and writes."""


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "direction"), [("one_direction", "read"), ("writes_only", "write")])
def test_a_mixed_load_is_read_or_written_alone(tmp_path: Path, experiment: str, direction: str) -> None:
    drawn = draw(MIXED)
    scenario = heaviest_step_alone(drawn.scenario)
    plan = probe_plan(scenario)
    with lab_runner(scenario, drawn.reading, tmp_path / "p.sanpath") as run:
        assert run(start_order(plan)).steps[0].directions.keys() == {"read", "write"}
        order = order_of(plan, experiment, None, "")
        assert order is not None
        diagnosis = run(order)
    alone = next(step for step in diagnosis.steps if step.name == order.step.name)
    assert alone.directions.keys() == {direction}
    assert diagnosis.probe is not None
    assert [trial.experiment for trial in diagnosis.probe.steps] == ["start", experiment]


def test_what_a_change_between_two_probes_has_proven(probed: tuple[Path, list[Diagnosis], Finish]) -> None:
    first, last = probed[1]
    assert change_text(first, last).startswith("no more throughput: ")
    assert "if the change was to" in change_text(first, last)


def test_a_single_io_shows_that_no_queue_of_the_unread_host_holds_them_back(tmp_path: Path) -> None:
    """The array admits one I/O at a time before its clock starts, and the host below the guest is not read."""
    drawn = draw(38170)
    scenario = heaviest_step_alone(drawn.scenario)
    plan = probe_plan(scenario)
    with lab_runner(scenario, drawn.reading, tmp_path / "p.sanpath") as run:
        first = run(start_order(plan))
        assert first.verdict.kind == "cannot_tell"
        order = order_of(plan, "one_in_flight", 1, "")
        assert order is not None
        second = run(order)
    assert [bottleneck.entity for bottleneck in second.verdict.bottlenecks] == ["array:fa1"]
    assert second.probe is not None
    alone = second.probe.steps[-1]
    assert (alone.experiment, alone.is_seen) == ("one_in_flight", False)
    assert "a latency close to the array's own was not seen" in alone.outcome

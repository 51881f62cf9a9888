"""How a load ended is part of the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.cli.options import Format
from sanpath.cli.output import render_diagnosis
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.chart_series import series
from sanpath.model import Event
from sanpath.plugin import LoadStep
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath.views.html.page import render as as_html
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import START_US, RecordingBuilder
from tests.support.stories import judged

SECONDS = 12


def ended(folder: Path, exit_code: int, errors: tuple[int, ...] = (0,), started: bool = True) -> Diagnosis:
    """A load whose steps ended with these errors; all but the first ended as they began."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio/a")
    for at in range(SECONDS + 1):
        values = {"ops_read_total": 1000 * at, "bytes_read_total": 4096000 * at, "ops_failed_total": 0}
        out.samples("fio", LOAD, at, {"fio/a": {**values, "latency_seconds_read_total": 4_000_000_000 * at}})
    for number, error in enumerate(errors):
        step = LoadStep(name=f"s{number}", loads=("fio/a",), offered=4, group=number, error=error)
        begun = 0 if number == 0 else SECONDS + number
        out.item("fio", step.event("step-begin", START_US + 1_000_000 * begun))
        out.item("fio", step.event("step-end", START_US + 1_000_000 * (SECONDS + number)))
    out.item("fio", Event(START_US + 1_000_000 * (SECONDS + len(errors)), "load-ended", {"exit_code": exit_code}))
    return judged(out.write(exit_code=exit_code if started else None))


@pytest.mark.parametrize(
    ("exit_code", "errors", "sentence"),
    [
        (137, (0,), "The load was killed by SIGKILL; the last step that it reported is s0."),
        (3, (0,), "The load ended with exit code 3; the last step that it reported is s0."),
        (1, (28,), "The load ended with error 28 (No space left on device) in step s0."),
        (1, (0, 108), "The load ended with error 108 in step s1."),
    ],
)
def test_every_view_says_how_the_load_ended_and_where(
    tmp_path: Path, exit_code: int, errors: tuple[int, ...], sentence: str
) -> None:
    found = ended(tmp_path, exit_code, errors)
    assert found.run.load_ended == sentence
    recording = Recording(tmp_path)
    topology = resolve(recording.inventory())
    for form in set(Format) - {Format.junit, Format.prometheus}:  # These have cases and numbers, and no text.
        page = as_html(found, topology, series(recording, topology))
        shown = page if form is Format.html else render_diagnosis(found, form, "")
        assert sentence in " ".join(shown.split()), form


@pytest.mark.parametrize(("exit_code", "errors"), [(0, (0,)), (0, (4,))])
def test_a_load_that_ended_in_time_or_was_interrupted_is_not_told(
    tmp_path: Path, exit_code: int, errors: tuple[int, ...]
) -> None:
    assert ended(tmp_path, exit_code, errors).run.load_ended is None


def test_a_load_that_sanpath_ended_is_not_told(tmp_path: Path) -> None:
    assert ended(tmp_path, 137, started=False).run.load_ended is None


@pytest.mark.parametrize("errors", [(28,), (0, 108), (0, 28, 28)])
def test_a_step_that_failed_before_it_was_measured_has_the_finding_of_failed_ios(
    tmp_path: Path, errors: tuple[int, ...]
) -> None:
    failed = [f"s{number}" for number, error in enumerate(errors) if error]
    found = ended(tmp_path, 1, errors)
    measured = {step.name for step in found.steps if step.directions}
    steps = {step for finding in found.findings if finding.rule == "load-ios-failed" for step in finding.steps}
    assert steps == set(failed) - measured
    # What is not known of the load is what was not known without that step.
    unknown = {(each.what, each.rules) for each in found.unobserved if "load" in each.what}
    whole = ended(tmp_path / "whole", 0)
    assert unknown == {(each.what, each.rules) for each in whole.unobserved if "load" in each.what}

"""What must hold for the predictions from every recording, whatever limits it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Setting
from sanpath.facts.facts import Facts
from sanpath.verdict.model import Judgement
from sanpath.verdict.run_verdict import judgement_of_run
from sanpath.whatif.configuration import configuration
from sanpath.whatif.predict import Prediction
from sanpath.whatif.settings import settable
from sanpath.whatif.what_if import what_if
from tests.support.stories import STORIES, recorded

SPEEDS = ("1GFC", "2GFC", "4GFC", "8GFC", "16GFC", "32GFC")
PERFORMANCE = ("speed", "queue_depth", "qos_ops_per_second", "qos_bytes_per_second")
_ROUNDED = 0.015
"""Relative error of a prediction by whole I/Os in flight and by measured shares of links."""


@cache
def judged(name: str) -> tuple[Facts, list[Judgement]]:
    """The facts and judgements of a story; made once a test run."""
    return judge_recording(recorded(name))


def settings(name: str) -> list[Setting]:
    facts, judgements = judged(name)
    if not judgements:
        return []
    found = configuration(facts, judgement_of_run(facts, judgements).load)
    return [each for each in found if settable(each.entity, each.setting) and each.setting in PERFORMANCE]


def predicted(name: str, *written: str) -> Sequence[Prediction]:
    return [step for step in what_if(*judged(name), written, False).steps if step.likely is not None]


def rising(name: str, entity_and_setting: str, values: Sequence[str]) -> None:
    """Each value predicts at least as much as the one before."""
    before: dict[tuple[str, str], float] = {}
    for value in values:
        for step in predicted(name, f"{entity_and_setting}={value}"):
            key = step.step, step.direction
            assert step.likely is not None
            assert step.likely >= before.get(key, 0.0) * (1 - _ROUNDED), (entity_and_setting, value)
            before[key] = step.likely


@pytest.mark.parametrize("name", STORIES)
def test_what_is_set_already_predicts_the_present(name: str) -> None:
    for each in settings(name):
        value = f"{each.value:g}" if isinstance(each.value, float) else str(each.value)
        for step in predicted(name, f"{each.entity}.{each.setting}={value}"):
            assert step.likely == pytest.approx(step.ops_per_second, rel=1e-6), (each, step)


@pytest.mark.parametrize("name", STORIES)
def test_a_faster_port_or_a_deeper_queue_predicts_no_less(name: str) -> None:
    for each in settings(name):
        if each.setting == "speed" and "GFC" in str(each.value):
            rising(name, f"{each.entity}.speed", SPEEDS)
        elif each.setting != "speed" and isinstance(each.value, int | float):
            values = [str(max(1, round(each.value * factor))) for factor in (0.5, 0.99, 1, 1.01, 2, 16)]
            rising(name, f"{each.entity}.{each.setting}", values)


@pytest.mark.parametrize("name", STORIES)
def test_more_in_flight_predicts_no_less(name: str) -> None:
    facts, judgements = judged(name)
    if not judgements:
        return
    load = judgement_of_run(facts, judgements).load
    if len(load.roots) == 1:
        counts = [max(1, round(load.in_flight_measured * factor)) for factor in (0.25, 0.5, 0.99, 1, 1.1, 2, 16)]
        rising(name, f"{load.roots[0]}.in_flight", [str(count) for count in sorted(set(counts))])

"""Performs the experiments that diagnoses propose, in the simulation, and diagnoses again.

Each case is run with one step, its heaviest. As long as the verdict is "cannot tell" or of grade C, the proposed
experiment is performed and added to the same recording: another step of the load, or a source that was not read.
An experiment that needs a changed setting is left to a person and ends the sequence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sanpath.diagnose import diagnose
from sanpath.diagnosis.experiment import Experiment
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from sanpath_lab.generator.reading import Reading, Source
from sanpath_lab.scenario import Scenario
from sanpath_testbed.defects import Defects
from sanpath_testbed.record import record

MAX_EXPERIMENTS = 5
"""Most experiments of one case."""
SOURCE_READ: dict[str, Source] = {"read_switches": "switches", "read_array": "array", "read_host": "host"}
"""Action of an experiment → the source that it reads."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A diagnosis, and the actions of the experiments that were performed before it, in order."""

    diagnosis: Diagnosis
    performed: tuple[str, ...]


def heaviest_step_alone(scenario: Scenario) -> Scenario:
    """Return the scenario with its heaviest step alone.

    Its threads have one I/O outstanding each, so that every number of I/Os in flight can be run.
    """
    load = scenario.load
    threads = load.outstanding_per_thread * load.threads[-1]
    if load.one_core_per_thread or load.ios_per_second is not None:
        return with_threads(scenario, load.threads[-1:])
    single = load.model_copy(update={"outstanding_per_thread": 1})
    return with_threads(scenario.model_copy(update={"load": single}), (threads,))


def trials(scenario: Scenario, reading: Reading) -> Iterator[Trial]:
    """Yield the diagnosis of a scenario, then the diagnosis after each proposed experiment."""
    performed: tuple[str, ...] = ()
    while True:
        diagnosis = _diagnose(scenario, reading)
        yield Trial(diagnosis, performed)
        experiment = diagnosis.verdict.experiment
        settled = diagnosis.verdict.kind != "cannot_tell" and diagnosis.verdict.grade != "C"
        if settled or experiment is None or len(performed) == MAX_EXPERIMENTS:
            return
        changed = perform(scenario, reading, experiment)
        if changed is None or changed == (scenario, reading):
            return
        scenario, reading = changed
        performed += (experiment.action,)


def perform(scenario: Scenario, reading: Reading, experiment: Experiment) -> tuple[Scenario, Reading] | None:
    """Return the scenario with the experiment's step added, or the reading with its source added.

    None: the experiment changes a setting of the storage, which is left to a person, or the load cannot run it.
    """
    if (source := SOURCE_READ.get(experiment.action)) is not None:
        return scenario, replace(reading, unread=reading.unread - {source})
    load = scenario.load
    if experiment.action not in ("more_in_flight", "fewer_in_flight") or experiment.in_flight is None:
        return None
    threads = max(1, round(experiment.in_flight / load.jobs / load.outstanding_per_thread))
    return with_threads(scenario, tuple(sorted({*load.threads, threads}))), reading


def with_threads(scenario: Scenario, threads: tuple[int, ...]) -> Scenario:
    """Return the scenario with one step for each number of threads."""
    return scenario.model_copy(update={"load": scenario.load.model_copy(update={"threads": threads})})


def _diagnose(scenario: Scenario, reading: Reading) -> Diagnosis:
    with tempfile.TemporaryDirectory(prefix="sanpath-testbed-") as folder:
        path = Path(folder) / "case.sanpath"
        record(scenario, path, Defects(scenario, None, reading))
        return diagnose(Recording(path))

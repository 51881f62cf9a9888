"""The experiments that diagnoses propose, made in the simulation: what comes of a verdict once they are done.

Each case is run with one step, its heaviest. As long as its verdict cannot tell, or is of grade C, the experiment
that it proposes is made and added to the same recording: another step of the load, or a source that was not read.
What would need a setting to be changed is a person's, and ends it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.experiment_model import Experiment
from sanpath.verdict.model import Diagnosis
from sanpath_lab.generator.reading import Reading, Source
from sanpath_lab.scenario import Scenario
from sanpath_testbed.defects import Defects
from sanpath_testbed.record import record

MOST = 5
"""Experiments that are made of one case at most."""
_READ: dict[str, Source] = {"read_switches": "switches", "read_array": "array", "read_host": "host"}


@dataclass(frozen=True, slots=True)
class Trial:
    """A diagnosis, and the experiments that were made before it, in order."""

    diagnosis: Diagnosis
    made: tuple[str, ...]


def one_step(scenario: Scenario) -> Scenario:
    """The heaviest step alone, by threads with one I/O outstanding each, so that every number can be run."""
    load = scenario.load
    threads = load.outstanding_per_thread * load.threads[-1]
    if load.one_core_per_thread or load.ios_per_second is not None:
        return _with_threads(scenario, load.threads[-1:])
    alone = load.model_copy(update={"outstanding_per_thread": 1})
    return _with_threads(scenario.model_copy(update={"load": alone}), (threads,))


def trials(scenario: Scenario, reading: Reading) -> Iterator[Trial]:
    """The diagnosis of a scenario, then those after each experiment that it proposes."""
    made: tuple[str, ...] = ()
    while True:
        found = _diagnosed(scenario, reading)
        yield Trial(found, made)
        experiment = found.verdict.experiment
        settled = found.verdict.kind != "cannot_tell" and found.verdict.grade != "C"
        if settled or experiment is None or len(made) == MOST:
            return
        after = performed(scenario, reading, experiment)
        if after is None or after == (scenario, reading):
            return
        scenario, reading = after
        made += (experiment.action,)


def performed(scenario: Scenario, reading: Reading, experiment: Experiment) -> tuple[Scenario, Reading] | None:
    """The scenario with an experiment's step added, or what of it is read with its source. None: it is a setting of
    the storage, which only a person changes, or the load cannot be run so."""
    if (source := _READ.get(experiment.action)) is not None:
        return scenario, replace(reading, unread=reading.unread - {source})
    load = scenario.load
    if experiment.action not in ("more_in_flight", "fewer_in_flight") or experiment.in_flight is None:
        return None
    threads = max(1, round(experiment.in_flight / load.jobs / load.outstanding_per_thread))
    return _with_threads(scenario, tuple(sorted({*load.threads, threads}))), reading


def _with_threads(scenario: Scenario, threads: tuple[int, ...]) -> Scenario:
    return scenario.model_copy(update={"load": scenario.load.model_copy(update={"threads": threads})})


def _diagnosed(scenario: Scenario, reading: Reading) -> Diagnosis:
    with tempfile.TemporaryDirectory(prefix="sanpath-testbed-") as folder:
        place = Path(folder) / "case.sanpath"
        record(scenario, place, Defects(scenario, None, reading))
        return diagnose(Recording(place))

"""Probes draws in the simulation: the searches of `sanpath probe` choose the steps, and the lab runs them.

Each case starts with its heaviest step alone. Only the load varies: a source that is not read remains unread.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from sanpath.diagnose import diagnose
from sanpath.diagnosis.experiment import LoadChange
from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath.probe.budget import Spent
from sanpath.probe.experiment_steps import Finish, Order
from sanpath.probe.plan import Budget, ProbePlan
from sanpath.probe.plan import Load as PlannedLoad
from sanpath.probe.search import Search
from sanpath.recording.reading.recording import Recording
from sanpath.sweep.plan import Target
from sanpath_lab.generator.reading import Reading
from sanpath_lab.scenario import Load, Scenario
from sanpath_testbed.defects import Defects
from sanpath_testbed.record import LabRecorder

MAX_STEPS = 5
"""Most steps of a probe, its first included."""
_UNLIMITED_SECONDS = 1e6
_PAUSE_SECONDS = 12.0
_EXPERIMENTS: tuple[LoadChange, ...] = ("more_in_flight", "fewer_in_flight", "one_in_flight", "smaller_blocks")


def probe_plan(scenario: Scenario) -> ProbePlan:
    """Return the plan of a probe that starts with the load of a scenario of one step."""
    load = scenario.load
    in_flight = load.threads[-1] * load.outstanding_per_thread * load.jobs
    disks = min(load.jobs, len(scenario.disks))
    allowed: list[LoadChange] = [*_EXPERIMENTS]
    allowed += ["one_direction", "writes_only"] if load.direction == "mixed" else []
    allowed += ["one_target"] if disks > 1 else []
    allowed += ["more_jobs"] if load.outstanding_per_thread % 2 == 0 else []
    read_ratio = {"read": 1.0, "write": 0.0}.get(load.direction, 1 - (load.write_ratio or 0.5))
    return ProbePlan(
        target=Target(filename=tuple(f"/dev/{disk.name}" for disk, _ in scenario.disks[:disks])),
        load=PlannedLoad(block_bytes=load.block_bytes, read_ratio=read_ratio, in_flight=in_flight),
        experiments=tuple(allowed),
        budget=Budget(seconds=_UNLIMITED_SECONDS, in_flight=16 * in_flight, steps=MAX_STEPS),
    )


def load_of(load: Load, order: Order) -> Load:
    """Return the load that a step stands for, of the lab's own kind."""
    step, jobs, outstanding = order.step, load.jobs, load.outstanding_per_thread
    if order.experiment in ("one_target", "one_in_flight"):
        jobs = 1
    if order.experiment == "one_in_flight":
        outstanding = 1
    if order.experiment == "more_jobs":
        outstanding //= 2
    only: dict[str, Literal["read", "write"]] = {"one_direction": "read", "writes_only": "write"}
    direction = only.get(order.experiment, load.direction)
    return load.model_copy(
        update={
            "threads": (max(1, round(step.in_flight / jobs / outstanding)),),
            "jobs": jobs,
            "outstanding_per_thread": outstanding,
            "block_bytes": step.block_bytes,
            "direction": direction,
            "write_ratio": load.write_ratio if direction == load.direction else None,
            "working_set_bytes": step.working_set_bytes or load.working_set_bytes,
        }
    )


@contextmanager
def lab_runner(scenario: Scenario, reading: Reading, folder: Path) -> Iterator[Callable[[Order], Diagnosis]]:
    """Yield a function that runs a step in the simulation and returns the diagnosis of all steps so far."""
    recorder = LabRecorder(scenario, folder, Defects(scenario, None, reading))
    with asyncio.Runner() as runner:
        runner.run(recorder.begin())

        def run(order: Order) -> Diagnosis:
            step = order.step
            if order.is_pause:
                runner.run(recorder.pause(_PAUSE_SECONDS, {"key": order.experiment, "step": step.name}))
                return diagnose(Recording(folder))
            marks: dict[str, Scalar] = {"step": step.name, "offered": step.in_flight, "experiment": order.experiment}
            runner.run(recorder.run_load(load_of(scenario.load, order), marks))
            return diagnose(Recording(folder))

        yield run
        recorder.end()


def probe(scenario: Scenario, reading: Reading, plan: ProbePlan, search: Search) -> tuple[list[Diagnosis], Finish]:
    """Probe a scenario in the simulation. Returns the diagnosis after each step, and why the probe ended."""
    diagnoses: list[Diagnosis] = []
    with (
        tempfile.TemporaryDirectory(prefix="sanpath-testbed-") as folder,
        lab_runner(scenario, reading, Path(folder) / "case.sanpath") as run,
    ):
        while True:
            order = search(plan, diagnoses[-1] if diagnoses else None, Spent(steps=len(diagnoses)))
            if isinstance(order, Finish):
                return diagnoses, order
            diagnoses.append(run(order))

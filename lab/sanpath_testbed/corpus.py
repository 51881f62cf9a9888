"""Runs a corpus of cases, by family, seed and defect, in parallel. A run that was interrupted can be resumed."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from sanpath import diagnose
from sanpath.diagnosis.experiment import Action
from sanpath.diagnosis.model import Diagnosis
from sanpath.probe.budget import Spent
from sanpath.probe.experiment_steps import Finish, Order
from sanpath.probe.plan import ProbePlan
from sanpath.probe.search import find_limit, repeat
from sanpath.recording.reading.recording import Recording
from sanpath.whatif.predict import Prediction
from sanpath.whatif.what_if import what_if
from sanpath_lab import families
from sanpath_lab.generator import FAMILY, Drawn, draw
from sanpath_lab.generator.faults import can_diagnose
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation
from sanpath_testbed.defects import Defect, Defects, as_tested
from sanpath_testbed.experiments import SOURCE_READ, heaviest_step_alone, trials, with_threads
from sanpath_testbed.knees import knees
from sanpath_testbed.outcome import KNEES, PROBES, Outcome, judge, not_applicable
from sanpath_testbed.probes import probe, probe_plan
from sanpath_testbed.record import BEFORE_SECONDS, EPOCH_SECONDS, record
from sanpath_testbed.relations import Variant, variant

PACKAGES = ("sanpath", "sanpath_collectors", "sanpath_rules", "sanpath_lab", "sanpath_testbed")

EXPERIMENTS = "experiments"
"""Used instead of a relation: run the heaviest step alone, then the experiments that its diagnosis proposes."""
REACHED_SECONDS = 4.0
"""How long a relieved scenario is measured after its ramp."""


class Job(NamedTuple):
    """A case to record and judge.

    `family`: "draw" is a draw of the generator. `defect`: None is a recording without a defect. `relation`: None is
    the case as drawn.
    """

    family: str
    seed: int
    defect: Defect | None
    relation: str | None = None


def jobs(names: Iterable[str], seeds: Sequence[int], defects: Sequence[Defect | None]) -> list[Job]:
    """Return all jobs of a corpus, seed by seed, so that an interrupted run is a smaller corpus."""
    named = list(names)
    return [Job(family, seed, defect) for defect in defects for seed in seeds for family in named]


def run(
    jobs_wanted: Sequence[Job], outcomes_file: Path, pool: Executor, on_outcome: Callable[[int, Outcome], None]
) -> list[Outcome]:
    """Run the jobs whose outcome is not yet in the file, and return all outcomes, sorted.

    Outcomes of another version of the code do not count. Each new outcome is appended at once. `pool` runs the jobs.
    `on_outcome` is called with the number of outcomes so far and the newest one.
    """
    code = _digest()
    done = {(o.family, o.seed, o.defect, o.relation): o for o in _read(outcomes_file, code)}
    outcomes = [done[job] for job in jobs_wanted if job in done]
    pending = [job for job in jobs_wanted if job not in done]
    with outcomes_file.open("a", encoding="utf-8") as file:
        running = [pool.submit(outcome, job) for job in pending]
        for ended in as_completed(running):
            result = ended.result()
            outcomes.append(result)
            file.write(json.dumps({"code": code, **asdict(result)}) + "\n")
            file.flush()
            on_outcome(len(outcomes), result)
    return sorted(outcomes, key=_case)


def outcome(job: Job, relieve: bool = True) -> Outcome:
    """Draw, record, diagnose and judge a case.

    `relieve`: also simulate the case with its limit relieved, if the verdict is right and the limit can be relieved.
    """
    if job.family == FAMILY:
        return _outcome_of_draw(job, relieve)
    case = families.case(job.family, job.seed)
    scenario, relieved = case.scenario, case.relieved if relieve and job.defect is None else None
    diagnosis, prediction = _diagnose_and_predict(
        as_tested(scenario, job.defect), Defects(scenario, job.defect), relieved is not None
    )
    result = judge(job.family, job.seed, job.defect, scenario.truth, diagnosis)
    if prediction is None or relieved is None or not result.is_right:
        return result
    return replace(
        result, predicted=prediction.predicted_ops_per_second, likely=prediction.likely, reached=_reached(relieved)
    )


def _outcome_of_draw(job: Job, relieve: bool) -> Outcome:
    """Return the outcome of a draw of the generator; arguments as of `outcome`."""
    drawn = draw(job.seed)
    if job.relation == EXPERIMENTS:
        return _after_experiments(job, drawn)
    if job.relation == PROBES:
        return _after_probe(job, drawn)
    if job.relation == KNEES:
        return _knee_found(job, drawn)
    changed: Variant | None = Variant(drawn.scenario, drawn.reading, job.defect)
    if job.relation is not None:
        changed = variant(job.relation, drawn)
    if changed is None:
        return replace(not_applicable(*job[:3], drawn.scenario.truth), fault=drawn.fault, relation=job.relation)
    relieve = relieve and drawn.reached is not None and job.defect is None and job.relation is None
    scenario = as_tested(changed.scenario, job.defect)
    defects = Defects(scenario, changed.defect, changed.reading, changed.miscount)
    diagnosis, prediction = _diagnose_and_predict(scenario, defects, relieve)
    result = judge(*job[:3], scenario.truth, diagnosis)
    accused = tuple(map(changed.old_name, result.accused))
    result = replace(result, fault=drawn.fault, diagnosable=drawn.diagnosable, relation=job.relation, accused=accused)
    if prediction is None or not result.is_right:
        return result
    return replace(
        result, predicted=prediction.predicted_ops_per_second, likely=prediction.likely, reached=drawn.reached
    )


def _after_experiments(job: Job, drawn: Drawn) -> Outcome:
    scenario = heaviest_step_alone(drawn.scenario)
    outcomes = [
        replace(judge(*job[:3], scenario.truth, trial.diagnosis), experiments=trial.performed)
        for trial in trials(scenario, drawn.reading)
    ]
    return replace(
        outcomes[-1],
        fault=drawn.fault,
        diagnosable=drawn.diagnosable,
        relation=job.relation,
        kind_at_first=outcomes[0].kind,
        right_at_first=outcomes[0].is_right,
    )


def _after_probe(job: Job, drawn: Drawn) -> Outcome:
    """Return the outcome of a draw after a probe, or after its first step if that gives a verdict. If the probe ends
    without a verdict, the first source that it proposes to read, and that the SAN has, is read, and the probe is
    repeated.
    """
    scenario, reading = heaviest_step_alone(drawn.scenario), drawn.reading
    plan = probe_plan(scenario)

    def search(plan: ProbePlan, diagnosis: Diagnosis | None, spent: Spent) -> Order | Finish:
        if spent.steps == 1 and diagnosis is not None and diagnosis.verdict.kind != "cannot_tell":
            return Finish("one step can tell")
        return find_limit(plan, diagnosis, spent)

    diagnoses, _ = probe(scenario, reading, plan, search)
    outcomes = [judge(*job[:3], scenario.truth, diagnosis) for diagnosis in diagnoses]
    last, right_by_hand = diagnoses[-1], False
    by_hand: Action | None = None
    if last.verdict.kind == "cannot_tell":
        actions = [experiment.action for experiment in last.verdict.experiments]
        by_hand = next((action for action in actions if SOURCE_READ.get(action) in reading.unread), None)
    if by_hand is not None:
        now_read = replace(reading, unread=reading.unread - {SOURCE_READ[by_hand]})
        again, _ = probe(scenario, now_read, plan, repeat(last))
        right_by_hand = judge(*job[:3], scenario.truth, again[-1]).is_right
    trials = last.probe.steps if last.probe is not None else ()
    return replace(
        outcomes[-1],
        experiments=tuple(trial.experiment for trial in trials[1:]),
        fault=drawn.fault,
        # A probe runs steps of its own.
        diagnosable=can_diagnose(drawn.fault, reading, with_threads(scenario, (1, 2))),
        relation=job.relation,
        kind_at_first=outcomes[0].kind,
        right_at_first=outcomes[0].is_right,
        right_after=tuple(o.is_right for o in outcomes),
        by_hand=by_hand,
        right_by_hand=right_by_hand,
    )


def _knee_found(job: Job, drawn: Drawn) -> Outcome:
    """Return the knees of a draw by a probe and by a sweep of its heaviest step."""
    scenario = heaviest_step_alone(drawn.scenario)
    result = not_applicable(*job[:3], scenario.truth)
    return replace(result, fault=drawn.fault, relation=job.relation, knee=knees(scenario))


def _diagnose_and_predict(scenario: Scenario, defects: Defects, relieve: bool) -> tuple[Diagnosis, Prediction | None]:
    """Return the diagnosis of a scenario, and the prediction of `sanpath whatif --relieve` for its heaviest step.

    None: nothing is predicted, or `relieve` is false.
    """
    with tempfile.TemporaryDirectory(prefix="sanpath-testbed-") as folder:
        path = Path(folder) / "case.sanpath"
        record(scenario, path, defects)
        recording = Recording(path)
        facts, judgements = diagnose.judge_recording(recording)
        diagnosis = diagnose.conclude(recording, facts, judgements)
        steps = what_if(facts, judgements, (), True).steps if relieve else ()
    heaviest = max(steps, key=lambda step: step.in_flight, default=None)
    return diagnosis, heaviest if heaviest is not None and heaviest.predicted_ops_per_second is not None else None


def _reached(scenario: Scenario) -> float:
    """Return the operations a second that the simulation counts in the last and heaviest step of a scenario."""
    heaviest = scenario.model_copy(
        update={"load": scenario.load.model_copy(update={"threads": scenario.load.threads[-1:]})}
    )
    simulation = Simulation(heaviest, EPOCH_SECONDS)
    simulation.advance(BEFORE_SECONDS)
    load = simulation.begin_load()
    simulation.advance(BEFORE_SECONDS + scenario.load.ramp_seconds + REACHED_SECONDS)
    job = load.jobs[0]
    return job.ios / job.runtime_seconds(simulation.now)


def outcomes_of_last_version(outcomes_file: Path) -> list[Outcome]:
    """Return the outcomes of a file that were written by the same version of the code as its last one, whichever
    version that is.

    Raises FileNotFoundError.
    """
    lines = outcomes_file.read_text(encoding="utf-8").splitlines()
    return sorted(_read(outcomes_file, json.loads(lines[-1])["code"]), key=_case) if lines else []


def _case(o: Outcome) -> tuple[str, int, str, str]:
    return o.family, o.seed, o.defect or "", o.relation or ""


def _read(outcomes_file: Path, code: str) -> Iterator[Outcome]:
    if not outcomes_file.exists():
        return
    adapter = TypeAdapter(Outcome)
    for line in outcomes_file.read_text(encoding="utf-8").splitlines():
        document: dict[str, Any] = json.loads(line)
        if document.pop("code") == code:
            yield adapter.validate_python(document)


def _digest() -> str:
    """Return a digest of all code and rules that an outcome depends on."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        folder = _folder(package)
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".yaml"):
                digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _folder(package: str) -> Path:
    import importlib

    file = importlib.import_module(package).__file__
    assert file is not None, f"{package} has no file"  # noqa: S101 - all of them are plain packages
    return Path(file).parent

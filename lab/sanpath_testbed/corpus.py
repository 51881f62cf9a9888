"""Runs a corpus: cases of families and seeds, with or without a defect, in parallel, resumable."""

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
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.model import Diagnosis
from sanpath.verdict.prediction.predict import Prediction
from sanpath.verdict.whatif import what_if
from sanpath_lab import families
from sanpath_lab.generator import FAMILY, Drawn, draw
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation
from sanpath_testbed.defects import Defect, Defects, as_tested
from sanpath_testbed.experiments import one_step, trials
from sanpath_testbed.outcome import Outcome, absent, judged
from sanpath_testbed.record import BEFORE_SECONDS, EPOCH_SECONDS, record
from sanpath_testbed.relations import Variant, variant

PACKAGES = ("sanpath", "sanpath_collectors", "sanpath_rules", "sanpath_lab", "sanpath_testbed")

EXPERIMENTS = "experiments"
"""In place of a relation: the heaviest step alone, and the experiments that its diagnosis proposes."""
REACHED_SECONDS = 4.0
"""How long a relieved scenario is simulated after its ramp."""


class Job(NamedTuple):
    """One case to be judged. `family` "draw": a draw of the generator. `defect` None: nothing goes wrong; `relation`
    None: the case is as it is drawn."""

    family: str
    seed: int
    defect: Defect | None
    relation: str | None = None


def jobs(names: Iterable[str], seeds: Sequence[int], defects: Sequence[Defect | None]) -> list[Job]:
    """All of a corpus, seed by seed: what has run when it is broken off is a smaller corpus."""
    named = list(names)
    return [Job(family, seed, defect) for defect in defects for seed in seeds for family in named]


def run(wanted: Sequence[Job], kept: Path, pool: Executor, tell: Callable[[int, Outcome], None]) -> list[Outcome]:
    """Judge what has not been judged by this very code; every outcome is kept in a file as soon as it is there.

    `pool` does the work; `tell` gets the number of outcomes so far and the newest.
    """
    code = _digest()
    done = {(o.family, o.seed, o.defect, o.relation): o for o in _read(kept, code)}
    found = [done[job] for job in wanted if job in done]
    left = [job for job in wanted if job not in done]
    with kept.open("a", encoding="utf-8") as file:
        running = [pool.submit(outcome, job) for job in left]
        for ended in as_completed(running):
            result = ended.result()
            found.append(result)
            file.write(json.dumps({"code": code, **asdict(result)}) + "\n")
            file.flush()
            tell(len(found), result)
    return sorted(found, key=lambda o: (o.family, o.seed, o.defect or "", o.relation or ""))


def outcome(job: Job, relieve: bool = True) -> Outcome:
    """Draw, record, diagnose and judge one case; where its limit can be relieved, and that is asked for, see what it
    brings."""
    if job.family == FAMILY:
        return _of_draw(job, relieve)
    case = families.case(job.family, job.seed)
    scenario, relieved = case.scenario, case.relieved if relieve and job.defect is None else None
    diagnosis, told = _told(as_tested(scenario, job.defect), Defects(scenario, job.defect), relieved is not None)
    found = judged(job.family, job.seed, job.defect, scenario.truth, diagnosis)
    if told is None or relieved is None or not found.first:
        return found
    return replace(found, predicted=told.predicted_ops_per_second, likely=told.likely, reached=_reached(relieved))


def _of_draw(job: Job, relieve: bool) -> Outcome:
    """The same for a draw of the generator."""
    drawn = draw(job.seed)
    if job.relation == EXPERIMENTS:
        return _after_experiments(job, drawn)
    changed: Variant | None = Variant(drawn.scenario, drawn.reading, job.defect)
    if job.relation is not None:
        changed = variant(job.relation, drawn)
    if changed is None:
        return replace(absent(*job[:3], drawn.scenario.truth), fault=drawn.fault, relation=job.relation)
    relieve = relieve and drawn.reached is not None and job.defect is None and job.relation is None
    scenario = as_tested(changed.scenario, job.defect)
    defects = Defects(scenario, changed.defect, changed.reading, changed.counted_low)
    diagnosis, told = _told(scenario, defects, relieve)
    found = judged(*job[:3], scenario.truth, diagnosis)
    accused = tuple(map(changed.old_name, found.accused))
    found = replace(found, fault=drawn.fault, tellable=drawn.tellable, relation=job.relation, accused=accused)
    if told is None or not found.first:
        return found
    return replace(found, predicted=told.predicted_ops_per_second, likely=told.likely, reached=drawn.reached)


def _after_experiments(job: Job, drawn: Drawn) -> Outcome:
    scenario = one_step(drawn.scenario)
    made = [
        replace(judged(*job[:3], scenario.truth, trial.diagnosis), experiments=trial.made)
        for trial in trials(scenario, drawn.reading)
    ]
    return replace(
        made[-1],
        fault=drawn.fault,
        tellable=drawn.tellable,
        relation=job.relation,
        kind_at_first=made[0].kind,
        right_at_first=made[0].first,
    )


def _told(scenario: Scenario, defects: Defects, relieve: bool) -> tuple[Diagnosis, Prediction | None]:
    """The diagnosis of a scenario, and what `sanpath whatif --relieve` says of its heaviest step; None: it says
    nothing, or is not asked."""
    with tempfile.TemporaryDirectory(prefix="sanpath-testbed-") as folder:
        place = Path(folder) / "case.sanpath"
        record(scenario, place, defects)
        recording = Recording(place)
        facts, judgements = diagnose.judge_recording(recording)
        diagnosis = diagnose.conclude(recording, facts, judgements)
        steps = what_if(facts, judgements, (), True).steps if relieve else ()
    heaviest = max(steps, key=lambda told: told.in_flight, default=None)
    return diagnosis, heaviest if heaviest is not None and heaviest.predicted_ops_per_second is not None else None


def _reached(scenario: Scenario) -> float:
    """The operations a second of a scenario's last and heaviest step, as the simulation counts them."""
    heaviest = scenario.model_copy(
        update={"load": scenario.load.model_copy(update={"threads": scenario.load.threads[-1:]})}
    )
    simulation = Simulation(heaviest, EPOCH_SECONDS)
    simulation.advance(BEFORE_SECONDS)
    load = simulation.begin_load()
    simulation.advance(BEFORE_SECONDS + scenario.load.ramp_seconds + REACHED_SECONDS)
    job = load.jobs[0]
    return job.ios / job.runtime_seconds(simulation.now)


def _read(kept: Path, code: str) -> Iterator[Outcome]:
    if not kept.exists():
        return
    outcomes = TypeAdapter(Outcome)
    for line in kept.read_text(encoding="utf-8").splitlines():
        said: dict[str, Any] = json.loads(line)
        if said.pop("code") == code:
            yield outcomes.validate_python(said)


def _digest() -> str:
    """Of all code and rules that an outcome depends on."""
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

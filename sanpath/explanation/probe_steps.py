"""The steps of a probe, and what each showed: the run is judged again after every step."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from sanpath.diagnosis.experiment import Experiment, LoadChange
from sanpath.diagnosis.model import Likelihood, Probe, Trial
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.probe_pauses import ProbePause
from sanpath.model import PAUSE, START, Step
from sanpath.sweep.progress import PROBE_END
from sanpath.topology.names import short_name
from sanpath.units import bandwidth, duration, iops, outstanding, percent
from sanpath.verdict.hypotheses.claim import suspect_name
from sanpath.verdict.judgement.experiment_outcomes import ExperimentOutcome, outcomes
from sanpath.verdict.judgement.slow_periods import judge_loads
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.table import place_tables
from sanpath.verdict.run_verdict import judgement_of_run

_LIKELY_PROBABILITY = 0.05
"""Probability from which a suspect counts as likely."""
_BUSY_UTILISATION = 0.2
"""Share of a link that other hosts must use during a pause for the link to be named. A lower share leaves nearly all
of the link to the load."""
_COMPARED_TO_START: tuple[LoadChange, ...] = get_args(LoadChange)
"""Experiments whose outcome is a ratio to the start load."""


def probe(facts: Facts, loads: Sequence[LoadFacts]) -> Probe | None:
    """The steps that a probe ran. None: the recording is not a probe's. `loads`: those that are judged."""
    steps = tuple(_trials(facts, loads))
    if not steps:
        return None
    ends = [event.detail for _, event in facts.events if event.name == PROBE_END]
    ended, next_step = (str(ends[-1].get(key) or "") if ends else "" for key in ("reason", "what"))
    return Probe(steps, ended, next_step)


def _trials(facts: Facts, loads: Sequence[LoadFacts]) -> Iterator[Trial]:
    before: Judgement | None = None
    done: list[Step] = []
    # The other experiments show a ratio to the start load. A probe that begins from a recording runs it as its second
    # step.
    pauses = {pause.step.name: pause for pause in facts.pauses}
    paused: list[ProbePause] = []
    all_steps = sorted([*facts.steps, *(pause.step for pause in facts.pauses)], key=lambda step: step.start)
    for step in sorted(all_steps, key=lambda step: step.experiment != START):
        loads_of_step = [load for load in loads if load.step == step.name]
        if step.experiment == PAUSE and step.name in pauses:
            paused.append(pauses[step.name])
        elif step.experiment and loads_of_step:
            done.append(step)
        else:
            continue
        names = {step.name for step in done}
        loads_so_far = [load for load in loads if load.step in names]
        facts_so_far = replace(
            facts,
            steps=tuple(done),
            loads=loads_so_far,
            pauses=tuple(paused),
            parts=[_in_steps(part, names, paused) for part in facts.parts],
            slowed=None if facts.slowed is None else _in_steps(facts.slowed, names, paused),
        )
        if step.experiment in _COMPARED_TO_START and (not done or done[0].experiment != START):
            yield _not_compared(step, loads_of_step)
            continue
        judgement = judgement_of_run(facts_so_far, judge_loads(facts_so_far, loads_so_far))
        yield _trial(facts_so_far, step, loads_of_step, before, judgement)
        before = judgement


def _in_steps(part: Facts, names: Collection[str], paused: Sequence[ProbePause]) -> Facts:
    """The facts of a part of the loads, or of their slow periods, in these steps."""
    steps = tuple(step for step in part.steps if step.name in names)
    return replace(part, steps=steps, loads=[x for x in part.loads if x.step in names], pauses=tuple(paused))


def _trial(
    facts: Facts, step: Step, loads: Sequence[LoadFacts], before: Judgement | None, judgement: Judgement
) -> Trial:
    outcome = _outcome(facts, step, judgement)
    experiment = _proposed(step, before)
    likely = [suspect for suspect in judgement.suspects if suspect.probability >= _LIKELY_PROBABILITY]
    still_likely = {(suspect.kind, suspect.entity) for suspect in likely}
    ruled_out = [
        suspect_name(suspect)
        for suspect in (before.suspects if before is not None else ())
        if suspect.probability >= _LIKELY_PROBABILITY and (suspect.kind, suspect.entity) not in still_likely
    ]
    return Trial(
        step=step.name,
        experiment=step.experiment,
        what=_in_words(step, experiment),
        why="" if experiment is None else experiment.pointer,
        outcome=_measured(loads, outcome) if step.experiment != PAUSE else _paused(facts, judgement, outcome),
        is_seen=None if outcome is None else outcome.is_seen,
        ruled_out=tuple(dict.fromkeys(ruled_out)),
        suspects=tuple(Likelihood(suspect_name(suspect), suspect.entity, suspect.probability) for suspect in likely),
        verdict=judgement.kind,
        grade=judgement.grade,
        probability=judgement.probability,
    )


def _not_compared(step: Step, loads: Sequence[LoadFacts]) -> Trial:
    """A step that needs a comparison with the start load, which has not been measured."""
    measured = _measured(loads, None) if loads else "no load"
    outcome = f"{measured}: to be compared with the load itself"
    return Trial(
        step=step.name,
        experiment=step.experiment,
        what=_in_words(step, None),
        why="",
        outcome=outcome,
        is_seen=None,
        ruled_out=(),
        suspects=(),
        verdict="cannot_tell",
        grade="C",
        probability=0.0,
    )


def _in_words(step: Step, experiment: Experiment | None) -> str:
    if step.experiment == START:
        return "the load as given"
    if experiment is None and step.experiment in _COMPARED_TO_START:
        return step.name
    # The step shows how many I/Os were outstanding; the plan may have allowed fewer than proposed.
    if experiment is None or experiment.in_flight is not None:
        return f"repeat the step with {outstanding(step.offered or 0)}"
    return experiment.text


def _proposed(step: Step, before: Judgement | None) -> Experiment | None:
    """The experiment as proposed before the step. None: it was not proposed."""
    experiments = before.experiments if before is not None else ()
    return next((experiment for experiment in experiments if experiment.action == step.experiment), None)


def _outcome(facts: Facts, step: Step, judgement: Judgement) -> ExperimentOutcome | None:
    """The outcome of a step for the start load. None: the step tested nothing."""
    for table in place_tables(facts, [judgement.load]):
        for outcome in outcomes(table):
            if outcome.step == step.name:
                return outcome
    return None


def _paused(facts: Facts, judgement: Judgement, outcome: ExperimentOutcome | None) -> str:
    """What a pause showed: latency and I/O of other hosts without the load, and the remaining use of the load's
    links."""
    if outcome is None or outcome.others is None:
        return "the I/O of other hosts was not measured both in the pause and under load"
    others = outcome.others
    words = f"other hosts: {iops(others.ops_per_second)}, {duration(others.paused_seconds)} in the pause, "
    words += f"{duration(others.loaded_seconds)} under load, {outcome.ratio:.2f} times: {outcome.in_words}"
    rows = facts.tables["link"].select(step=judgement.load.step, direction=judgement.load.direction)
    carried = [
        (utilisation, str(row["entity"]))
        for row in rows
        if row["on_loaded_path"] is not False
        and (utilisation := facts.pauses[-1].links.get((str(row["entity"]), judgement.load.direction))) is not None
    ]
    utilisation, busiest = max(carried, default=(0.0, ""))
    if utilisation < _BUSY_UTILISATION:
        return words
    link = short_name(busiest)
    return f"{words}; without the load, its busiest link {link} is {percent(utilisation)} utilised by others"


def _measured(loads: Sequence[LoadFacts], outcome: ExperimentOutcome | None) -> str:
    ops = sum(load.ops_per_second for load in loads)
    latency_seconds = sum(load.ops_per_second * load.latency_seconds for load in loads) / ops
    words = f"{iops(ops)}, {bandwidth(sum(load.bytes_per_second for load in loads))}, {duration(latency_seconds)}"
    if len(loads) == 1 and loads[0].p99_seconds is not None:
        words += f" (p99 {duration(loads[0].p99_seconds)})"
    return words if outcome is None else f"{words}: {outcome.ratio:.2f} times the start, {outcome.in_words}"

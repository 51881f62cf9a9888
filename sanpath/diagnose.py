"""diagnose(recording) → Diagnosis: the one function that views and commands call."""

from __future__ import annotations

import gc
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import cast

from sanpath import __version__
from sanpath.diagnosis.model import (
    Diagnosis,
    DirectionResult,
    ElementUse,
    Judging,
    Latency,
    Run,
    StepResult,
    StepVerdict,
)
from sanpath.diagnosis.sources import Mark
from sanpath.explanation.cleared import cleared_elements, with_validity_limits
from sanpath.explanation.coverage import accounts, iso, recorders, unobserved
from sanpath.explanation.curves import curves
from sanpath.explanation.findings import findings, validity_notes, with_arrays_by_volume
from sanpath.explanation.gaps import with_gaps
from sanpath.explanation.headline import with_headline
from sanpath.explanation.in_flight import in_flight
from sanpath.explanation.latency_budget import latency_budget
from sanpath.explanation.load_end import how_it_ended
from sanpath.explanation.next_command import with_commands
from sanpath.explanation.probe_steps import probe
from sanpath.explanation.remediation_plan import remediation_plan
from sanpath.explanation.step_differences import step_differences
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.host.vm_placement import moves_in
from sanpath.facts.load.load_events import warnings
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.facts.storage.load_volumes import array_side, operation_bytes, same_operations
from sanpath.facts.table import FactRow, number
from sanpath.model import MARK, Event, Step
from sanpath.recording.reading.recording import Recording
from sanpath.rulebook.model import Rule
from sanpath.rulebook.rule_files import load_rulebook
from sanpath.rulebook.site.accepted import split_accepted
from sanpath.rulebook.site.settings import Site
from sanpath.summary.summarise import summary
from sanpath.topology.paths import host_of
from sanpath.units import counted
from sanpath.verdict.judgement.slow_periods import judge_loads
from sanpath.verdict.model import Judgement
from sanpath.verdict.run_verdict import judgement_of_run, judgement_of_steps, run_verdict, verdicts_of_other_io
from sanpath.whatif.configuration import configuration
from sanpath.whatif.next_limit import with_next_limit
from sanpath.whatif.what_if import relieved_limit

_MEANINGFUL = 0.01
"""Share of a step's operations below which a direction is not judged by itself."""


def diagnose(
    recording: Recording,
    rules: Sequence[Rule] | None = None,
    site: Site | None = None,
    executor: Executor | None = None,
) -> Diagnosis:
    """Diagnoses a recording, finished or still growing.

    `rules`: None: the built-in ones. `site`: how they were changed, and what a site has accepted. `executor`:
    computes large inputs in parallel, None: this process.
    """
    return conclude(recording, *judge_recording(recording, executor), rules, site)


def conclude(
    recording: Recording,
    facts: Facts,
    judgements: Sequence[Judgement],
    rules: Sequence[Rule] | None = None,
    site: Site | None = None,
) -> Diagnosis:
    """The diagnosis of a recording that has been judged; see diagnose."""
    site = site or Site()
    rules = load_rulebook() if rules is None else rules
    cleared = cleared_elements(facts, judgements)
    verdict = replace(
        with_headline(facts, judgements, run_verdict(facts, judgements), cleared),
        curves=curves(facts.topology, [j.load for j in judgements]),
    )
    if not judgements and (failed := _failed_load(recording)) is not None:
        verdict = replace(verdict, headline=failed, decide_with="give a load command that runs")
    by_load = {(j.load.step, j.load.direction): j for j in judgements}
    polls = recording.polls()
    run = _run(recording, facts, rules)
    # A suppression is judged by the day of the test: an old recording gives the same report on every later day.
    tables = with_arrays_by_volume(facts.topology, facts.tables)
    remaining, accepted = split_accepted(
        findings(rules, facts.topology, tables, judgements, verdict),
        site.suppressions,
        date.fromisoformat(run.end[:10]),
    )
    # What every step needs is computed once: a recording may have thousands of steps and of events.
    load_notes, marks = warnings(facts.steps, facts.events)[0], _marks(facts)
    of_step: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        of_step.setdefault(judgement.load.step, []).append(judgement)

    def remarks(step: Step) -> list[str]:
        return [*load_notes.get(step.name, ()), *_by_hand(facts, step, marks)]

    differs = step_differences(facts)
    steps = [
        replace(_step(facts, step, of_step.get(step.name, ()), remarks(step)), differs=differs[step.name])
        for step in facts.steps
    ]
    diagnosis = Diagnosis(
        run=run,
        steps=tuple(
            replace(step, valid=(*step.valid, *dict.fromkeys(validity_notes(remaining, step.name)))) for step in steps
        ),
        verdict=verdict,
        latency_budget=tuple(
            latency_budget(facts.in_step(f.step), f, by_load.get((f.step, f.direction))) for f in facts.loads
        ),
        findings=tuple(remaining),
        cleared=tuple(with_validity_limits(cleared, remaining)),
        unobserved=with_gaps(unobserved(recording, polls, facts), recording, polls, facts, rules, tables, remaining),
        elements=tuple(_elements(facts)),
        sources=accounts(recording, polls, facts.clocks),
        marks=tuple(Mark(iso(e.seen), str(e.detail.get("text", ""))) for e in marks),
        configuration=configuration(facts, judgement_of_run(facts, judgements).load if judgements else None),
        plan=remediation_plan(remaining, verdict, {source.collector for source in recording.declarations}),
        judging=Judging(site.policy, site.limits, accepted, site.refused),
        recorders=recorders(facts),
        figures=tuple(facts.figures),
        probe=probe(facts, _meaningful_loads(facts)),
    )
    other_io = verdicts_of_other_io(facts, judgements)
    return replace(diagnosis, summary=summary(diagnosis, facts.topology, other_io, relieved_limit(facts, judgements)))


def judge_recording(
    recording: Recording, executor: Executor | None = None, over_time: bool = False
) -> tuple[Facts, list[Judgement]]:
    """The facts of a recording, and what limits each direction of each step: what a what-if starts from.

    `over_time`: with the samples of charts, see Facts.
    """
    recording.cache_samples()
    with without_garbage_collection():
        facts = compute(recording, executor, over_time)
        judgements = judge_loads(facts, _meaningful_loads(facts))
        in_step = [(facts.in_step(j.load.step), j) for j in judgements]
        return facts, [with_commands(f, with_next_limit(f, j)) for f, j in in_step]


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pauses garbage collection: rows are made by the hundred thousand and stay in use.

    Collecting among them takes an eighth of the time (measured at 100 million samples). Where it ends while they are
    in use, all of them are looked through once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _meaningful_loads(facts: Facts) -> list[LoadFacts]:
    total: defaultdict[str, float] = defaultdict(float)
    for load in facts.loads:
        total[load.step] += load.ops_per_second
    impossible = {load.step for load in facts.loads if load.is_impossible}
    meaningful = (load for load in facts.loads if load.step not in impossible)
    return [load for load in meaningful if load.ops_per_second >= _MEANINGFUL * total[load.step]]


def _failed_load(recording: Recording) -> str | None:
    """A headline if a load failed before it did any I/O. None: it did not."""
    for ending in recording.endings():
        if ending.load_exit_code:
            errors = "load/…/errors in the recording"
            return f"The load failed with exit code {ending.load_exit_code} before any I/O: see {errors}."
    return None


def _run(recording: Recording, facts: Facts, rules: Sequence[Rule]) -> Run:
    endings = recording.endings()
    codes = [e.load_exit_code for e in endings if e.load_exit_code is not None]
    code = next(filter(None, reversed(codes)), codes[-1] if codes else None)
    end = max([e.ended_us for e in endings] + [step.end for step in facts.steps], default=recording.started_us)
    return Run(
        recording.manifest.run_id,
        __version__,
        _digest(rules),
        iso(recording.started_us),
        iso(end),
        len(endings) >= recording.writers > 0,
        " ".join(recording.load_command),
        code,
        how_it_ended(facts, code),
    )


_last_digest: list[tuple[tuple[Rule, ...], str]] = []


def _digest(rules: Sequence[Rule]) -> str:
    """The digest of rules. The last one is kept: most processes diagnose by the same rules again and again."""
    known = tuple(rules)
    for last, digest in _last_digest:
        if last == known:
            return digest
    digest = hashlib.sha256("".join(rule.model_dump_json() for rule in known).encode()).hexdigest()[:12]
    _last_digest[:] = [(known, digest)]
    return digest


def _step(facts: Facts, step: Step, judgements: Sequence[Judgement], notes: Sequence[str]) -> StepResult:
    loads = [f for f in facts.loads if f.step == step.name]
    decided = judgement_of_steps(judgements) if judgements else None
    windows = decided.windows if decided is not None else 0
    others = [j for j in judgements if j is not decided]
    return StepResult(
        name=step.name,
        start=iso(step.start),
        end=iso(step.end),
        origin=step.origin,
        directions={f.direction: _direction(f, facts) for f in loads},
        in_flight=in_flight(facts.in_step(step.name), step, loads),
        windows_used=windows,
        valid=(*_validity_notes(facts, step, windows, loads, others), *_moved(facts, step), *notes),
        verdict=_step_verdict(judgements, loads),
        seen_at_array=any(load.seen_at_array for load in loads),
    )


def _by_hand(facts: Facts, step: Step, marks: Sequence[Event]) -> list[str]:
    """Remarks on the step from figures that were read by hand, and from marks."""
    marked = [
        f"before and after cannot be separated: {str(event.detail.get('text', ''))!r} was marked "
        f"{(event.seen - step.start) / 1e6:.0f} s into the step, whose figures are means over both"
        for event in marks
        if step.start <= event.seen < step.end
    ]
    return [*facts.by_hand.notes.get(step.name, ()), *marked]


def _moved(facts: Facts, step: Step) -> list[str]:
    """Remarks on virtual machines of the step's loads that moved."""
    moved = [note for load in facts.loads if load.step == step.name for note in _moves(facts, step, load)]
    return [*dict.fromkeys(moved)]


def _marks(facts: Facts) -> list[Event]:
    return [event for _, event in facts.events if event.name == MARK]


def _moves(facts: Facts, step: Step, load: LoadFacts) -> Iterator[str]:
    """Where the load's virtual machine ran, if it moved."""
    for move in moves_in(facts.vm_placements, load):
        vm, before, after = (facts.topology.entities[e].label for e in (move.vm, move.from_host, move.to_host))
        if move.seen_us >= step.start:
            host = host_of(facts.in_step(step.name).topology, load.roots[0])
            label = facts.topology.entities[host].label if host is not None else "no host"
            yield f"{vm} moved from {before} to {after} in this step: judged on {label}, with figures from both hosts"
        else:
            moved = f"{vm} had moved from {before} to {after} before this step"
            yield f"{moved}, which is not compared with steps on {before}"


def _elements(facts: Facts) -> Iterator[ElementUse]:
    """How busy each link was: those of the loaded path first, the busiest of them first."""
    certain = {True: 0, None: 1, False: 2}
    for row in sorted(
        facts.tables["link"],
        key=lambda r: (certain[cast(bool | None, r["on_loaded_path"])], -number(r, "utilisation"), str(r["entity"])),
    ):
        yield ElementUse(
            entity=str(row["entity"]),
            kind="link",
            step=str(row["step"]),
            direction=str(row["direction"]),
            on_loaded_path=cast(bool | None, row["on_loaded_path"]),
            speed=cast(str | None, row["speed"]),
            utilisation=_optional(row, "utilisation"),
            bytes_per_second=_optional(row, "bytes_per_second"),
            capacity_bytes_per_second=_optional(row, "capacity_bytes_per_second"),
            full_windows_ratio=_optional(row, "full_windows_ratio"),
            share=_optional(row, "share"),
            foreign_bytes_per_second=_optional(row, "foreign_bytes_per_second"),
        )


def _optional(row: FactRow, fact: str) -> float | None:
    return None if row.get(fact) is None else number(row, fact)


def _direction(load: LoadFacts, facts: Facts) -> DirectionResult:
    histogram = facts.histograms.get((load.step, load.direction))
    mean = load.latency_seconds
    latency = Latency(
        mean,
        load.p50_seconds,
        load.p95_seconds,
        load.p99_seconds,
        load.slowest_seconds,
        histogram,
        load.latency_interval,
    )
    return DirectionResult(load.ops_per_second, load.bytes_per_second, latency, load.throughput_spread, load.stalls)


def _step_verdict(judgements: Sequence[Judgement], loads: Sequence[LoadFacts]) -> StepVerdict:
    """The step's kind is that of its busiest direction; every direction's bottlenecks are listed."""
    if not judgements:
        contradicts = any(load.is_impossible for load in loads)
        reason = (
            "its figures contradict each other" if contradicts else "no complete window of the load is in this step"
        )
        return StepVerdict("cannot_tell", "C", (), (reason,))
    decided = judgement_of_steps(judgements)
    ordered = [decided, *(j for j in judgements if j is not decided)]
    return StepVerdict(
        decided.kind,
        decided.grade,
        tuple(b for j in ordered for b in j.bottlenecks),
        decided.because,
        decided.part,
    )


def _validity_notes(
    facts: Facts, step: Step, windows: int, loads: Sequence[LoadFacts], others: Sequence[Judgement]
) -> list[str]:
    """Remarks on the step. `windows`: of the direction that its verdict rests on. `others`: the other directions."""
    notes = []
    # A load that reports a single figure has enough windows; other sources have windows of their own.
    if windows < MIN_WINDOWS and not (windows == 1 and loads and all(load.summary for load in loads)):
        reason = "too short" if windows else "too short, or a source gave nothing"
        notes.append(
            f"{reason}: {counted(windows, 'complete window')} of the slowest source, {MIN_WINDOWS} are needed"
        )
    else:
        notes += [
            f"too short for its {j.load.direction}s: {counted(j.windows, 'complete window')} of the slowest source, "
            f"{MIN_WINDOWS} are needed; the verdict does not rest on them"
            for j in others
            if j.windows < MIN_WINDOWS and not j.load.summary
        ]
    if any(load.summary and not load.series for load in loads):
        notes.append("it is not known whether the step was steady: the load gave a single figure for it")
    if step.left_out:
        notes.append(step.left_out)
    if step.origin == "found":
        notes.append(
            "the load did not mark its steps: they are derived from pauses and from jumps in its outstanding I/Os"
        )
    elif step.origin != "marks":
        notes.append("begin and end of the step are not known: the load did not mark its steps")
    measured = sum(f.in_flight_measured for f in loads)
    if step.offered and loads and measured > 1.1 * step.offered:
        contradiction = f"more outstanding I/Os ({measured:.0f}) than configured ({step.offered:.0f})"
        is_judged = not any(load.is_impossible for load in loads)
        follows = "check units and joins" if is_judged else "its figures contradict each other, and it is not judged"
        notes.append(f"{contradiction}: {follows}")
    for load in loads:
        row = array_side(facts.topology, load, facts.tables)
        if row is not None and load.operation_bytes and not same_operations(load, row):
            notes.append(
                f"comparing the {load.direction} latencies of load and array: an I/O is {load.operation_bytes:,.0f} "
                f"bytes at the load and {operation_bytes(row):,.0f} at {row['entity']}"
            )
    return notes

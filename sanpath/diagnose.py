"""diagnose(recording) → Diagnosis: the one function that views and commands call."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sanpath import __version__
from sanpath.facts.compute import Facts, compute
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import array_side, operation_bytes, same_operations
from sanpath.facts.table import number
from sanpath.model import Poll, Step
from sanpath.recording.read import Recording
from sanpath.rulebook.load import load_rulebook
from sanpath.rulebook.model import Rule
from sanpath.rulebook.policy import Policy
from sanpath.topology.identity import Topology
from sanpath.topology.paths import io_paths
from sanpath.verdict.budget import latency_budget
from sanpath.verdict.cleared import cleared_elements
from sanpath.verdict.findings import findings, unjudged
from sanpath.verdict.judged import Judgement
from sanpath.verdict.judgement import judge
from sanpath.verdict.model import (
    Diagnosis,
    DirectionResult,
    InFlight,
    Latency,
    Run,
    SourceAccount,
    StepResult,
    StepVerdict,
    Unobserved,
)
from sanpath.verdict.rank import deciding, run_verdict

_MEANINGFUL = 0.01
"""A direction with less than this share of a step's operations is not judged by itself."""


def diagnose(recording: Recording, rules: Sequence[Rule] | None = None, policy: Policy | None = None) -> Diagnosis:
    """Everything sanpath has to say about a recording, finished or still growing; `rules` None: the built-in ones."""
    rules = load_rulebook() if rules is None else rules
    facts = compute(recording)
    judgements = [judge(facts, load) for load in _meaningful(facts)]
    cleared = cleared_elements(facts, judgements)
    verdict = run_verdict(facts, judgements, cleared)
    limiters = {(j.load.step, j.load.direction): j.limiter for j in judgements}
    polls = recording.polls()
    return Diagnosis(
        run=_run(recording, facts, rules),
        steps=tuple(_step(facts, step, [j for j in judgements if j.load.step == step.name]) for step in facts.steps),
        verdict=verdict,
        latency_budget=tuple(latency_budget(facts, f, limiters.get((f.step, f.direction))) for f in facts.loads),
        findings=tuple(findings(rules, facts.tables, judgements, verdict, policy)),
        cleared=tuple(cleared),
        unobserved=(
            *_unread(recording, polls),
            *_unjoined(facts.topology),
            *_blind(facts),
            *unjudged(rules, facts.tables),
        ),
        sources=_accounts(recording, polls, facts.clock_offset_seconds),
    )


def _meaningful(facts: Facts) -> list[LoadFacts]:
    total: defaultdict[str, float] = defaultdict(float)
    for load in facts.loads:
        total[load.step] += load.ops_per_second
    return [load for load in facts.loads if load.ops_per_second >= _MEANINGFUL * total[load.step]]


def _run(recording: Recording, facts: Facts, rules: Sequence[Rule]) -> Run:
    endings = recording.endings()
    codes = [e.load_exit_code for e in endings if e.load_exit_code is not None]
    digest = hashlib.sha256("".join(rule.model_dump_json() for rule in rules).encode()).hexdigest()[:12]
    end = max([e.ended_us for e in endings] + [step.end for step in facts.steps], default=recording.started_us)
    return Run(
        recording.manifest.run_id,
        __version__,
        digest,
        iso(recording.started_us),
        iso(end),
        bool(endings),
        codes[0] if codes else None,
    )


def iso(microseconds: int) -> str:
    """A time for people and programs: ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _step(facts: Facts, step: Step, judgements: Sequence[Judgement]) -> StepResult:
    loads = [f for f in facts.loads if f.step == step.name]
    windows = min((j.windows for j in judgements), default=0)
    return StepResult(
        step.name,
        iso(step.start),
        iso(step.end),
        step.origin,
        {f.direction: _direction(f) for f in loads},
        _in_flight(step, loads),
        windows,
        tuple(_validity(facts, step, windows, loads)),
        _step_verdict(judgements),
    )


def _in_flight(step: Step, loads: Sequence[LoadFacts]) -> InFlight:
    if not loads:
        return InFlight(step.offered, None)
    return InFlight(loads[0].in_flight_configured, sum(f.in_flight_measured for f in loads))


def _direction(load: LoadFacts) -> DirectionResult:
    latency = Latency(load.latency_seconds, load.p50, load.p95, load.p99, load.max)
    return DirectionResult(load.ops_per_second, load.bytes_per_second, latency, load.throughput_spread)


def _step_verdict(judgements: Sequence[Judgement]) -> StepVerdict:
    """The step's kind is that of its busiest direction; every direction's bottlenecks are listed."""
    if not judgements:
        return StepVerdict("cannot_tell", "C", (), ("no whole window of the load lies in this step",))
    judged = deciding(judgements)
    ordered = [judged, *(j for j in judgements if j is not judged)]
    return StepVerdict(judged.kind, judged.grade, tuple(b for j in ordered for b in j.bottlenecks), judged.because)


def _validity(facts: Facts, step: Step, windows: int, loads: Sequence[LoadFacts]) -> list[str]:
    said = []
    if windows < 4:
        said.append(f"too short: {windows} whole windows of the slowest source, at least 4 are needed")
    if step.origin != "marks":
        said.append("the limits of the step are not known: the load gave no marks")
    measured = sum(f.in_flight_measured for f in loads)
    if step.offered and loads and measured > 1.1 * step.offered:
        said.append(
            f"more I/Os in flight ({measured:.0f}) than configured ({step.offered:.0f}): check units and joins"
        )
    for load in loads:
        row = array_side(facts.topology, load, facts.tables)
        if row is not None and load.operation_bytes and not same_operations(load, row):
            said.append(
                f"comparing the {load.direction} latencies of load and array: an I/O is {load.operation_bytes:,.0f} "
                f"bytes at the load and {operation_bytes(row):,.0f} at {row['entity']}"
            )
    return said


def _accounts(recording: Recording, polls: Sequence[Poll], offsets: Mapping[str, float]) -> tuple[SourceAccount, ...]:
    found = []
    for declaration in recording.declarations:
        own = [p for p in polls if p.source == declaration.name]
        done = [p for p in own if p.outcome != "skipped"]
        failed = [p for p in done if p.outcome in ("failed", "partial")]
        found.append(
            SourceAccount(
                declaration.name,
                declaration.collector,
                len(done),
                len(failed),
                len(own) - len(done),
                offsets.get(declaration.name),
                sum(p.ended - p.started for p in done) / 1e6,
                sum(p.requests for p in done),
                failed[-1].message if failed else "",
            )
        )
    return tuple(found)


def _unread(recording: Recording, polls: Sequence[Poll]) -> list[Unobserved]:
    """Sources that failed, were late or left things out, and segments that cannot be read."""
    found = []
    for declaration in recording.declarations:
        own = [p for p in polls if p.source == declaration.name]
        good = [p for p in own if p.outcome == "ok"]
        bad = [p for p in own if p.outcome in ("failed", "partial")]
        late = [p for p in own if p.outcome == "skipped"]
        if not own:
            found.append(
                Unobserved(
                    f"source {declaration.name}",
                    "no poll of it was recorded",
                    f"what {declaration.name} knows may be missing",
                )
            )
        elif bad and not good:
            found.append(
                Unobserved(
                    f"source {declaration.name}", bad[-1].message, f"nothing that {declaration.name} knows was judged"
                )
            )
        elif bad or late:
            reason = bad[-1].message if bad else late[-1].message
            what = f"source {declaration.name}, {len(bad)} failed polls and {len(late)} gaps"
            found.append(Unobserved(what, reason, "steps with fewer than four whole windows are graded C"))
    damaged = sorted(recording.unreadable)
    return found + [Unobserved(f"segment {n}", "damaged or not ours", "its samples are missing") for n in damaged]


def _unjoined(topology: Topology) -> list[Unobserved]:
    return [Unobserved(u.what, u.why, "its traffic is not attributed to anything") for u in topology.unjoined]


def _blind(facts: Facts) -> list[Unobserved]:
    """Parts of the path that no source observes."""
    found = []
    if not facts.tables["link"].rows:
        found.append(Unobserved("the fabric", "no switch port is joined to the loaded path", "no link was judged"))
    if not facts.tables["array"].rows and not facts.tables["volume"].rows:
        found.append(
            Unobserved("the array", "no array reports its latency", "the array is neither blamed nor cleared")
        )
    for row in facts.tables["link"].select(direction="read", capacity_bytes_per_second=None):
        speed = row["negotiated_bits_per_second"]
        why = f"counts more bytes than its {number(row, 'negotiated_bits_per_second') / 1e9:g} Gb/s can carry"
        found.append(
            Unobserved(
                f"{row['entity']} in step {row['step']}",
                why if speed else "its speed is not known",
                "how full it was is not known",
            )
        )
    loads = {load.entity for load in facts.loads}
    between = {link for load in loads for path in io_paths(facts.topology, load) for link in path.switch_links}
    why = "links between switches are not judged"
    found += [Unobserved(link, why, "it may be full") for link in sorted(between)]
    if facts.tables["link"].rows:
        why = "no source reports buffer credits or pause frames"
        found.append(Unobserved("credit stall", why, "a slow device elsewhere on the fabric would not be seen"))
    return found

"""What the text and the Markdown report say in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.rulebook.model import Finding
from sanpath.verdict.accounts import RecorderAccount, SourceAccount
from sanpath.verdict.model import (
    BudgetPart,
    Cleared,
    Diagnosis,
    ElementUse,
    Experiment,
    LatencyBudget,
    PlanStep,
    PlanVariant,
    StepResult,
    Suspect,
    Verdict,
)
from sanpath.verdict.names import noun as noun
from sanpath.verdict.units import bandwidth, count, duration, iops, percent, percent_rounded

TITLES = {
    "bottleneck": "Bottleneck",
    "concurrency_limited": "Too few outstanding I/Os",
    "demand_limited": "The load asks for no more",
    "generator_limited": "Load generator",
    "configured_cap": "Configured limit",
    "healthy": "Healthy",
    "cannot_tell": "Cannot tell",
}
KINDS = {kind: title.upper() for kind, title in TITLES.items()}

LAYERS = {
    "load": "load",
    "guest": "guest",
    "host": "host",
    "fabric": "fabric",
    "array_front": "array front end",
    "array_back": "array back end",
}

CLOCKS = {
    "protocol": "clocks compared",
    "newest_sample": "by its newest sample",
    "load_edges": "by the load's edges",
}

FROM_STEP = "the step with the highest throughput; of equals, the one with most outstanding I/Os"

GRADES = {
    "A": "at least 97 of 100 such verdicts are right",
    "B": "at least 85 of 100 such verdicts are right",
    "C": "the most likely of several explanations",
}
"""What the probability of a verdict is at least: sanpath/verdict/judgement/judge.py."""

_MENTIONED = 0.01
"""Suspects below this share are not listed."""


def suspect_lines(verdict: Verdict) -> list[str]:
    """The suspects of a verdict that has more than one, the most probable first."""
    listed = [suspect for suspect in verdict.suspects if suspect.probability >= _MENTIONED]
    if len(listed) < 2:
        return []
    return [f"{percent_rounded(suspect.probability)}: {_suspect(suspect)}" for suspect in listed]


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _suspect(suspect: Suspect) -> str:
    name = _lower(TITLES[suspect.verdict]) if suspect.entity is None else short(suspect.entity)
    if suspect.kind == "unseen":
        name = "something not measured"
    kind = f" ({suspect.kind.replace('_', ' ')})" if suspect.entity is not None else ""
    because = f": {suspect.because[0]}" if suspect.because else ""
    return f"{name}{kind}{because}"


DISRUPTION = {
    "none": "no outage",
    "path": "one path drops",
    "vm": "VM restart",
    "host": "host restart",
    "outage": "outage or purchase",
}


def printable(text: str) -> str:
    """Names come from devices: control characters would reach the reader's terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def elapsed(seconds: float) -> str:
    """1:05 after the start; 1:01:05 beyond an hour."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def plain(kind: str) -> str:
    """A verdict's kind as people write it."""
    return kind.replace("_", " ")


def short(entity: str) -> str:
    """An entity as people say it: without its kind, a link as its two ends."""
    return printable(entity.partition(":")[2] or entity).replace("--", " - ")


def deciding_step(diagnosis: Diagnosis) -> StepResult | None:
    """The step that the verdict is from."""
    return next((s for s in diagnosis.steps if s.name == diagnosis.verdict.from_step), None)


def budgets_of(diagnosis: Diagnosis, step: str) -> list[LatencyBudget]:
    """The latency budgets of a step, the direction with the higher latency first."""
    return sorted((b for b in diagnosis.latency_budget if b.step == step), key=lambda b: -b.total_seconds)


def middle(interval: tuple[float, float]) -> float:
    """Mid-point of an interval."""
    return (interval[0] + interval[1]) / 2


def part_text(part: BudgetPart) -> str:
    """What a part of the budget is, and what it is booked to."""
    booked = f"; caused by {short(part.limited_by)}" if part.limited_by and part.limited_by != part.entity else ""
    return f"{printable(part.what)}{booked}"


def hits(diagnosis: Diagnosis) -> list[Finding]:
    """Findings that hold."""
    return [finding for finding in diagnosis.findings if finding.outcome == "hit"]


def not_judged(diagnosis: Diagnosis) -> list[Finding]:
    """Findings that could not be judged."""
    return [finding for finding in diagnosis.findings if finding.outcome == "unknown"]


PURPOSES = {
    "limit": "Relieves the limit",
    "test": "Makes the test valid",
    "risk": "Removes a risk; it does not limit this run",
}


def plan_text(step: PlanStep) -> str:
    """What a step of the plan is for, what it brings and what it waits for."""
    resolves = ", ".join(dict.fromkeys(resolved.rule for resolved in step.resolves))
    said = f"{PURPOSES[step.purpose]}: {resolves}."
    if step.gain_ops_per_second:
        said += f" With every saturated element relieved: up to {iops(step.gain_ops_per_second[1])}."
    if step.after:
        said += f" After step {' and '.join(str(number) for number in step.after)}."
    return said


def variants(step: PlanStep) -> Sequence[PlanVariant]:
    """How it is done on each platform; where there is one, the step itself."""
    own = PlanVariant(step.platform, step.commands, step.scope, step.verify, step.undo)
    return step.variants or (own,)


def confidence_lines(diagnosis: Diagnosis) -> list[str]:
    """How sure the verdict is, what else it may be, and what would change it."""
    verdict = diagnosis.verdict
    lines = [f"confidence {verdict.grade}: {GRADES[verdict.grade]}"]
    if verdict.from_step:
        lines.append(f"from step {printable(verdict.from_step)}: {FROM_STEP}")
    lines += [f"likelihood {line}" for line in suspect_lines(verdict)]
    if verdict.decide_with:
        lines.append(f"to be surer: {verdict.decide_with}")
    if verdict.experiment is not None and verdict.grade != "A" and (likely := _meaning(verdict.experiment)):
        lines.append(f"most likely after that: {likely}")
    return lines + [f"would change the verdict: {line}" for line in overturn_texts(verdict)]


def _meaning(experiment: Experiment) -> str:
    """The most likely suspect after either outcome; "" where it is the same."""
    seen = max(experiment.meanings, key=lambda meaning: meaning.if_seen)
    unseen = max(experiment.meanings, key=lambda meaning: meaning.if_not)
    if seen == unseen:
        return ""
    outcomes = ((f"with {experiment.watch}", seen, seen.if_seen), ("otherwise", unseen, unseen.if_not))
    return "; ".join(
        f"{when}, {short(meaning.name)} ({percent_rounded(likely)})"
        for when, meaning, likely in outcomes
        if meaning.verdict != "cannot_tell"
    )


def evidence_lines(diagnosis: Diagnosis) -> list[str]:
    """What the verdict is based on."""
    verdict, step = diagnosis.verdict, deciding_step(diagnosis)
    because = [f"{short(b.entity)}, {b.direction}: {line}" for b in verdict.bottlenecks for line in b.because]
    return because or (list(step.verdict.because) if step else [])


def finding_lines(diagnosis: Diagnosis) -> list[str]:
    """Findings that hold, one line a rule."""
    return [
        f"{finding.role.upper()} {finding.rule}: {finding_text(finding, others)}"
        for finding, others in grouped(hits(diagnosis))
    ]


def unmeasured_lines(diagnosis: Diagnosis) -> list[str]:
    """What was not measured, and the rules that could not be judged without it."""
    without = [u for u in diagnosis.unobserved if _NO_FACTS in u.what]
    lines = [
        f"{printable(u.what)}: {printable(u.why)}; {printable(u.consequence)}"
        for u in diagnosis.unobserved
        if u not in without
    ]
    if without:
        kinds = ", ".join(printable(u.what.replace(_NO_FACTS, "")) for u in without)
        rules = ", ".join(printable(u.consequence.partition(": ")[2]) for u in without)
        lines.append(f"no source measures: {kinds}; not judged without them: {rules}")
    unknown = sorted({finding.rule for finding in not_judged(diagnosis)})
    if unknown:
        rules = "1 rule was" if len(unknown) == 1 else f"{len(unknown)} rules were"
        lines.append(f"{rules} not judged, their inputs were not measured: {', '.join(unknown)}")
    return lines


_NO_FACTS = "facts of any "
"""Marks a kind of entity of which no source reports anything (sanpath/verdict/explanation/findings.py)."""


def judging_lines(diagnosis: Diagnosis) -> list[str]:
    """What a site has changed or accepted, and rule files that were left out; empty for the rules as they are."""
    judging = diagnosis.judging
    lines = [f"policy {judging.policy}"] if judging.policy else []
    lines += [
        f"{one.rule}: {one.limit} is {one.value:g} instead of {one.instead_of:g} ({one.source})"
        for one in judging.limits
    ]
    for one in judging.suppressed:
        what = one.rule if one.entity == "*" else f"{one.rule} on {one.entity}"
        if one.expired:
            lines.append(f"the suppression of {what} ended on {one.until}, its findings count again: {one.reason}")
        else:
            lines.append(
                f"{what} is suppressed until {one.until}, findings taken out: {len(one.findings)}; {one.reason}"
            )
            lines += [f"suppressed: {finding.summary}" for finding in one.findings]
    return lines + [f"rule file left out: {' '.join(mistake.split())}" for mistake in judging.refused]


def next_text(diagnosis: Diagnosis) -> str | None:
    """What comes after the bottleneck. None: nothing says."""
    following = diagnosis.verdict.next
    if following is None:
        return None
    low, high = following.predicted_ops_per_second
    fast, slow = following.predicted_latency_seconds
    limit = f"{short(following.entity)} {following.change}".strip()
    return (
        f"with every saturated element relieved, {limit} limits next: up to {iops(high)}, down to {duration(fast)} "
        f"at the same queue depth. The rest of the path has carried {iops(low)} ({duration(slow)}); more is untested"
    )


def overturn_texts(verdict: Verdict) -> list[str]:
    """What would overturn the verdict, each once: of two directions it is often the same."""
    return list(dict.fromkeys(line for bottleneck in verdict.bottlenecks for line in bottleneck.overturn_if))


def knee_text(diagnosis: Diagnosis) -> str | None:
    """From how many I/Os in flight on more load buys only latency. None: no bottleneck."""
    verdict = diagnosis.verdict
    if verdict.knee_in_flight is not None:
        return f"{count(verdict.knee_in_flight)} outstanding I/Os saturate it; more add only latency"
    if verdict.knee_below is not None:
        fewest = count(verdict.knee_below)
        return f"saturated below {fewest} outstanding I/Os, the fewest tested; unloaded latency not measured"
    return None


def curve_texts(diagnosis: Diagnosis) -> list[str]:
    """What each curve of throughput over I/Os in flight shows, and the knee that the law through it tells."""
    said = []
    for curve in diagnosis.verdict.curves:
        if len(curve.points) < 2:
            continue
        size = "" if curve.operation_bytes is None else f" of {curve.operation_bytes / 1024:g} KiB"
        knee = curve.knee
        if knee.law is None:
            law = knee.said
        else:
            low, high = knee.law.contention
            law = f"knee {knee.said} (Universal Scalability Law, contention {low:.2g} to {high:.2g})"
        said.append(f"{curve.direction}{size}: {plain(curve.shape)}, {curve.said}; {law}")
    return said


def step_cells(step: StepResult) -> list[list[str]]:
    """Rows of the step table: name, direction, in flight, IOPS, bandwidth, latency, N/X, verdict."""
    rows = []
    for direction, result in step.directions.items():
        in_flight = step.in_flight.measured
        told = f"{count(step.in_flight.configured)}" if step.in_flight.configured else "?"
        law = duration(in_flight / result.ops_per_second) if in_flight and len(step.directions) == 1 else "-"
        rows.append(
            [
                printable(step.name),
                direction,
                f"{count(in_flight)} of {told}" if in_flight is not None else "?",
                iops(result.ops_per_second).removesuffix(" IOPS"),
                bandwidth(result.bytes_per_second),
                duration(result.latency_seconds.mean),
                law,
                f"{plain(step.verdict.kind)} {step.verdict.grade}",
            ]
        )
    return rows or [[printable(step.name), *["-"] * 6, f"{plain(step.verdict.kind)} {step.verdict.grade}"]]


STEP_HEADER: Sequence[str] = ("step", "direction", "outstanding", "IOPS", "payload", "latency", "N/X", "verdict")


def cleared_text(cleared: Cleared) -> str:
    """What was cleared, up to which load, and why."""
    tried = up_to(dict(cleared.up_to))
    return f"{short(cleared.entity)}{f' up to {tried}' if tried else ''}: {cleared.because}"


_NOTHING = 1e4
"""Bytes per second that a link carries to stay up."""


def up_to(limits: dict[str, float]) -> str:
    """Up to which load something was cleared; empty for what was idle."""
    words = []
    if limits.get("bytes_per_second", 0.0) >= _NOTHING:
        words.append(bandwidth(limits["bytes_per_second"]))
    if "ops_per_second" in limits:
        words.append(iops(limits["ops_per_second"]))
    return ", ".join(words)


def bar(share: float, width: int) -> str:
    """A share of a whole as a bar."""
    return "█" * round(max(0.0, min(1.0, share)) * width)


def share_text(seconds: float, total: float) -> str:
    """A part's time and its share of the whole."""
    return f"{duration(seconds)}, {percent(seconds / total)}"


ELEMENT_HEADER: Sequence[str] = ("link", "speed", "direction", "utilisation", "counted", "share", "other hosts")


def element_cells(diagnosis: Diagnosis) -> list[list[str]]:
    """Rows of the link table for the deciding step: links that carry anything, the loaded path first."""
    step = diagnosis.verdict.from_step
    return [
        element_cells_of(use)
        for use in diagnosis.elements
        if use.step == step and (use.on_loaded_path is not False or (use.utilisation or 0) >= WORTH_A_ROW)
    ]


def element_cells_of(use: ElementUse) -> list[str]:
    """One row of the link table."""
    return [
        short(use.entity),
        use.speed or "?",
        use.direction,
        "?" if use.utilisation is None else percent(use.utilisation),
        "?" if use.bytes_per_second is None else bandwidth(use.bytes_per_second),
        "?" if use.share is None and use.on_loaded_path is None else percent(use.share or 0.0),
        "-" if not use.foreign_bytes_per_second else bandwidth(use.foreign_bytes_per_second),
    ]


WORTH_A_ROW = 0.001
"""A link that is less busy carries what keeps it up, no more."""


def grouped(findings: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """Findings of one rule and direction together: the first, and the others."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.direction), []).append(finding)
    return [(group[0], group[1:]) for group in groups.values()]


def finding_text(finding: Finding, others: Sequence[Finding]) -> str:
    """One finding in a sentence, with the other elements that have it, and how many they are."""
    more = len(others)
    named = ", ".join(short(other.entity) for other in others[:_NAMED])
    rest = f" and {more - _NAMED} more" if more > _NAMED else ""
    also = f" Also on {named}{rest} ({more + 1} in all)." if others else ""
    here = f" {finding.in_this_run[0].upper()}{finding.in_this_run[1:]}." if finding.in_this_run else ""
    gain = f" Fixing it: {finding.gain}." if finding.gain else ""
    return f"{printable(finding.summary)}.{also}{printable(here)}{gain}"


_NAMED = 3
"""Elements of one finding that are named; a fabric has hundreds."""


def recorder(who: RecorderAccount) -> tuple[str, ...]:
    """A line of the table of recorders: name, host, what it read, started, last seen, clock."""
    clock = "not compared"
    if who.clock_offset_seconds is not None and who.clock_uncertainty_seconds is not None:
        clock = f"{who.clock_offset_seconds:+.1f} ± {who.clock_uncertainty_seconds:.1f} s"
    times = f"{who.starts} times, " if who.starts > 1 else ""
    seen = f"{who.last}{'' if who.ended else ', did not end'}"
    return who.name, who.host, ", ".join(who.sources), f"{times}{who.began}", seen, clock


RECORDER = ("recorder", "host", "sources", "started", "last seen", "clock")


def recorders(diagnosis: Diagnosis) -> list[tuple[str, ...]]:
    """The table of recorders; empty for one that was there from the load's beginning to its end."""
    told = len(diagnosis.recorders) > 1 or any(who.absences for who in diagnosis.recorders)
    return [recorder(who) for who in diagnosis.recorders] if told else []


def clock(source: SourceAccount) -> str:
    """By how much a source's clock is off, either way, and how that is known; "-": it dates nothing itself."""
    if source.clock_offset_seconds is None:
        return "-"
    within = source.clock_uncertainty_seconds
    known = "" if source.clock_told_by is None else f", {CLOCKS[source.clock_told_by]}"
    return f"{source.clock_offset_seconds:+.1f}{'' if within is None else f' ± {within:.1f}'} s{known}"

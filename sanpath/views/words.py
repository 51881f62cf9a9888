"""Texts and table cells that the views share: terminal, Markdown, HTML and live view use the same words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sanpath.diagnosis.experiment import KIND_WORDS
from sanpath.diagnosis.remediation_plan import ANY_PLATFORM
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.masking import printable
from sanpath.summary.step_figures import is_slower
from sanpath.topology.names import in_words, noun, short_name
from sanpath.units import (
    bandwidth,
    counted,
    duration,
    first_of,
    iops,
    kibibytes,
    outstanding,
    percent,
    percent_likely,
)
from sanpath.verdict.model import MIN_PROBABILITY, NAMED

if TYPE_CHECKING:
    from sanpath.comparison.same_latency import Io
    from sanpath.diagnosis.experiment import Experiment
    from sanpath.diagnosis.model import (
        BudgetPart,
        Cleared,
        Diagnosis,
        LatencyBudget,
        StepResult,
        Suspect,
        Unobserved,
        Verdict,
    )
    from sanpath.diagnosis.remediation_plan import PlanStep, PlanVariant
    from sanpath.rulebook.model import Finding

TITLES = {kind: f"{words[:1].upper()}{words[1:]}" for kind, words in KIND_WORDS.items()}
KINDS = {kind: title.upper() for kind, title in TITLES.items()}
_NOT_MEASURED = "Not measured"
"""Title of a verdict if the place of the limit is nearly certain, but no source reads that place."""
_MAX_NAMES = 3
"""Maximum elements that are named in a finding or a line of evidence: a fabric has hundreds."""

LAYERS = {
    "load": "load",
    "guest": "guest",
    "host": "host",
    "fabric": "fabric",
    "array_front": "array front end",
    "array_back": "array back end",
}

FROM_STEP = "the one with the most outstanding I/Os among the steps with the highest throughput"
FROM_SLOWER_STEP = "not the step with the highest throughput, but the one that best shows the limit"

GRADES = {
    grade: f"{rank}, right in at least {100 * least:g} of 100 simulated tests"
    for rank, (grade, least) in zip(("high", "medium"), MIN_PROBABILITY.items(), strict=True)
} | {"C": "low, other explanations are not ruled out"}
"""The meaning of a grade."""

_DEVICE_LAYERS = ("guest", "host")
"""Layers whose parts of a latency budget end at the clock of a block device."""
_MIN_SECONDS = 0.5e-6
"""Shorter times are printed as 0."""
_MIN_PROBABILITY = 0.01
"""Suspects with a lower probability are not listed."""


def grade_meaning(diagnosis: Diagnosis) -> str:
    """The meaning of the verdict's grade, or the reason why its step does not allow a better one."""
    verdict = diagnosis.verdict
    if verdict.kind == "cannot_tell":
        first = next(iter(verdict.suspects), None)
        if first is not None and first.verdict == "cannot_tell" and first.probability >= NAMED:
            return "low, the most likely place of the limit was not read"
        return "low, no explanation is likely enough for a verdict"
    if (windows := _too_few_windows(diagnosis)) is None:
        return GRADES[verdict.grade]
    complete = counted(windows, "complete window")
    return f"low, with {complete} of the slowest source in the step ({MIN_WINDOWS} are needed)"


def _too_few_windows(diagnosis: Diagnosis) -> int | None:
    """The number of whole windows of the step if too few windows are the only reason for a lower grade. None: they
    are not."""
    verdict = diagnosis.verdict
    windows = next((step.windows_used for step in diagnosis.steps if step.name == verdict.from_step), MIN_WINDOWS)
    first = next((suspect.probability for suspect in verdict.suspects), verdict.probability or 0.0)
    is_likely = first >= MIN_PROBABILITY["B"] and verdict.kind != "cannot_tell"
    return windows if is_likely and verdict.grade == "C" and windows < MIN_WINDOWS else None


def suspect_lines(verdict: Verdict) -> list[str]:
    """The suspects of the verdict if there are several, the most probable first."""
    suspects = [suspect for suspect in verdict.suspects if suspect.probability >= _MIN_PROBABILITY]
    if len(suspects) < 2:
        return []
    return [f"{percent_likely(suspect.probability)}: {_suspect(suspect)}" for suspect in suspects]


def _suspect(suspect: Suspect) -> str:
    name = KIND_WORDS[suspect.verdict] if suspect.entity is None else sentence(suspect.entity)
    if suspect.place or suspect.kind == "unseen":
        name = suspect.place or "something not measured"
    part = "its limit" if suspect.verdict == "configured_cap" else _PARTS.get(suspect.kind)
    detail = f" ({part})" if part is not None and suspect.entity is not None else ""
    because = f": {sentence(suspect.because[0])}" if suspect.because else ""
    against = f"; against it: {sentence(suspect.against[0])}" if suspect.against else ""
    return f"{name}{detail}{because}{against}"


_PARTS = {
    "core": "a processor core",
    "credit_stall": "slow to accept frames",
    "data_sheet": "the limit that was entered",
    "hba": "its queue",
    "io_stack": "above a block device",
    "io_thread": "the thread of its virtual disks",
    "lun": "its queue",
    "path_policy": "its path policy",
    "pcie": "its PCIe lanes",
    "retries": "lost I/Os",
    "tcp_window": "its TCP window",
    "vdisk": "its queue",
}
"""Kind of a suspect → the suspected part of the element; kinds that suspect the whole element are missing."""


DISRUPTION = {
    "none": "no downtime",
    "path": "takes one path down",
    "vm": "needs a VM restart",
    "host": "needs a host restart",
    "outage": "needs new hardware or downtime",
    "data": "erases data",
}


def elapsed(seconds: float) -> str:
    """Time after the start: 1:05, or 1:01:05 beyond an hour."""
    minutes, whole_seconds = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_seconds:02}" if hours else f"{minutes}:{whole_seconds:02}"


def sentence(text: str) -> str:
    """A sentence of the diagnosis for people, with nouns in place of the kinds of entities."""
    return printable(in_words(text))


def short(entity: str) -> str:
    """The name of an entity for people: without its kind; a link as its two ends."""
    return printable(short_name(entity))


def minute(time: str) -> str:
    """An ISO 8601 time in UTC, to the minute: "2027-01-15 08:00 UTC"."""
    return f"{time[:10]} {time[11:16]} UTC"


def deciding_step(diagnosis: Diagnosis) -> StepResult | None:
    """The step that decides the verdict on the run. None: there is none."""
    return next((s for s in diagnosis.steps if s.name == diagnosis.verdict.from_step), None)


def budgets_of(diagnosis: Diagnosis, step: str) -> list[LatencyBudget]:
    """The latency budgets of a step, the direction with the higher latency first."""
    return sorted((b for b in diagnosis.latency_budget if b.step == step), key=lambda b: -b.total_seconds)


def midpoint(interval: tuple[float, float]) -> float:
    """Midpoint of an interval."""
    return (interval[0] + interval[1]) / 2


def timed_parts(budget: LatencyBudget) -> list[BudgetPart]:
    """Parts of the budget that take at least half a microsecond: others would print as 0."""
    return [part for part in budget.parts if abs(midpoint(part.seconds)) >= _MIN_SECONDS]


def remainder_of(budget: LatencyBudget) -> tuple[str, str]:
    """The remainder of a budget: its name and its place. The time below the last clock is not split if that clock is
    a block device's."""
    last, rest = budget.parts[-1] if budget.parts else None, midpoint(budget.unexplained_seconds)
    if rest <= -_MIN_SECONDS:
        return "overlap", f"parts overlap by {duration(-rest)}: their clocks or windows differ"
    if last is None or last.layer not in _DEVICE_LAYERS or rest <= 0:
        return "unexplained", "in no measured part"
    return "not split", f"in {short(last.entity)} or behind it; no source tells which"


def title(verdict: Verdict) -> str:
    """The title above the sentence of a verdict: its kind."""
    first = next(iter(verdict.suspects), None)
    is_certain = first is not None and first.place and first.probability >= MIN_PROBABILITY["A"]
    return _NOT_MEASURED if verdict.kind == "cannot_tell" and is_certain else TITLES[verdict.kind]


def layer_text(part: BudgetPart) -> str:
    """The place of a part of the budget: its layer, or a configured limit, which has no layer."""
    return "configured limit" if part.is_limit_wait else LAYERS[part.layer]


def part_text(part: BudgetPart) -> str:
    """The description of a part of the budget, and the entity that causes it."""
    cause = f"; caused by {short(part.limited_by)}" if part.limited_by and part.limited_by != part.entity else ""
    return f"{sentence(part.what)}{cause}"


def hits(diagnosis: Diagnosis) -> list[Finding]:
    """Findings that hold."""
    return [finding for finding in diagnosis.findings if finding.outcome == "hit"]


def not_judged(diagnosis: Diagnosis) -> list[Finding]:
    """Findings that could not be judged."""
    return [finding for finding in diagnosis.findings if finding.outcome == "unknown"]


PURPOSES = {
    "limit": "Relieves the limit",
    "test": "Makes the test more reliable",
    "risk": "Removes a risk; it does not limit this run",
    "open": "Removes a risk; whether it limits this run is not known",
}


def plan_text(diagnosis: Diagnosis, step: PlanStep) -> str:
    """The purpose of a step of the plan, its gain, and the steps before it."""
    resolves = ", ".join(dict.fromkeys(resolved.rule for resolved in step.resolves))
    is_open = step.purpose == "risk" and diagnosis.verdict.kind == "cannot_tell"
    text = f"{PURPOSES['open' if is_open else step.purpose]}: {resolves}."
    if step.gain_ops_per_second:
        text += f" With every saturated element relieved: up to {iops(step.gain_ops_per_second[1])}."
    if step.after:
        numbers = " and ".join(str(number) for number in step.after)
        text += f" After step{'s' if len(step.after) > 1 else ''} {numbers}."
    return text


_LOWER_CASE = ("fio", "libvirt", "vdbench")
"""Names that are lower-case even at the beginning of a sentence."""


def platform(name: str) -> str:
    """Where a remedy applies, as the beginning of a sentence: "any, when it is idle" → "When it is idle"."""
    fits = condition(name)
    return fits if fits.split(",")[0] in _LOWER_CASE else fits[:1].upper() + fits[1:] or "Any platform"


def condition(name: str) -> str:
    """Where a remedy applies, within a sentence; "" if everywhere."""
    return "change of the test" if name == "the load" else name.removeprefix("any").removeprefix(", ")


def variant_text(step: PlanStep, variant: PlanVariant) -> str:
    """The change that a step makes on a platform. The platform's name comes first, unless the step is the same on
    all."""
    if not step.variants and variant.platform == ANY_PLATFORM:
        return variant.scope
    return f"{platform(variant.platform)}: {variant.scope}"


def confidence_lines(diagnosis: Diagnosis) -> list[str]:
    """The confidence of the verdict, the other suspects, and what would change it."""
    verdict = diagnosis.verdict
    lines = [f"confidence {verdict.grade}: {grade_meaning(diagnosis)}"]
    if verdict.from_step:
        why = FROM_SLOWER_STEP if is_slower(diagnosis, verdict.from_step) else FROM_STEP
        why = why if len(diagnosis.steps) > 1 else "the only one"
        lines.append(f"judged on step {printable(verdict.from_step)}: {why}")
    if (step := deciding_step(diagnosis)) is not None:
        lines.append(printable(step.verdict.part))
    lines += [f"likelihood {line}" for line in suspect_lines(verdict)]
    if _too_few_windows(diagnosis) is not None:
        lines.append("for higher confidence: make the steps longer, or poll more often")
    if verdict.decide_with and verdict.grade != "A":  # At grade A, hardly any outcome would change the verdict.
        lines.append(f"to be surer: {verdict.decide_with}")
        lines += [_meaning(verdict.experiment)] if verdict.experiment is not None else []
    return [line for line in lines if line] + [f"would change the verdict: {x}" for x in overturn_texts(verdict)]


def _meaning(experiment: Experiment) -> str:
    """The most likely suspect after either outcome; "" if both are the same."""
    seen = max(experiment.meanings, key=lambda meaning: meaning.if_seen)
    unseen = max(experiment.meanings, key=lambda meaning: meaning.if_not)
    other_outcome = f"otherwise {unseen.name} ({percent_likely(unseen.if_not)})"
    text = f"with {experiment.watch}, most likely {seen.name} ({percent_likely(seen.if_seen)}); {other_outcome}"
    return sentence(text) if seen.name != unseen.name else ""


def evidence_lines(diagnosis: Diagnosis) -> list[str]:
    """The evidence of the verdict. Evidence of several bottlenecks is one line."""
    verdict, step = diagnosis.verdict, deciding_step(diagnosis)
    entities: defaultdict[tuple[str, str | None], list[str]] = defaultdict(list)
    for bottleneck in verdict.bottlenecks:
        for line in bottleneck.because:
            entities[line, bottleneck.direction].append(short(bottleneck.entity))
    because = [f"{first_of(names, _MAX_NAMES)}, {direction}: {line}" for (line, direction), names in entities.items()]
    return [sentence(line) for line in because or (step.verdict.because if step else ())]


def finding_lines(diagnosis: Diagnosis) -> list[str]:
    """Findings that hold, one line per rule."""
    return [
        f"{finding.role.upper()} {finding.rule}: {finding_text(finding, other_findings)}"
        for finding, other_findings in group_findings(hits(diagnosis))
    ]


def unmeasured_lines(diagnosis: Diagnosis) -> list[str]:
    """What was not measured, why, and the consequence."""
    gaps = [(sentence(f"{u.what}: {u.why}"), consequence_text(u)) for u in diagnosis.unobserved]
    return ["; ".join(filter(None, gap)) for gap in gaps]


def consequence_text(gap: Unobserved) -> str:
    """The consequence of what was not measured, and the number of rules not judged; the JSON names them."""
    rules = f" ({counted(len(gap.rules), 'rule')} not judged)" if gap.rules else ""
    return f"{printable(gap.consequence)}{rules}"


def judging_lines(diagnosis: Diagnosis) -> list[str]:
    """Policy, limits and suppressions of the site, and rule files that were left out; [] for unchanged rules."""
    judging = diagnosis.judging
    lines = [f"policy {judging.policy}"] if judging.policy else []
    lines += [
        f"{limit.rule}: {limit.limit} is {limit.value:g} instead of {limit.instead_of:g} ({limit.source})"
        for limit in judging.limits
    ]
    for suppression in judging.suppressed:
        scope = suppression.rule if suppression.entity == "*" else f"{suppression.rule} on {suppression.entity}"
        if suppression.expired:
            lines.append(
                f"the suppression of {scope} ended on {suppression.until}, so its findings count again; its reason "
                f"was: {suppression.reason}"
            )
        else:
            lines.append(
                f"{scope} is suppressed until {suppression.until}, findings taken out: {len(suppression.findings)}; "
                f"{suppression.reason}"
            )
            lines += [f"suppressed: {finding.summary}" for finding in suppression.findings]
    return lines + [f"rule file left out: {' '.join(mistake.splitlines()[0].split())}" for mistake in judging.refused]


def next_text(diagnosis: Diagnosis) -> str | None:
    """The next limit after the bottleneck. None: unknown."""
    following = diagnosis.verdict.next
    if following is None:
        return None
    low, high = following.predicted_ops_per_second
    fast, slow = following.predicted_latency_seconds
    limit = f"{short(following.entity)} {following.change}".strip()
    return (
        f"with every saturated element relieved, {limit} limits next: up to {iops(high)}, down to {duration(fast)} "
        f"with the same number of outstanding I/Os. The rest of the path has carried {iops(low)} ({duration(slow)}); "
        "more is untested"
    )


def overturn_texts(verdict: Verdict) -> list[str]:
    """What would overturn the verdict, without repetitions: both directions often share it."""
    texts = (sentence(line) for bottleneck in verdict.bottlenecks for line in bottleneck.overturn_if)
    return list(dict.fromkeys(texts))


def knee_text(diagnosis: Diagnosis) -> str | None:
    """The outstanding I/Os at which queueing begins. None: no bottleneck."""
    verdict = diagnosis.verdict
    if verdict.knee_in_flight is not None:
        return f"queueing begins at about {outstanding(verdict.knee_in_flight)}"
    if verdict.knee_below is not None:
        fewest = outstanding(verdict.knee_below)
        return f"queueing begins below {fewest}, the fewest tested; unloaded latency not measured"
    return None


def curve_texts(diagnosis: Diagnosis) -> list[str]:
    """The shape of each curve of throughput over outstanding I/Os, and the knee of the fitted law."""
    texts = []
    for curve in diagnosis.verdict.curves:
        if len(curve.points) < 2:
            continue
        io = f"{curve.direction}{io_words(curve, diagnosis.verdict.curves)}"
        knee = curve.knee
        if knee.law is None:
            law = knee.said
        else:
            low, high = knee.law.contention
            # A fit with contention above one I/O at a time is invalid.
            contention = f", contention {low:.2g} to {high:.2g}" if high <= 1 else ""
            law = f"knee {knee.said} (Universal Scalability Law{contention})"
        texts.append(f"{io}: {curve.shape.replace('_', ' ')}, {curve.said}; {law}")
    return texts


def io_words(one: Io, others: Iterable[Io]) -> str:
    """The size of the I/Os, whether the load flushes, and its pattern if that distinguishes it from the others."""
    size = "" if one.operation_bytes is None else f" of {kibibytes(one.operation_bytes)}"
    pattern = f", {one.pattern}" if one.pattern and len({other.pattern for other in others}) > 1 else ""
    return f"{size}{' with flushes' if one.flushes else ''}{pattern}"


def limit_text(step: StepResult) -> str:
    """The verdict on a step in a few words: its kind and the limiting elements."""
    limits = [f"{short(b.entity)} {b.direction}" for b in step.verdict.bottlenecks]
    return f"{KIND_WORDS[step.verdict.kind]}{': ' if limits else ''}{', '.join(limits)}"


def cleared_text(cleared: Cleared) -> str:
    """A cleared element, the load up to which it was cleared, and the reason."""
    load = up_to(cleared.up_to)
    return sentence(f"{cleared.entity}{f' up to {load}' if load else ''}: {cleared.because}")


_KEEP_ALIVE_BYTES_PER_SECOND = 1e4
"""A link below this rate carries only keep-alive traffic and no I/O."""


def up_to(limits: Mapping[str, float]) -> str:
    """The load up to which an element was cleared; "" for an idle one."""
    texts = []
    if limits.get("bytes_per_second", 0.0) >= _KEEP_ALIVE_BYTES_PER_SECOND:
        texts.append(bandwidth(limits["bytes_per_second"]))
    if "ops_per_second" in limits:
        texts.append(iops(limits["ops_per_second"]))
    return ", ".join(texts)


def bar(ratio: float, width: int) -> str:
    """A ratio as a bar of up to `width` columns."""
    return "█" * round(max(0.0, min(1.0, ratio)) * width)


def share_text(seconds: float, total: float) -> str:
    """A time and its share of the total, both in seconds."""
    return f"{duration(seconds)}, {percent(seconds / total)}"


def group_findings(findings: Sequence[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """Findings grouped by rule, direction and effect on this run: the first of each group, and the others.

    A group has sentences with the same number of words, so that their values can be compared.
    """
    groups: dict[tuple[str | int | None, ...], list[Finding]] = {}
    for finding in findings:
        words = len(_values(finding))
        key = (finding.rule, finding.direction, finding.role, finding.in_this_run, finding.gain, words)
        groups.setdefault(key, []).append(finding)
    return [(group[0], group[1:]) for group in groups.values()]


def finding_text(finding: Finding, other_findings: Sequence[Finding]) -> str:
    """One finding in a sentence, with the other elements that have it, their values, and their number."""
    named = first_of([_name_and_values(other, finding) for other in other_findings], _MAX_NAMES)
    also = f" Also on {named}: {_number_text((finding, *other_findings))}." if other_findings else ""
    in_this_run = f" {finding.in_this_run[0].upper()}{finding.in_this_run[1:]}." if finding.in_this_run else ""
    gain = f" Fixing it: {finding.gain}." if finding.gain else ""
    return sentence(f"{finding.summary}.{also}{in_this_run}{gain}")


_VALUE = re.compile(
    r"\d+(?:[.,]\d+)*(?: (?:%|[µm]?s|[KMGT]i?B|[KMG]b/s|[MG]B/s|bytes|IOPS)(?![\w/]))?|[^\s,;:()]+|\S"
)
"""A number with its unit, or a word."""


def _name_and_values(finding: Finding, first: Finding) -> str:
    """The name of an element, and its values that differ from those of the first finding."""
    pairs = zip(_values(finding), _values(first), strict=False)
    differing = dict.fromkeys(value for value, first_value in pairs if value != first_value)
    name = short(finding.entity)
    return f"{name} ({', '.join(differing)})" if differing else name


def _values(finding: Finding) -> list[str]:
    return _VALUE.findall(finding.summary.replace(finding.entity, "-"))


def _number_text(findings: Sequence[Finding]) -> str:
    """The number of elements of the findings, with their noun if all have the same: 2 sources."""
    nouns = {noun(finding.entity) for finding in findings if " " not in finding.entity}
    if len(nouns) > 1 or not nouns or nouns & {"media"} or any(" " in finding.entity for finding in findings):
        return f"{len(findings)} in all"
    word = nouns.pop()
    return f"{len(findings)} {word}{'es' if word.endswith('ch') else 's'}"

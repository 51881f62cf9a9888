"""The report as Markdown, to be kept beside the recording or pasted into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sanpath.verdict.model import Diagnosis, LatencyBudget
from sanpath.verdict.units import duration, percent
from sanpath.views import words


def render(diagnosis: Diagnosis) -> str:
    """The whole report."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    verdict = diagnosis.verdict
    yield f"# {words.KINDS[verdict.kind].capitalize()}"
    yield ""
    yield f"**{safe(verdict.headline)}**"
    yield ""
    told = f", told from step {safe(verdict.from_step)}" if verdict.from_step else ""
    yield f"Grade {verdict.grade}: {words.GRADES[verdict.grade]}{told}. Run of {diagnosis.run.start}."
    because = [f"{words.short(b.entity)}, {b.direction}: {line}" for b in verdict.bottlenecks for line in b.because]
    step = words.deciding_step(diagnosis)
    yield from _list("Because", because or (list(step.verdict.because) if step else []))
    for budget in words.budgets_of(diagnosis, step.name) if step else ():
        yield from _budget(budget)
    knee = [text] if (text := words.knee_text(diagnosis)) else []
    yield from _list("Knee", [*knee, *words.curve_texts(diagnosis)])
    yield from _do_next(diagnosis)
    yield from _list("Next limit", [text] if (text := words.next_text(diagnosis)) else [])
    yield from _list("Suspects", words.suspect_lines(verdict))
    yield from _list("What would decide", [verdict.decide_with] if verdict.decide_with else [])
    yield from _title("Steps")
    yield from _table(words.STEP_HEADER, [row for s in diagnosis.steps for row in words.step_cells(s)])
    if rows := words.element_cells(diagnosis):
        yield from _title("Links in that step")
        yield from _table(words.ELEMENT_HEADER, rows)
    yield from _list("Not valid for", [f"{s.name}: {note}" for s in diagnosis.steps for note in s.valid])
    yield from _findings(diagnosis)
    yield from _list("Cleared", [words.cleared_text(cleared) for cleared in diagnosis.cleared])
    yield from _list("Not seen", [f"{u.what}: {u.why} - {u.consequence}" for u in diagnosis.unobserved])
    yield from _list("Marked", [f"{mark.at}: {mark.text}" for mark in diagnosis.marks])
    yield from _list("What would overturn this", words.overturn_texts(verdict))
    yield from _list("How the rules judged", words.judging_lines(diagnosis))
    yield from _recorders(diagnosis)
    yield from _sources(diagnosis)


def _budget(budget: LatencyBudget) -> Iterator[str]:
    yield from _title(f"Where {duration(budget.total_seconds)} go ({budget.direction}, step {budget.step})")
    total = budget.total_seconds
    rows = [
        [
            words.LAYERS[p.layer],
            duration(words.middle(p.seconds)),
            percent(words.middle(p.seconds) / total),
            words.part_text(p),
        ]
        for p in budget.parts
    ]
    rest = words.middle(budget.unexplained_seconds)
    rows.append(["rest", duration(rest), percent(rest / total), "not explained by any source"])
    yield from _table(("layer", "time", "share", "what"), rows)


def _do_next(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.plan:
        yield from _title("Do next")
    for step in diagnosis.plan:
        said = f"{words.plan_text(step)} {step.scope}"
        yield f"{step.number}. {safe(step.platform)} ({words.DISRUPTION[step.disruption]}). {safe(said)}"
        yield ""
        if step.commands:
            yield "   ```"
            yield from (f"   {words.printable(command)}" for command in step.commands)
            yield "   ```"
        yield f"   Verify: {safe(step.verify)} Undo: {safe(step.undo)}"
        yield ""


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    found = words.hits(diagnosis)
    if found:
        yield from _title("Findings")
    for finding, others in words.grouped(found):
        said = safe(words.finding_text(finding, others))
        yield f"- **{finding.role} {finding.rule}** ({finding.severity}): {said}"
        yield f"  {safe(finding.why)}"
    unknown = words.not_judged(diagnosis)
    if unknown:
        yield ""
        yield f"Not judged for want of facts, {len(unknown)} times: {', '.join(sorted({f.rule for f in unknown}))}."


def _recorders(diagnosis: Diagnosis) -> Iterator[str]:
    """Who recorded, where that was not one from beginning to end."""
    if rows := words.recorders(diagnosis):
        yield from _title("Recorders")
        yield from _table(words.RECORDER, [list(row) for row in rows])


def _sources(diagnosis: Diagnosis) -> Iterator[str]:
    yield from _title("Sources")
    header = ("source", "collector", "polls", "failed", "gaps", "clock offset", "time in polls", "last failure")
    rows = [
        [
            s.name,
            s.kind,
            str(s.polls),
            str(s.failures),
            str(s.gaps),
            words.clock(s),
            f"{s.cost_seconds:.1f} s",
            s.last_failure or "-",
        ]
        for s in diagnosis.sources
    ]
    yield from _table(header, rows)
    yield ""
    run = diagnosis.run
    judge = f"sanpath {safe(run.tool_version)}, rules {safe(run.rulebook_version)}"
    yield f"Recording {safe(run.id)}, judged by {judge}."


def _title(text: str) -> Iterator[str]:
    yield ""
    yield f"## {safe(text)}"
    yield ""


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from _title(title)
        yield from (f"- {safe(line)}" for line in lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield "| " + " | ".join(safe(cell) for cell in row) + " |"


def safe(text: str) -> str:
    """Names come from devices: no markup, no HTML, no line ends of theirs."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", words.printable(text))

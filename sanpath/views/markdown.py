"""The report as Markdown, to be stored next to the recording or pasted into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sanpath.diagnosis.model import Diagnosis, LatencyBudget
from sanpath.masking import printable
from sanpath.units import duration, percent
from sanpath.views import cells, first_screen, probe, words
from sanpath.views.step_notes import step_notes


def render(diagnosis: Diagnosis) -> str:
    """The whole report."""
    return "\n".join(_lines(diagnosis)) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    step = words.deciding_step(diagnosis)
    yield from _first_screen(diagnosis)
    yield from _actions(diagnosis)
    yield from _list_section("How sure", words.confidence_lines(diagnosis))
    yield from _probe(diagnosis)
    for budget in words.budgets_of(diagnosis, step.name) if step else ():
        yield from _budget(budget)
    knee = [text] if (text := words.knee_text(diagnosis)) else []
    yield from _list_section("Throughput over outstanding I/Os", [*knee, *words.curve_texts(diagnosis)])
    yield from _list_section("Next limit", [text] if (text := words.next_text(diagnosis)) else [])
    yield from _findings(diagnosis)
    yield from _list_section("Not measured", words.unmeasured_lines(diagnosis))
    yield from _list_section("Evidence", words.evidence_lines(diagnosis))
    yield from _list_section("Not the problem", [words.cleared_text(cleared) for cleared in diagnosis.cleared])
    yield from _title("Steps")
    yield from table(cells.STEP_HEADER, [row for s in diagnosis.steps for row in cells.step_cells(s)])
    if rows := cells.element_cells(diagnosis):
        yield from _title("Links in the step of the verdict")
        yield from table(cells.ELEMENT_HEADER, rows)
    if rows := cells.figure_cells(diagnosis):
        yield from _title("Figures entered by hand, and what they were compared with")
        yield from table(cells.FIGURE_HEADER, rows)
    yield from _list_section("Limits of the test", step_notes(diagnosis))
    yield from _list_section("Marks", [f"{mark.at}: {mark.text}" for mark in diagnosis.marks])
    yield from _list_section("How the rules judged", words.judging_lines(diagnosis))
    yield from _recorders(diagnosis)
    yield from _sources(diagnosis)


def _first_screen(diagnosis: Diagnosis) -> Iterator[str]:
    summary = diagnosis.summary
    yield f"# {safe(summary.verdict)}"
    yield ""
    kind = words.title(diagnosis.verdict)
    yield f"{kind}. {first_screen.confidence(diagnosis)}. {safe(first_screen.test_name(diagnosis))}."
    for line in (summary.consequence, *summary.other_io, summary.acquittal):
        if line is not None:
            yield ""
            yield safe(line)
    if summary.path:
        yield ""
        labels = [(before, e, safe(first_screen.label(diagnosis, e))) for before, e in first_screen.path(diagnosis)]
        yield "".join(f"{before}**{label}**" if e.role else f"{before}{label}" for before, e, label in labels)
    if (off_path := first_screen.off_path_text(diagnosis)) is not None:
        yield ""
        yield safe(off_path)
    if (other_links := first_screen.other_links_text(diagnosis)) is not None:
        yield ""
        yield safe(other_links)
    yield ""
    step = first_screen.first_step(diagnosis)
    badge_text = f" ({', '.join(first_screen.badges(step))})" if step is not None else ""
    yield f"**First action: {safe(first_screen.action_text(diagnosis))}**{badge_text}"
    if (command := first_screen.action_command(diagnosis)) is not None:
        yield from ("", "```", printable(command), "```")
    if (gain := first_screen.gain_text(diagnosis)) is not None:
        yield ""
        yield f"Expected gain: {with_commands(gain)}."


def _probe(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.probe is None:
        return
    yield from _title(probe.TITLE)
    yield from table(probe.HEADER, probe.rows(diagnosis.probe))
    if closing := probe.closing_lines(diagnosis.probe):
        yield ""
        yield from (f"- {safe(line)}" for line in closing)


def _budget(budget: LatencyBudget) -> Iterator[str]:
    yield from _title(f"Where the {duration(budget.total_seconds)} go ({budget.direction}, step {budget.step})")
    total = budget.total_seconds
    rows = [
        [
            words.layer_text(p),
            duration(words.midpoint(p.seconds)),
            percent(words.midpoint(p.seconds) / total),
            words.part_text(p),
        ]
        for p in words.timed_parts(budget)
    ]
    unexplained = words.midpoint(budget.unexplained_seconds)
    name, place = words.remainder_of(budget)
    rows.append([name, duration(unexplained), percent(unexplained / total), place])
    yield from table(("layer", "time", "share", "what"), rows)


def _actions(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.plan:
        yield from _title("Actions")
    for step in diagnosis.plan:
        yield f"{step.number}. **{safe(step.action)}** ({', '.join(first_screen.badges(step))}). "
        yield f"   {safe(words.plan_text(diagnosis, step))}"
        for variant in step.on_each_platform:
            yield ""
            yield f"   {with_commands(words.variant_text(step, variant))}"
            yield ""
            if variant.commands:
                yield "   ```"
                yield from (f"   {printable(command)}" for command in variant.commands)
                yield "   ```"
            yield f"   - Verify: {with_commands(variant.verify)}"
            yield f"   - Undo: {with_commands(variant.undo)}"
        yield ""


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    hits = words.hits(diagnosis)
    if hits:
        yield from _title("Findings")
    for finding, other_findings in words.group_findings(hits):
        text = safe(words.finding_text(finding, other_findings))
        yield f"- **{finding.role} {finding.rule}** ({finding.severity}): {text}"
        yield f"  {safe(finding.why)}"


def _recorders(diagnosis: Diagnosis) -> Iterator[str]:
    """The recorders, unless a single one recorded from the beginning to the end."""
    if recorder_table := cells.recorder_rows(diagnosis):
        yield from _title("Recorders")
        yield from table(cells.RECORDER_HEADER, recorder_table)


def _sources(diagnosis: Diagnosis) -> Iterator[str]:
    yield from _title("Sources")
    yield from table(cells.SOURCE_HEADER, [cells.source_cells(source) for source in diagnosis.sources])
    yield ""
    run = diagnosis.run
    judge = f"sanpath {safe(run.tool_version)}, rules {safe(run.rulebook_version)}"
    yield f"Recording {safe(run.id)}, judged by {judge}."


def _title(text: str) -> Iterator[str]:
    yield ""
    yield f"## {safe(text)}"
    yield ""


def _list_section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from _title(title)
        yield from (f"- {safe(line)}" for line in lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: int = 0) -> Iterator[str]:
    """The lines of a table; the last `right` columns are right-aligned."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * (len(header) - right) + " ---: |" * right
    for row in rows:
        yield "| " + " | ".join(safe(cell) for cell in row) + " |"


def safe(text: str) -> str:
    """The text without markup, HTML and line breaks: names come from devices."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", printable(text))


def with_commands(text: str) -> str:
    """A text of a rule, without other markup than commands in backticks, which are code."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return safe(text)
    return "".join(f"`{part}`" if number % 2 else safe(part) for number, part in enumerate(parts))

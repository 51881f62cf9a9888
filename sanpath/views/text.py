"""The report for a terminal: verdict first, then why, what to do, and what could not be seen."""

from __future__ import annotations

import io

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sanpath.verdict.model import Diagnosis, LatencyBudget
from sanpath.verdict.units import duration
from sanpath.views import words

_BAR = 24


def render(diagnosis: Diagnosis, width: int | None = None, colour: bool = False) -> str:
    """The report as text. `width`: columns, None for the terminal's."""
    console = Console(file=io.StringIO(), width=width, force_terminal=colour, highlight=False, markup=False)
    console.print(_report(diagnosis))
    assert isinstance(console.file, io.StringIO)  # noqa: S101 - made three lines above
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def _report(diagnosis: Diagnosis) -> RenderableType:
    verdict = diagnosis.verdict
    title = f"{words.KINDS[verdict.kind]}   grade {verdict.grade}: {words.GRADES[verdict.grade]}"
    parts: list[RenderableType] = [
        Text(title, style="bold red" if verdict.kind == "bottleneck" else "bold"),
        Text(words.printable(verdict.headline)),
    ]
    if verdict.from_step:
        parts.append(Text(f"Told from step {words.printable(verdict.from_step)}: {words.TOLD_FROM}.", "dim"))
    because = [f"{words.short(b.entity)}, {b.direction}: {line}" for b in verdict.bottlenecks for line in b.because]
    step = words.deciding_step(diagnosis)
    parts += _section("Because", because or (list(step.verdict.because) if step else []))
    if step is not None:
        for budget in words.budgets_of(diagnosis, step.name):
            parts += _budget(budget)
    knee = [text] if (text := words.knee_text(diagnosis)) else []
    parts += _section("Knee", [*knee, *words.curve_texts(diagnosis)])
    parts += _do_next(diagnosis)
    parts += _section("Next limit", [text] if (text := words.next_text(diagnosis)) else [])
    parts += _section("Suspects", words.suspect_lines(verdict))
    if verdict.decide_with:
        parts += _section("What would decide", [verdict.decide_with])
    parts += _steps(diagnosis)
    parts += _links(diagnosis)
    parts += _findings(diagnosis)
    parts += _section("Cleared", [words.cleared_text(cleared) for cleared in diagnosis.cleared])
    unseen = [f"{words.printable(u.what)}: {words.printable(u.why)} - {u.consequence}" for u in diagnosis.unobserved]
    parts += _section("Not seen", unseen)
    parts += _section("Marked", [f"{mark.at}: {mark.text}" for mark in diagnosis.marks])
    parts += _section("What would overturn this", words.overturn_texts(verdict))
    parts += _section("How the rules judged", words.judging_lines(diagnosis))
    parts += _sources(diagnosis)
    parts += _recorders(diagnosis)
    return Group(*parts)


def _section(title: str, lines: list[str]) -> list[RenderableType]:
    if not lines:
        return []
    table = Table.grid(padding=(0, 1, 0, 0))
    for line in lines:
        table.add_row(Text("  -"), Text(words.printable(line)))
    return [Text(f"\n{title}", style="bold"), table]


def _budget(budget: LatencyBudget) -> list[RenderableType]:
    table = Table.grid(padding=(0, 1, 0, 0))
    total = budget.total_seconds
    for part in budget.parts:
        seconds = words.middle(part.seconds)
        table.add_row(
            Text(f"  {words.LAYERS[part.layer]}"),
            Text(duration(seconds), justify="right"),
            Text(words.bar(seconds / total, _BAR), style="red" if part.limited_by else "cyan"),
            Text(words.part_text(part)),
        )
    rest = words.middle(budget.unexplained_seconds)
    shown = words.bar(abs(rest) / total, _BAR)
    table.add_row(
        Text("  rest"), Text(duration(rest), justify="right"), Text(shown), Text("not explained by any source")
    )
    title = f"\nWhere {duration(total)} go ({budget.direction}, step {words.printable(budget.step)})"
    return [Text(title, style="bold"), table]


def _do_next(diagnosis: Diagnosis) -> list[RenderableType]:
    if not diagnosis.plan:
        return []
    lines: list[RenderableType] = [Text("\nDo next", style="bold")]
    for step in diagnosis.plan:
        platform = words.printable(step.platform)
        lines.append(Text(f"  {step.number} {platform} ({words.DISRUPTION[step.disruption]})"))
        commands = [Text(f"$ {words.printable(command)}", style="bold") for command in step.commands]
        lines += [Padding(command, (0, 0, 0, 6)) for command in commands]
        why = words.printable(f"{words.plan_text(step)} {step.scope}")
        lines.append(Padding(Text(why, style="dim"), (0, 0, 0, 4)))
    return lines


def _steps(diagnosis: Diagnosis) -> list[RenderableType]:
    table = Table(*words.STEP_HEADER, box=None, padding=(0, 1, 0, 1), header_style="bold")
    for column in table.columns[2:7]:
        column.justify = "right"
    for step in diagnosis.steps:
        for row in words.step_cells(step):
            table.add_row(*(Text(cell) for cell in row))
    notes = [f"{words.printable(step.name)}: {note}" for step in diagnosis.steps for note in step.valid]
    return [Text("\nSteps", style="bold"), table, *_section("Not valid for", notes)]


def _links(diagnosis: Diagnosis) -> list[RenderableType]:
    rows = words.element_cells(diagnosis)
    if not rows:
        return []
    table = Table(*words.ELEMENT_HEADER, box=None, padding=(0, 1, 0, 1), header_style="bold")
    for column in table.columns[3:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return [Text("\nLinks in that step", style="bold"), table]


def _findings(diagnosis: Diagnosis) -> list[RenderableType]:
    lines = []
    for finding, others in words.grouped(words.hits(diagnosis)):
        lines.append(f"{finding.role.upper()} {finding.rule}: {words.finding_text(finding, others)}")
    unknown = sorted({f.rule for f in words.not_judged(diagnosis)})
    if unknown:
        number = len(words.not_judged(diagnosis))
        lines.append(f"not judged for want of facts, {number} times: {', '.join(unknown)}")
    return _section("Findings", lines)


def _recorders(diagnosis: Diagnosis) -> list[RenderableType]:
    """Who recorded, where that was not one from beginning to end."""
    rows = words.recorders(diagnosis)
    table = Table(*words.RECORDER, box=None, header_style="bold")
    for row in rows:
        table.add_row(*(Text(words.printable(cell)) for cell in row))
    return [Text("\nRecorders", style="bold"), table] if rows else []


def _sources(diagnosis: Diagnosis) -> list[RenderableType]:
    table = Table(
        "source", "collector", "polls", "failed", "gaps", "clock", "time in polls", box=None, header_style="bold"
    )
    for source in diagnosis.sources:
        table.add_row(
            Text(words.printable(source.name)),
            Text(words.printable(source.kind)),
            str(source.polls),
            str(source.failures),
            str(source.gaps),
            words.clock(source),
            f"{source.cost_seconds:.1f} s",
        )
    return [Text("\nSources", style="bold"), table] if diagnosis.sources else []

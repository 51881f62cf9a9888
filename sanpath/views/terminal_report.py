"""The report for a terminal: the first screen, then the details in the order in which readers need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sanpath.diagnosis.model import Diagnosis, LatencyBudget
from sanpath.masking import printable
from sanpath.units import duration
from sanpath.views import cells, first_screen, probe, words
from sanpath.views.step_notes import step_notes
from sanpath.views.terminal_tables import as_lines, table

_BAR_WIDTH = 24
"""Length of the longest bar, in characters."""


def render(diagnosis: Diagnosis, width: int | None = None, colour: bool = False) -> str:
    """The report as text. `width`: columns, None: the terminal's."""
    return as_lines(*_report(diagnosis), width=width, colour=colour)


def _report(diagnosis: Diagnosis) -> list[RenderableType]:
    step = words.deciding_step(diagnosis)
    sections: list[RenderableType] = list(_first_screen(diagnosis))
    sections += _actions(diagnosis)
    sections += _section("How sure", words.confidence_lines(diagnosis))
    sections += _probe(diagnosis)
    for budget in words.budgets_of(diagnosis, step.name) if step is not None else ():
        sections += _budget(budget)
    knee = [text] if (text := words.knee_text(diagnosis)) else []
    sections += _section("Throughput over outstanding I/Os", [*knee, *words.curve_texts(diagnosis)])
    sections += _section("Next limit", [text] if (text := words.next_text(diagnosis)) else [])
    sections += _section("Findings", words.finding_lines(diagnosis))
    sections += _section("Not measured", words.unmeasured_lines(diagnosis))
    sections += _section("Evidence", words.evidence_lines(diagnosis))
    sections += _section("Not the problem", [words.cleared_text(cleared) for cleared in diagnosis.cleared])
    sections += _steps(diagnosis)
    sections += _links(diagnosis)
    sections += _section("Marks", [f"{mark.at}: {mark.text}" for mark in diagnosis.marks])
    sections += _section("Settings of the rules", words.judging_lines(diagnosis))
    sections += _sources(diagnosis)
    sections += _recorders(diagnosis)
    return sections


def _first_screen(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    verdict, summary = diagnosis.verdict, diagnosis.summary
    alarm = verdict.kind in ("bottleneck", "configured_cap")
    yield Text(printable(f"{words.title(verdict).upper()}   {first_screen.confidence(diagnosis)}"), style="dim")
    yield Text(printable(first_screen.test_name(diagnosis)), style="dim")
    yield Text(printable(summary.verdict), style="bold red" if alarm else "bold")
    for line in (summary.consequence, *summary.other_io, summary.acquittal):
        if line is not None:
            yield Text(printable(line))
    if summary.path:
        path = Text("\n")
        for before, element in first_screen.path(diagnosis):
            path.append(before, "dim")
            path.append(first_screen.label(diagnosis, element), _ROLES.get(element.role))
        yield path
    if (off_path := first_screen.off_path_text(diagnosis)) is not None:
        yield Text(off_path, style="bold red")
    if (other_links := first_screen.other_links_text(diagnosis)) is not None:
        yield Text(other_links, style="dim")
    yield Text(f"\nFirst action: {printable(first_screen.action_text(diagnosis))}", style="bold")
    if (command := first_screen.action_command(diagnosis)) is not None:
        yield from _commands([command])
    if (step := first_screen.first_step(diagnosis)) is not None:
        costs = (", ".join(first_screen.badges(step)), printable(words.condition(step.platform)))
        yield Text(f"  {'; '.join(filter(None, costs))}", style="dim")
        yield Padding(Text(printable(step.scope), style="dim"), (0, 0, 0, 2))
        yield from _commands(step.commands)
    if (gain := first_screen.gain_text(diagnosis)) is not None:
        yield Padding(Text(printable(f"Expected gain: {gain}")), (0, 0, 0, 2))


_ROLES = {"limits": "bold red", "waits": "yellow", None: ""}


def _commands(commands: Sequence[str]) -> list[RenderableType]:
    return [Padding(Text(f"$ {printable(command)}", style="bold"), (0, 0, 0, 4)) for command in commands]


def _section(title: str, lines: list[str]) -> list[RenderableType]:
    if not lines:
        return []
    grid = Table.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row(Text("  -"), Text(printable(line)))
    return [Text(f"\n{title}", style="bold"), grid]


def _probe(diagnosis: Diagnosis) -> list[RenderableType]:
    if diagnosis.probe is None:
        return []
    return [Text(f"\n{probe.TITLE}", style="bold"), *(Text(f"  {line}") for line in probe.lines(diagnosis.probe))]


def _budget(budget: LatencyBudget) -> list[RenderableType]:
    grid = Table.grid(padding=(0, 1, 0, 0))
    total = budget.total_seconds
    for part in words.timed_parts(budget):
        seconds = words.midpoint(part.seconds)
        grid.add_row(
            Text(f"  {words.layer_text(part)}"),
            Text(duration(seconds), justify="right"),
            Text(words.bar(seconds / total, _BAR_WIDTH), style="red" if part.limited_by else "cyan"),
            Text(words.part_text(part)),
        )
    unexplained = words.midpoint(budget.unexplained_seconds)
    shown = words.bar(abs(unexplained) / total, _BAR_WIDTH)
    name, place = words.remainder_of(budget)
    grid.add_row(Text(f"  {name}"), Text(duration(unexplained), justify="right"), Text(shown), Text(place))
    title = f"\nWhere the {duration(total)} go ({budget.direction}, step {printable(budget.step)})"
    return [Text(title, style="bold"), grid]


def _actions(diagnosis: Diagnosis) -> list[RenderableType]:
    if not diagnosis.plan:
        return []
    lines: list[RenderableType] = [Text("\nActions", style="bold")]
    for step in diagnosis.plan:
        title = f"  {step.number} {step.action} ({', '.join(first_screen.badges(step))})"
        lines.append(Text(printable(title)))
        lines.append(Padding(Text(printable(words.plan_text(diagnosis, step)), style="dim"), (0, 0, 0, 4)))
        for variant in step.on_each_platform:
            description = words.variant_text(step, variant)
            lines.append(Padding(Text(printable(description), style="dim"), (0, 0, 0, 4)))
            # The commands of the first action are on the first screen.
            if step.variants or step.number != diagnosis.summary.plan_step:
                lines += [Padding(line, (0, 0, 0, 2)) for line in _commands(variant.commands)]
            back = (f"Verify: {variant.verify}", f"Undo: {variant.undo}")
            lines += [Padding(Text(printable(line), style="dim"), (0, 0, 0, 4)) for line in back]
    return lines


def _steps(diagnosis: Diagnosis) -> list[RenderableType]:
    rows = [row for step in diagnosis.steps for row in cells.step_cells(step)]
    steps = table(cells.STEP_HEADER, rows, range(2, 7))
    return [Text("\nSteps", style="bold"), steps, *_section("Limits of the test", step_notes(diagnosis))]


def _links(diagnosis: Diagnosis) -> list[RenderableType]:
    rows = cells.element_cells(diagnosis)
    if not rows:
        return []
    links = table(cells.ELEMENT_HEADER, rows, range(3, 7))
    return [Text("\nLinks in the step of the verdict", style="bold"), links]


def _recorders(diagnosis: Diagnosis) -> list[RenderableType]:
    """The recorders, unless a single one recorded from the beginning to the end."""
    rows = cells.recorder_rows(diagnosis)
    return [Text("\nRecorders", style="bold"), table(cells.RECORDER_HEADER, rows)] if rows else []


def _sources(diagnosis: Diagnosis) -> list[RenderableType]:
    header = ("source", "collector", "polls", "failed", "gaps", "clock", "time in polls")
    rows = [cells.source_cells(source)[:-1] for source in diagnosis.sources]
    return [Text("\nSources", style="bold"), table(header, rows)] if rows else []

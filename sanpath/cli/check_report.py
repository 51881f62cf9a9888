"""What `sanpath check` and `sanpath init` print about sources: blocks of lines, a table, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType
    from rich.text import Text

    from sanpath.recorder.check import Effort, SourceCheck


def source_blocks(checks: list[SourceCheck]) -> str:
    """A block of lines for each source. Texts from devices are printed without control characters."""
    return _print_to_text(*(line for check in checks for line in _lines(check)))


def summary_table(checks: list[SourceCheck]) -> str:
    """A row for each source: whether it answers, its clock, the duration of a poll, and whether that fits."""
    from rich.table import Table
    from rich.text import Text

    from sanpath.masking import printable
    from sanpath.units import duration

    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("source", "collector", "answers", "clock", "a poll takes", "fits"):
        table.add_column(heading)
    for check in checks:
        clock = "-" if check.clock_offset_seconds is None else f"{check.clock_offset_seconds:+.2f} s"
        table.add_row(
            printable(check.name),
            check.collector,
            Text("yes", "green") if check.answers else Text("NO", "bold red"),
            clock,
            duration(check.poll.seconds) if check.poll else "-",
            ("yes" if check.fits else Text("NO", "bold red")) if check.poll else "-",
        )
    return _print_to_text(table)


def first_action(checks: list[SourceCheck], config: Path | None = None) -> str:
    """One line: that the sources are ready, or what to do first: silent sources come before slow ones. `config`: the
    configuration to name; None: the default."""
    from sanpath.errors import command
    from sanpath.masking import printable

    for check in checks:
        if not check.answers:
            return f"not ready; first, for {printable(check.name)}: {printable(check.message)}; {check.remedy}"
    for check in checks:
        if not check.fits:
            slower = f"set its every_seconds to {check.slower_seconds} or more"
            return f"ready, but {printable(check.name)} would lose polls: {slower}"
    return f"ready: {command('run', *(('--config', config) if config else ()))} -- COMMAND"


def _print_to_text(*lines: RenderableType) -> str:
    import sys

    from sanpath.views.terminal_tables import as_lines

    terminal = sys.stdout.isatty()
    # A failure is one line, so that it can be searched for: without a terminal, lines are not wrapped.
    return as_lines(*lines, width=None if terminal else 10_000, colour=terminal)


def _lines(check: SourceCheck) -> list[Text]:
    from rich.text import Text

    from sanpath.masking import printable
    from sanpath.units import counted

    verdict = Text("answers", "green") if check.answers else Text("DOES NOT ANSWER", "bold red")
    lines = [Text.assemble((printable(check.name), "bold"), f" ({check.collector}) ", verdict)]
    facts: list[tuple[str, str]] = []
    if check.failure:
        facts.append((check.stage, f"{check.failure}: {check.message}; {check.remedy}"))
    if check.identity:
        facts.append(("identity", check.identity))
    if check.clock_offset_seconds is not None:
        within = check.clock_uncertainty_seconds or 0.0
        facts.append(("clock", f"{check.clock_offset_seconds:+.2f} s from this machine's, ± {within:.2f} s"))
    facts += [("cannot read", line) for line in check.unreadable]
    if check.inventory:
        facts.append(("inventory", f"{_cost_text(check.inventory)}, {check.inventory.items} entities and links"))
    if check.poll:
        facts.append(("poll", f"{_cost_text(check.poll)}, {counted(check.poll.items, 'row')}; {_fit_text(check)}"))
    return [*lines, *(Text(f"  {label:<12}{printable(text)}") for label, text in facts)]


def _cost_text(effort: Effort) -> str:
    from sanpath.units import counted, duration

    return f"{duration(effort.seconds)}, {counted(effort.requests, 'request')}, {effort.bytes_in / 1e3:,.1f} kB"


def _fit_text(check: SourceCheck) -> str:
    budget = f"{check.budget_seconds:g} s of every {check.every_seconds:g} s"
    if check.fits:
        return f"fits into {budget}"
    return f"DOES NOT FIT into {budget}: set every_seconds to {check.slower_seconds} or more"

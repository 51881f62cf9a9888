"""What `sanpath check` and `sanpath init` print about each source: a block of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from sanpath.recorder.check import Effort, SourceCheck


def source_blocks(checks: list[SourceCheck]) -> str:
    """A block of lines per source. Texts from devices are printed without control characters."""
    import io
    import sys

    from rich.console import Console

    terminal = sys.stdout.isatty()
    stream = io.StringIO()
    # A failure is one line, so that it can be searched for: without a terminal, lines are not wrapped.
    console = Console(
        file=stream, width=None if terminal else 10_000, force_terminal=terminal, highlight=False, markup=False
    )
    for check in checks:
        for line in _lines(check):
            console.print(line)
    return stream.getvalue()


def _lines(check: SourceCheck) -> list[Text]:
    from rich.text import Text

    from sanpath.views.words import printable

    verdict = Text("answers", "green") if check.answers else Text("DOES NOT ANSWER", "bold red")
    lines = [Text.assemble((printable(check.name), "bold"), f" ({check.collector}) ", verdict)]
    facts: list[tuple[str, str]] = []
    if check.failure:
        facts.append((check.stage, f"{check.failure}: {check.message}; {check.remedy}"))
    if check.identity:
        facts.append(("identity", check.identity))
    if check.clock_offset_seconds is not None:
        within = check.clock_uncertainty_seconds or 0.0
        facts.append(("clock", f"{check.clock_offset_seconds:+.2f} s to ours, ± {within:.2f} s"))
    facts += [("cannot read", line) for line in check.unreadable]
    if check.inventory:
        facts.append(("inventory", f"{_cost(check.inventory)}, {check.inventory.items} entities and links"))
    if check.poll:
        facts.append(("poll", f"{_cost(check.poll)}, {check.poll.items} rows; {_fit(check)}"))
    return [*lines, *(Text(f"  {label:<12}{printable(text)}") for label, text in facts)]


def _cost(effort: Effort) -> str:
    from sanpath.verdict.units import duration

    return f"{duration(effort.seconds)}, {effort.requests} requests, {effort.bytes_in / 1e3:,.1f} kB"


def _fit(check: SourceCheck) -> str:
    budget = f"{check.budget_seconds:g} s of every {check.every_seconds:g} s"
    if check.fits:
        return f"fits into {budget}"
    return f"DOES NOT FIT into {budget}: set every_seconds to {check.slower_seconds} or more"

"""What `sanpath check` and `sanpath init` print of each source: a block of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from sanpath.recorder.check import Effort, SourceCheck


def source_blocks(checks: list[SourceCheck]) -> str:
    """For a terminal: a block a source. What devices say is printed without its control characters."""
    import io
    import sys

    from rich.console import Console

    terminal = sys.stdout.isatty()
    stream = io.StringIO()
    # A failure is one line, to be searched for: lines are as long as they are when nobody's terminal has a width.
    console = Console(
        file=stream, width=None if terminal else 10_000, force_terminal=terminal, highlight=False, markup=False
    )
    for found in checks:
        for line in _lines(found):
            console.print(line)
    return stream.getvalue()


def _lines(found: SourceCheck) -> list[Text]:
    from rich.text import Text

    from sanpath.views.words import printable

    verdict = Text("answers", "green") if found.answers else Text("DOES NOT ANSWER", "bold red")
    lines = [Text.assemble((printable(found.name), "bold"), f" ({found.collector}) ", verdict)]
    facts: list[tuple[str, str]] = []
    if found.failure:
        facts.append((found.stage, f"{found.failure}: {found.message}; {found.remedy}"))
    if found.identity:
        facts.append(("identity", found.identity))
    if found.clock_offset_seconds is not None:
        within = found.clock_uncertainty_seconds or 0.0
        facts.append(("clock", f"{found.clock_offset_seconds:+.2f} s to ours, ± {within:.2f} s"))
    facts += [("cannot read", line) for line in found.unreadable]
    if found.inventory:
        facts.append(("inventory", f"{_cost(found.inventory)}, {found.inventory.items} things and links"))
    if found.poll:
        facts.append(("poll", f"{_cost(found.poll)}, {found.poll.items} rows; {_fit(found)}"))
    return [*lines, *(Text(f"  {what:<12}{printable(text)}") for what, text in facts)]


def _cost(effort: Effort) -> str:
    from sanpath.verdict.units import duration

    return f"{duration(effort.seconds)}, {effort.requests} requests, {effort.bytes_in / 1e3:,.1f} kB"


def _fit(found: SourceCheck) -> str:
    budget = f"{found.budget_seconds:g} s of every {found.every_seconds:g} s"
    if found.fits:
        return f"fits into {budget}"
    return f"DOES NOT FIT into {budget}: set every_seconds to {found.slower_seconds} or more"

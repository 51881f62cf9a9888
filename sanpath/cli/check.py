"""`sanpath check`: reach every source before a run, and say what would be missing."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from sanpath.recorder.check import Effort, SourceCheck

SCHEMA = "sanpath.check/1"


class CheckFormat(StrEnum):
    """How the result is printed."""

    text = "text"
    json = "json"


def check(
    config: Annotated[Path | None, typer.Option("--config", help="Default: sanpath.yaml here.")] = None,
    form: Annotated[CheckFormat, typer.Option("--format", help="How to print the result.")] = CheckFormat.text,
) -> None:
    """Ask every source who it is, what it hides from this account and what a poll costs; exit 1 if one is silent."""
    import asyncio

    from sanpath.config import load_config
    from sanpath.errors import UsageError
    from sanpath.recorder.check import check_all

    configuration = load_config(config)
    if not configuration.sources:
        raise UsageError("no source to check: name some in sanpath.yaml; `sanpath init` writes an example")
    checks = asyncio.run(check_all(configuration.sources))
    typer.echo(as_json(checks) if form is CheckFormat.json else as_text(checks), nl=False)
    for warning in configuration.warnings:
        typer.echo(f"sanpath: {warning}", err=True)
    raise typer.Exit(0 if all(found.answers for found in checks) else 1)


def as_json(checks: list[SourceCheck]) -> str:
    """One document: the sources, and where a recording would lie."""
    import json
    from dataclasses import asdict

    folder, free_bytes = _recordings()
    document = {
        "schema": SCHEMA,
        "sources": [{**asdict(found), "answers": found.answers, "fits": found.fits} for found in checks],
        "recording": {"folder": str(folder), "free_bytes": free_bytes},
    }
    return json.dumps(document, indent=2) + "\n"


def as_text(checks: list[SourceCheck]) -> str:
    """For a terminal: a block a source, and where a recording would lie."""
    folder, free_bytes = _recordings()
    free = f"{free_bytes / 1e9:,.1f} GB"
    return f"{blocks(checks)}A recording would lie in {folder}, where {free} are free.\n"


def blocks(checks: list[SourceCheck]) -> str:
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


def _recordings() -> tuple[Path, int]:
    """The folder that `sanpath run` would make its recording in, and the free bytes there."""
    import shutil

    folder = Path.cwd()
    return folder, shutil.disk_usage(folder).free

"""`sanpath check`: contact every source before a run, and report what would be missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sanpath.cli.check_report import first_action, source_blocks, summary_table
from sanpath.cli.options import SourcesOption, TextOrJson

if TYPE_CHECKING:
    from sanpath.recorder.check import SourceCheck

SCHEMA = "sanpath.check/1"


def check(
    config: SourcesOption = None,
    form: Annotated[TextOrJson, typer.Option("--format", help="How to print the result.")] = TextOrJson.text,
) -> None:
    """Try every source: login, clock, what this account may not read, and what a poll costs; exit 1 if one fails."""
    import asyncio

    from sanpath.config import load_config
    from sanpath.errors import UsageError
    from sanpath.recorder.check import check_all

    configuration = load_config(config)
    if not configuration.sources:
        raise UsageError("no source to check: name some in sanpath.yaml (`sanpath init` asks for them)")
    checks = asyncio.run(check_all(configuration.sources))
    typer.echo(as_json(checks) if form is TextOrJson.json else as_text(checks), nl=False)
    for warning in configuration.warnings:
        typer.echo(f"sanpath: {warning}", err=True)
    raise typer.Exit(0 if all(result.answers for result in checks) else 1)


def as_json(checks: list[SourceCheck]) -> str:
    """One document: the sources, and the folder for recordings."""
    import json
    from dataclasses import asdict

    folder, free_bytes = _recordings()
    document = {
        "schema": SCHEMA,
        "sources": [{**asdict(result), "answers": result.answers, "fits": result.fits} for result in checks],
        "recording": {"folder": str(folder), "free_bytes": free_bytes},
    }
    return json.dumps(document, indent=2) + "\n"


def as_text(checks: list[SourceCheck]) -> str:
    """For a terminal: a block per source, the folder for recordings, a table, and "ready" or what to do first."""
    folder, free_bytes = _recordings()
    free = f"{free_bytes / 1e9:,.1f} GB"
    return (
        f"{source_blocks(checks)}Recordings go to {folder}, which has {free} free.\n\n"
        f"{summary_table(checks)}\n{first_action(checks)}\n"
    )


def _recordings() -> tuple[Path, int]:
    """The folder in which `sanpath run` would create its recording, and its free bytes."""
    import shutil

    folder = Path.cwd()
    return folder, shutil.disk_usage(folder).free

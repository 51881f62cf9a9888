"""`sanpath compare`: two recordings at equal I/Os in flight."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    """How the comparison is printed."""

    text = "text"
    json = "json"


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The recording before the change.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The recording after it.")],
    form: Annotated[Form, typer.Option("--format", help="How to print the comparison.")] = Form.text,
) -> None:
    """Say what changed between two runs: throughput and latency of steps with as many I/Os in flight."""
    from sanpath.cli.output import diagnosis_of
    from sanpath.verdict.compare import compare as compared
    from sanpath.views.compare import as_json, as_text

    found = compared(diagnosis_of(before), diagnosis_of(after))
    width = None if sys.stdout.isatty() else 120
    typer.echo(as_json(found) if form is Form.json else as_text(found, width), nl=False)

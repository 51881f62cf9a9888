"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sanpath.recording.store import location


class Format(StrEnum):
    """How a diagnosis is printed."""

    text = "text"
    markdown = "markdown"
    json = "json"
    html = "html"
    junit = "junit"
    prometheus = "prometheus"

    @property
    def for_people(self) -> bool:
        """Whether more lines may follow it on standard output: the others are files of their own."""
        return self in (Format.text, Format.markdown)


class FailOn(StrEnum):
    """From which severity of a finding on the command ends with exit code 1."""

    never = "never"
    info = "info"
    low = "low"
    medium = "medium"
    high = "high"
    critical = "critical"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the diagnosis.")]
FailOnOption = Annotated[
    FailOn,
    typer.Option("--fail-on", help="Exit 1 when a finding has this severity or a higher one, 3 when in doubt."),
]
PlainOption = Annotated[bool, typer.Option("--plain", help="Lines instead of the live view, on a terminal too.")]
RulesOption = Annotated[Path | None, typer.Option("--rules", help="A folder with rules of your own.")]
# typer knows no unions: `location` gives a URL of an object store as a str.
Recording = Annotated[
    Path, typer.Argument(parser=location, metavar="RECORDING", help="A folder NAME.sanpath, or its URL in a store.")
]


def names(listed: str) -> tuple[str, ...]:
    """Names that were given in one option, separated by commas."""
    return tuple(name.strip() for name in listed.split(",") if name.strip())

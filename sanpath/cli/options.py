"""Options shared by several commands."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sanpath.recording.storage.store import Location, location

if TYPE_CHECKING:
    from sanpath.rulebook.site.options import Choice


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
        """Whether more lines may follow on standard output: the other formats are complete files."""
        return self in (Format.text, Format.markdown)


class TextOrJson(StrEnum):
    """How a result is printed: for people or for programs."""

    text = "text"
    json = "json"


class FailOn(StrEnum):
    """The lowest severity of a finding for which the command ends with exit code 1."""

    never = "never"
    info = "info"
    low = "low"
    medium = "medium"
    high = "high"
    critical = "critical"


class PolicyOf(StrEnum):
    """How early the limits of rules are reached."""

    aggressive = "aggressive"
    moderate = "moderate"
    conservative = "conservative"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the diagnosis.")]
FailOnOption = Annotated[
    FailOn,
    typer.Option("--fail-on", help="Exit 1 if a finding is this severe or worse, 3 if the verdict is: cannot tell."),
]
PlainOption = Annotated[bool, typer.Option("--plain", help="Lines instead of the live view, even on a terminal.")]
SourcesOption = Annotated[Path | None, typer.Option("--config", help="Default: sanpath.yaml here.")]
OnlySourcesOption = Annotated[str, typer.Option("--only-sources", help="Names of sources, separated by commas.")]
RulesOption = Annotated[Path | None, typer.Option("--rules", help="A folder with rules of your own.")]
PolicyOption = Annotated[
    PolicyOf | None, typer.Option("--policy", help="How early rules reach their limits. Default: as each rule says.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Only its `rules` section is used. Default: sanpath.yaml here.")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="URL", help="Compute on a dask cluster (tcp://…) whose workers can read the recording."
    ),
]
SuffixFormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="How to print it; default: as the file's suffix says; without one, markdown."),
]
OutputOption = Annotated[Path, typer.Option("--into", "-o", help="The file to write; default: standard output.")]
STANDARD_OUTPUT = Path("-")
_FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "text",
    ".xml": "junit",
    ".prom": "prometheus",
}
"""Suffix of a file → its format."""
FormT = TypeVar("FormT", bound=StrEnum)
# typer supports no unions: `location` returns a URL of an object store as a str.
Recording = Annotated[
    Path, typer.Argument(parser=location, metavar="RECORDING", help="A folder NAME.sanpath, or its URL in a store.")
]


def format_of(form: FormT | None, into: Path, default: FormT) -> FormT:
    """The requested format, else that of the file's suffix. Raises UsageError for a suffix of another format."""
    from sanpath.errors import UsageError

    if form is not None or not into.suffix:
        return form or default
    formats = {suffix: each for suffix, name in _FORMATS.items() for each in type(default) if each == name}
    if (found := formats.get(into.suffix.lower())) is None:
        raise UsageError(f"{into}: use one of {', '.join(formats)}, or say with --format what to write")
    return found


def choice(rules: Path | None, config: Path | None, policy: PolicyOf | None) -> Choice:
    """The options for the rules."""
    from sanpath.rulebook.site.options import POLICIES, Choice

    return Choice(rules, config, next((name for name in POLICIES if name == policy), None))


@contextlib.contextmanager
def new_recording(into: Location | None) -> Iterator[Location]:
    """The recording to write; by default a new folder named after the time, which is removed if nothing is recorded.
    Absolute: another process opens it."""
    if into is not None:
        yield into.absolute() if isinstance(into, Path) else into
        return
    folder = _new_folder(time.strftime("%Y%m%d-%H%M%S"))
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):  # It is not empty.
            folder.rmdir()


def _new_folder(name: str) -> Path:
    """Make a folder that no other run has: two may begin in the same second."""
    for number in itertools.count(1):
        folder = Path(f"{name}.sanpath" if number == 1 else f"{name}-{number}.sanpath").absolute()
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            break
    return folder


def split_names(text: str) -> tuple[str, ...]:
    """The names in an option, separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())

"""The output of commands: a diagnosis in some format, and the exit code for it."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import typer

from sanpath.cli.options import STANDARD_OUTPUT, FailOn, Format
from sanpath.cli.progress_notice import progress_notice
from sanpath.errors import ExitCode
from sanpath.extras import METRICS

if TYPE_CHECKING:
    from pathlib import Path

    from sanpath.diagnosis.model import Diagnosis
    from sanpath.recording.storage.store import Location
    from sanpath.rulebook.site.options import Choice


def diagnosis_of(folder: Location, choice: Choice | None = None, cluster: str | None = None) -> Diagnosis:
    """Diagnose a recording by the chosen rules; None: the built-in ones unchanged. `cluster`: the dask cluster that
    computes it, None: this process.

    Raises RecordingError; UsageError for a mistake in the configuration of the rules.
    """
    import duckdb

    from sanpath.dask_cluster import executor
    from sanpath.diagnose import diagnose
    from sanpath.errors import RecordingError
    from sanpath.recording.reading.recording import Recording
    from sanpath.rulebook.site.settings import rules_of

    rules, site = rules_of(choice) if choice is not None else (None, None)
    try:
        with progress_notice(f"judging {folder}"), executor(cluster) as pool:
            return diagnose(Recording(folder), rules, site, pool)
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        # DuckDB reads the footer of a damaged segment when opening it, and its content only when it is used.
        raise RecordingError(f"{folder}: is damaged: {str(error).splitlines()[0]}") from error


def note_growth(folder: Location, state: str, scope: str, is_text: bool) -> None:
    """Print that a recording still grows, on standard error unless a text for people follows."""
    import duckdb

    from sanpath.errors import RecordingError
    from sanpath.recording.reading.recording import Recording
    from sanpath.recording.reading.running import growth

    certainty = None
    with contextlib.suppress(duckdb.Error, RecordingError):  # The error is reported when the recording is judged.
        certainty = growth(Recording(folder))
    if certainty is not None:
        typer.echo(f"{state} {certainty} still {scope}.", err=not is_text)


def check_choice(choice: Choice) -> Choice:
    """The choice, after its rules were loaded; invalid rule files are reported on standard error. Raises UsageError
    for mistakes in the configuration of rules."""
    from sanpath.rulebook.site.settings import rules_of

    _, site = rules_of(choice)
    for mistake in site.refused:
        print(f"{mistake}\nsanpath: this rule is left out; the others are used", file=sys.stderr)
    return choice


def render_diagnosis(diagnosis: Diagnosis, form: Format, folder: Location) -> str:
    """The diagnosis in a format; text in colour and at the width of the terminal, if the output is one. `folder`: its
    recording; the HTML page draws its topology and its series."""
    if form is Format.html:
        return _html(diagnosis, folder)
    if form is Format.junit:
        from sanpath.views.junit import render as as_junit

        return as_junit(diagnosis)
    if form is Format.prometheus:
        METRICS.require("--format prometheus")
        from sanpath.views.prometheus.exposition import render as as_prometheus

        return as_prometheus(diagnosis)
    if form is Format.json:
        from sanpath.views.json import render as as_json

        return as_json(diagnosis)
    if form is Format.markdown:
        from sanpath.views.markdown import render as as_markdown

        return as_markdown(diagnosis)
    from sanpath.views.terminal_report import render as as_text

    terminal = sys.stdout.isatty()
    return as_text(diagnosis, None if terminal else 100, colour=terminal)


def _html(diagnosis: Diagnosis, folder: Location) -> str:
    from sanpath.facts.chart_series import series
    from sanpath.recording.reading.recording import Recording
    from sanpath.topology.resolve import resolve
    from sanpath.views.html.page import render

    with progress_notice("drawing the report"):
        recording = Recording(folder)
        topology = resolve(recording.inventory())
        path = [element.entity for element in diagnosis.summary.path]
        return render(diagnosis, topology, series(recording, topology, path=path))


def write(text: str, into: Path, document: str) -> None:
    """Write a document to a file and say so, or to standard output for "-". `document`: its name for people.

    Raises UsageError if the file cannot be written.
    """
    from sanpath.errors import UsageError

    if into == STANDARD_OUTPUT:
        typer.echo(text, nl=False)
        return
    try:
        write_file(text, into)
    except OSError as error:
        raise UsageError(f"{into}: cannot be written: {error.strerror}") from error
    typer.echo(f"{document}: {into}")


def write_file(text: str, into: Path) -> None:
    """Write a file as a whole: where that fails, on a full disk for example, an older file of this name stays as it
    was. Raises OSError."""
    into = into.resolve()
    if into.exists() and not into.is_file():  # A pipe or a device.
        into.write_text(text, encoding="utf-8")
        return
    partial = into.with_name(f"{into.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(into)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def exit_code(diagnosis: Diagnosis, fail_on: FailOn, interrupted: bool = False) -> int:
    """The first exit code that applies: interrupted, load failed, findings, cannot tell, OK."""
    if interrupted:
        return ExitCode.INTERRUPTED
    if diagnosis.run.load_exit_code:
        return ExitCode.LOAD
    if fail_on is FailOn.never:
        return ExitCode.OK
    order = [severity.value for severity in FailOn]
    worst = max((order.index(f.severity) for f in diagnosis.findings if f.outcome == "hit"), default=0)
    if worst >= order.index(fail_on.value):
        return ExitCode.FINDINGS
    return ExitCode.UNKNOWN if diagnosis.verdict.kind == "cannot_tell" else ExitCode.OK

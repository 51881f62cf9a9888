"""`sanpath compare`: two recordings at equal outstanding I/Os and equal latency, or several systems side by side."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sanpath.cli.options import (
    STANDARD_OUTPUT,
    ClusterOption,
    ConfigOption,
    OutputOption,
    PolicyOption,
    RulesOption,
    choice,
    format_of,
)
from sanpath.errors import UsageError
from sanpath.recording.storage.store import location

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis


class Form(StrEnum):
    """How the comparison is printed."""

    text = "text"
    markdown = "markdown"
    html = "html"
    json = "json"


_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}


def compare(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            parser=location, metavar="BEFORE AFTER", help="Before and after a change; or three systems or more."
        ),
    ],
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency", metavar="TIME", help="Latency at which to compare throughput: 5ms; never extrapolated."
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", help="How to print it; default: as the file's suffix says; without one, text."),
    ] = None,
    into: OutputOption = STANDARD_OUTPUT,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Show what changed between two runs: throughput and latency at the same outstanding I/Os, throughput at the same
    latency, settings, findings that came, stayed or went, and whether the prediction came true.

    Three recordings or more are shown side by side."""
    if len(recordings) < 2:
        raise UsageError("compare: name two recordings, BEFORE and AFTER, or more systems")
    from sanpath.cli.output import check_choice, diagnosis_of, note_growth, write

    latency_seconds = _latency_seconds(latency)
    form = format_of(form, into, Form.text)
    if len(recordings) > 2 and form not in (Form.text, Form.json):
        raise UsageError(f"compare: three recordings or more are printed as text or json, not as {form.value}")
    names = ("BEFORE", "AFTER") if len(recordings) == 2 else tuple(map(str, recordings))
    for name, folder in zip(names, recordings, strict=True):
        is_text = form is Form.text and into == STANDARD_OUTPUT
        note_growth(folder, name, "being recorded: this is the comparison so far", is_text)
    judging = check_choice(choice(rules, config, policy))
    runs = [diagnosis_of(folder, judging, cluster) for folder in recordings]
    printed = _several if len(runs) > 2 else _two
    write(printed(recordings, runs, latency_seconds, form), into, "comparison")


def _width() -> int | None:
    return None if sys.stdout.isatty() else 120


def _several(recordings: list[Path], runs: list[Diagnosis], latency_seconds: float | None, form: Form) -> str:
    from sanpath.comparison.side_by_side import side_by_side
    from sanpath.views import json
    from sanpath.views.side_by_side import as_text

    table = side_by_side([str(folder) for folder in recordings], runs, latency_seconds)
    return json.render(table) if form is Form.json else as_text(table, _width())


def _two(recordings: list[Path], runs: list[Diagnosis], latency_seconds: float | None, form: Form) -> str:
    from sanpath.comparison.compare import add_checks
    from sanpath.comparison.compare import compare as compared
    from sanpath.diagnose import judge_recording
    from sanpath.recording.reading.recording import Recording
    from sanpath.views import json
    from sanpath.views.compare import as_markdown, as_text

    comparison = add_checks(compared(runs[0], runs[1], latency_seconds), *judge_recording(Recording(recordings[0])))
    match form:
        case Form.json:
            return json.render(comparison)
        case Form.markdown:
            return as_markdown(comparison)
        case Form.html:
            from sanpath.facts.chart_series import series
            from sanpath.topology.resolve import resolve
            from sanpath.views.html.comparison import render

            before, after = (
                series(recording, resolve(recording.inventory())) for recording in map(Recording, recordings)
            )
            return render(comparison, runs[0], runs[1], (before, after))
        case Form.text:
            return as_text(comparison, _width())


def _latency_seconds(text: str | None) -> float | None:
    """Seconds from 5ms, 0.5 ms, 200us or 1s; None without a text. Raises UsageError for another form."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|ms|us|µs)", text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f"--latency {text}: write a time, as in 5ms or 200us")
    return float(match[1]) * _SECONDS[match[2]]

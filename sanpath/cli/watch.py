"""`sanpath watch`: look at a recording, one's own or another's, while it grows or after it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sanpath.cli.options import PlainOption, Recording, RulesOption

if TYPE_CHECKING:
    from pathlib import Path


def watch(recording: Recording, plain: PlainOption = False, rules: RulesOption = None) -> None:
    """Show what limits a load test that is under way; who records it notices nothing, and only marks are added."""
    from sanpath.cli import live
    from sanpath.recording.layout import read_manifest
    from sanpath.rulebook.load import load_rulebook

    read_manifest(recording)
    load_rulebook(rules)
    if live.fits() and not plain:
        live.show(recording, rules)
    else:
        _lines(recording, rules)


def _lines(folder: Path, rules: Path | None) -> None:
    """A line every few seconds until every writer has ended, or its recorder has gone without a word."""
    import time

    from sanpath.cli.recorder import PROGRESS_SECONDS
    from sanpath.views.live.look import look
    from sanpath.views.progress import line

    while True:
        seen = look(folder, rules)
        typer.echo(line(seen.diagnosis) if seen.diagnosis is not None else f"sanpath: {seen.failure}")
        if seen.ended or seen.silent:
            break
        time.sleep(max(PROGRESS_SECONDS, seen.pause_seconds))
    if not seen.ended:
        typer.echo("sanpath: nothing new for a long time: its recorder has gone")

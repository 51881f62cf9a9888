"""`sanpath watch`: look at a recording, one's own or another's, while it grows or after it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sanpath.cli.options import ConfigOption, PlainOption, PolicyOption, Recording, RulesOption, choice

if TYPE_CHECKING:
    from pathlib import Path

    from sanpath.rulebook.site import Choice


def watch(
    recording: Recording,
    plain: PlainOption = False,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
) -> None:
    """Show what limits a load test that is under way; who records it notices nothing, and only marks are added."""
    from sanpath.cli import live
    from sanpath.cli.output import checked
    from sanpath.recording.layout import read_manifest

    read_manifest(recording)
    chosen = checked(choice(rules, config, policy))
    if live.fits() and not plain:
        live.show(recording, chosen)
    else:
        _lines(recording, chosen)


def _lines(folder: Path, chosen: Choice) -> None:
    """A line every few seconds until every writer has ended, or its recorder has gone without a word."""
    import time

    from sanpath.cli.recorder import PROGRESS_SECONDS
    from sanpath.views.live.look import look
    from sanpath.views.progress import line

    seen = None
    while True:
        seen = look(folder, chosen, seen)
        typer.echo(line(seen.diagnosis) if seen.diagnosis is not None else f"sanpath: {seen.failure}")
        if seen.ended or seen.silent:
            break
        time.sleep(max(PROGRESS_SECONDS, seen.pause_seconds))
    if not seen.ended:
        typer.echo("sanpath: nothing new for a long time: its recorder has gone")

"""`sanpath whatif`: predict a recorded test with another configuration."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sanpath.cli.options import Recording, TextOrJson
from sanpath.recording.storage.store import location


def whatif(
    recording: Recording,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="ENTITY.SETTING=VALUE", help="A setting to change; may be repeated."),
    ] = None,
    relieve: Annotated[
        bool, typer.Option("--relieve", help="Relieve the limit of each step, with everything saturated beside it.")
    ] = False,
    before: Annotated[
        Path | None,
        typer.Option(
            "--before", parser=location, metavar="EARLIER", help="An earlier run: shows how far off the model is."
        ),
    ] = None,
    form: Annotated[TextOrJson, typer.Option("--format", help="How to print the result.")] = TextOrJson.text,
) -> None:
    """Predict what each step of a recorded test would reach with another configuration, and what would limit it.

    Settings: speed of a switch_port, hba or array_port; queue_depth of a lun or vdisk;
    controller_type and limit_ops_per_second of a vdisk; path_policy and path_switch_operations of a lun;
    qos_ops_per_second and qos_bytes_per_second of a volume; in_flight of a load."""
    from sanpath.diagnose import judge_recording
    from sanpath.errors import UsageError
    from sanpath.recording.reading.recording import Recording as Recorded
    from sanpath.views import json
    from sanpath.views.whatif import as_text
    from sanpath.whatif.what_if import what_if

    if not settings and not relieve:
        raise UsageError(
            "whatif: name what to change: --relieve, or --set ENTITY.SETTING=VALUE as in "
            "--set switch_port:sw1/fc1/7.speed=8GFC"
        )
    facts, judgements = judge_recording(Recorded(recording))
    prediction = what_if(facts, judgements, settings or (), relieve)
    if before is not None:
        from sanpath.cli.output import diagnosis_of
        from sanpath.comparison.compare import add_checks
        from sanpath.comparison.compare import compare as compared

        comparison = compared(diagnosis_of(before), diagnosis_of(recording))
        prediction = replace(prediction, checks=add_checks(comparison, *judge_recording(Recorded(before))).checks)
    width = None if sys.stdout.isatty() else 160
    typer.echo(json.render(prediction) if form is TextOrJson.json else as_text(prediction, width), nl=False)

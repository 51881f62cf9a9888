"""`sanpath demo`: the 4 Gb switch of a published test, simulated, recorded and judged in about a minute."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sanpath.cli.options import Format, FormatOption, PlainOption
from sanpath.cli.sessions.exporter import MetricsOption

if TYPE_CHECKING:
    from sanpath.recorder.request import RunRequest

CONFIG = "sanpath.yaml"
"""The file name of a lab's configuration."""
SCENARIO = "four-gigabit-switch"
HINT = "simulated: fio, a 4 Gb/s switch, an array everybody suspects; try t, s, m, ?"
"""A text about the simulation, with keys to try; it fits 80 columns."""


def demo(
    form: FormatOption = Format.text,
    scenario: Annotated[str, typer.Option("--scenario", help="See `sanpath lab list`.")] = SCENARIO,
    plain: PlainOption = False,
    metrics: MetricsOption = "",
) -> None:
    """Run a load test against a simulated SAN, into demo.sanpath here, and report on it."""
    import tempfile

    from sanpath.cli.options import FailOn, choice
    from sanpath.cli.sessions.run import Session

    typer.echo("sanpath: a simulated SAN, about a minute; everybody will suspect the array", err=True)
    hint = HINT if scenario == SCENARIO else f"simulated: {scenario}; try t, s, ?"
    recording = _free_name(Path.cwd())
    with tempfile.TemporaryDirectory(prefix="sanpath-demo-") as name, ExitStack() as lab:
        request = partial(_request, recording, scenario, Path(name), lab)
        chosen = choice(None, Path(name) / CONFIG, None)
        code = Session(recording, request, form, FailOn.never, chosen, plain, metrics, hint).run()
    raise typer.Exit(code)


def _request(recording: Path, scenario: str, folder: Path, lab: ExitStack) -> RunRequest:
    """The load of a simulated SAN, once it is running. It is served until `lab` is left."""
    from sanpath.cli.sessions.lab_process import serve_lab
    from sanpath.recorder.request import RunRequest

    up = lab.enter_context(serve_lab(scenario, folder))
    return RunRequest(folder=recording, config=up.config, load=_link_as_fio(up.load, folder), load_reader="fio")


def _link_as_fio(load: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """The load command under the name `fio`: readers would not recognise the command line of its double."""
    import os
    import shlex

    script = folder / "fio"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(load)} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    # On a file system mounted noexec the command line remains unchanged.
    return (str(script),) if os.name == "posix" and os.access(script, os.X_OK) else load


def _free_name(folder: Path) -> Path:
    """demo.sanpath, or the first free name of demo-2.sanpath, demo-3.sanpath …: nothing is overwritten."""
    candidate, number = folder / "demo.sanpath", 1
    while candidate.exists():
        number += 1
        candidate = folder / f"demo-{number}.sanpath"
    return candidate

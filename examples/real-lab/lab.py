"""The real lab: builds a storage network with a real bottleneck on this machine, and takes it down again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from real_lab.cases import CASES, Case
from real_lab.files import write_plan
from real_lab.lifecycle import Lab, down, down_all, running, up
from real_lab.requirements import missing
from real_lab.state import LabError

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

CaseName = Annotated[str, typer.Option("--case", help=f"one of: {', '.join(CASES)}")]
Folder = Annotated[Path, typer.Option("--folder", help="a new or empty folder for the lab's files")]


@app.command("up")
def up_command(case: CaseName, folder: Folder) -> None:
    """Build the lab, print {"config": ..., "load": [...]} and leave it running until `down`."""
    lab = up(_case(case), folder)
    typer.echo(json.dumps({"config": str(lab.config), "load": lab.load}))


@app.command("down")
def down_command(
    folder: Annotated[Path | None, typer.Option("--folder", help="the folder given to `up`")] = None,
    every: Annotated[bool, typer.Option("--all", help="every lab of this machine, whoever built it")] = False,
) -> None:
    """End the lab's processes and delete its namespaces, also after a crash."""
    if every == (folder is not None):
        raise LabError("give either --folder or --all")
    if folder is None:
        down_all()
    else:
        down(folder)


@app.command("run")
def run_command(case: CaseName, folder: Folder) -> None:
    """Build the lab, record the load with sanpath, print its diagnosis, take the lab down."""
    recording = folder.resolve() / f"{case}.sanpath"
    with running(_case(case), folder) as lab:
        exit_code = _sanpath(*_recording_options(lab, recording))
    raise typer.Exit(exit_code)


@app.command("probe")
def probe_command(case: CaseName, folder: Folder) -> None:
    """Build the lab, probe what limits the heaviest step of the load, print its diagnosis, take the lab down."""
    recording = folder.resolve() / f"{case}.sanpath"
    with running(_case(case), folder) as lab:
        plan = write_plan(CASES[case], lab.load[:-1], folder)
        exit_code = _sanpath(
            "probe", str(plan), "--config", str(lab.config), "--into", str(recording), "--allow-writes"
        )
    raise typer.Exit(exit_code)


def _recording_options(lab: Lab, recording: Path) -> list[str]:
    return ["run", "--load", "fio", "--config", str(lab.config), "--into", str(recording), "--", *lab.load]


def _sanpath(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "sanpath", *arguments], check=False).returncode  # noqa: S603 - our own command


def _case(name: str) -> Case:
    if name not in CASES:
        raise LabError(f"no case {name!r}; there is {', '.join(CASES)}")
    if lacking := missing():
        raise LabError("; ".join(lacking))
    return CASES[name]


def main() -> None:
    """Report the lab's own errors as one line."""
    try:
        app()
    except LabError as error:
        sys.exit(f"lab.py: {error}")


if __name__ == "__main__":
    main()

"""The kernel lab: a storage network of real Linux kernels with a real bottleneck, on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from kernel_lab import dataset
from kernel_lab.cases import CASES, Case
from kernel_lab.draws import draw
from kernel_lab.lifecycle import running
from kernel_lab.outcome import confirmation, outcome, table
from kernel_lab.requirements import missing
from real_lab.state import LabError

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


EachInFolder = Annotated[Path, typer.Option("--folder", help="a folder for each case is made in it")]
Only = Annotated[str, typer.Option("--only", help="cases whose name has this part")]
Draws = Annotated[int, typer.Option("--draws", help="so many cases drawn at random in place of the named ones")]
FirstSeed = Annotated[int, typer.Option("--first-seed", help="seed of the first of them")]

_ANYWHERE = ("unshare", "--uts", "sh", "-c", 'hostname recorder && exec "$@"', "sh")
"""Runs a command on a machine of another name: recordings are given to others."""

SPARE_SECONDS = 30
"""Longer than a load needs to start and end. After that, sanpath does not wait for a guest that died."""


@app.command("run")
def run_command(
    case: Annotated[str, typer.Option("--case", help=f"one of: {', '.join(CASES)}")],
    folder: Annotated[Path, typer.Option("--folder", help="a new or empty folder for the lab's files")],
) -> None:
    """Build the lab, record the load with sanpath, print its diagnosis, take the lab down."""
    if case not in CASES:
        raise LabError(f"no case {case!r}; there is {', '.join(CASES)}")
    raise typer.Exit(_record(CASES[case], folder))


@app.command("all")
def all_command(folder: EachInFolder, only: Only = "", draws: Draws = 0, first_seed: FirstSeed = 1) -> None:
    """Record and judge every case, or so many drawn ones; print each verdict beside the true answer."""
    for case in _cases(only, draws, first_seed):
        if not (folder / case.name).exists():
            _record(case, folder / case.name, quiet=True)
            typer.echo(outcome(case, folder).line())


@app.command("confirm")
def confirm_command(folder: EachInFolder, only: Only = "") -> None:
    """Record each case of `all` again with its labelled place relieved, which proves or refutes the label."""
    for case in _cases(only, 0, 1):
        recorded = folder / case.repaired.name
        if case.repair and (folder / case.name).exists() and not recorded.exists():
            _record(case.repaired, recorded, quiet=True)
            typer.echo(confirmation(case, folder))


@app.command("table")
def table_command(folder: EachInFolder, only: Only = "") -> None:
    """Print what came of `all` and `confirm` as a table in Markdown."""
    typer.echo(table([case for case in _cases(only, 0, 1) if (folder / case.name).exists()], folder))


@app.command("dataset")
def dataset_command(
    folder: EachInFolder,
    into: Annotated[Path, typer.Option("--into", help="file to write, .tar.xz")],
    only: Only = "",
) -> None:
    """Pack the recordings of `all` with their labels, for others to score their tools on."""
    dataset.write([case for case in _cases(only, 0, 1) if (folder / case.name).exists()], folder, into)


@app.command("score")
def score_command(folder: EachInFolder, only: Only = "", draws: Draws = 0, first_seed: FirstSeed = 1) -> None:
    """Judge what `all` recorded again."""
    for case in _cases(only, draws, first_seed):
        if (folder / case.name).exists():
            typer.echo(outcome(case, folder).line())


def _cases(only: str, draws: int, first_seed: int) -> list[Case]:
    drawn = [draw(seed) for seed in range(first_seed, first_seed + draws)]
    return [case for case in drawn or CASES.values() if only in case.name]


def _record(case: Case, folder: Path, *, quiet: bool = False) -> int:
    if lacking := missing():
        raise LabError("; ".join(lacking))
    recording = folder.resolve() / f"{case.name}.sanpath"
    with running(case, folder) as lab:
        done = subprocess.run(  # noqa: S603 - our own command
            [*_ANYWHERE, sys.executable, "-m", "sanpath", "run", "--load", "fio", "--on", "host1", "--plain",
             "--for", str(case.load.seconds + SPARE_SECONDS), "--config", str(lab.config),
             "--into", str(recording), "--", *lab.load],
            check=False, capture_output=quiet,
        )  # fmt: skip
    return done.returncode


@app.command("list")
def list_command() -> None:
    """Name every case and its true answer."""
    for case in CASES.values():
        typer.echo(f"{case.name}\t{' or '.join(case.truth.kinds)} {' or '.join(case.truth.elements)}")


def main() -> None:
    """Report the lab's own errors as one line."""
    try:
        app()
    except LabError as error:
        sys.exit(f"lab.py: {error}")

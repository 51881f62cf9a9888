"""The kernel lab: a storage network of real Linux kernels with a real bottleneck, on this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kernel_lab import dataset
from kernel_lab.cases import Case
from kernel_lab.configuration import write_plan
from kernel_lab.draws import draw
from kernel_lab.images import images
from kernel_lab.lifecycle import running
from kernel_lab.named_cases import CASES
from kernel_lab.outcome import confirmation, outcome, probe_outcome, table
from kernel_lab.requirements import missing
from real_lab.state import LabError

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


EachInFolder = Annotated[Path, typer.Option("--folder", help="a folder for each case is made in it")]
Only = Annotated[str, typer.Option("--only", help="cases whose name matches this regular expression")]
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
            _try(case, folder, partial(outcome, case, folder))


@app.command("confirm")
def confirm_command(folder: EachInFolder, only: Only = "", draws: Draws = 0, first_seed: FirstSeed = 1) -> None:
    """Record each case of `all` again with its labelled place relieved, which proves or refutes the label."""
    for case in _recorded(folder, only, draws, first_seed):
        if case.repair and not (folder / case.repaired.name).exists():
            _try(case.repaired, folder, partial(_confirmed, case, folder))


@app.command("probe")
def probe_command(folder: EachInFolder, only: Only = "", draws: Draws = 0, first_seed: FirstSeed = 1) -> None:
    """Probe each case from the heaviest step of its load, and print what each probe has proven.

    A case whose load asks for a rate is left out: a probe repeats no such load.
    """
    for case in _cases(only, draws, first_seed):
        if not case.load.rate_iops and not (folder / case.name).exists():
            _try(case, folder, partial(probe_outcome, case, folder), probing=True)


@app.command("table")
def table_command(folder: EachInFolder, only: Only = "", draws: Draws = 0, first_seed: FirstSeed = 1) -> None:
    """Print what came of `all` and `confirm` as a table in Markdown."""
    typer.echo(table(_recorded(folder, only, draws, first_seed), folder))


@app.command("dataset")
def dataset_command(
    folder: EachInFolder,
    into: Annotated[Path, typer.Option("--into", help="file to write, .tar.xz")],
    only: Only = "",
) -> None:
    """Pack the recordings of `all` with their labels, for others to score their tools on."""
    dataset.write(_recorded(folder, only, 0, 1), folder, into)


@app.command("score")
def score_command(folder: EachInFolder, only: Only = "", draws: Draws = 0, first_seed: FirstSeed = 1) -> None:
    """Judge what `all` recorded again."""
    for case in _recorded(folder, only, draws, first_seed):
        typer.echo(outcome(case, folder))


def _cases(only: str, draws: int, first_seed: int) -> list[Case]:
    drawn = [draw(seed) for seed in range(first_seed, first_seed + draws)]
    return [case for case in drawn or CASES.values() if re.search(only, case.name)]


def _recorded(folder: Path, only: str, draws: int, first_seed: int) -> list[Case]:
    return [case for case in _cases(only, draws, first_seed) if case.recording_in(folder).exists()]


def _confirmed(case: Case, folder: Path) -> str:
    return f"{case.name:24} {confirmation(case, folder)}"


def _try(case: Case, folder: Path, result: Callable[[], object], *, probing: bool = False) -> None:
    """Record a case and print what came of it. One that cannot be built does not end the others."""
    try:
        _record(case, folder / case.name, quiet=True, probing=probing)
        typer.echo(result())
    except LabError as error:
        typer.echo(f"{case.name:24} not recorded: {error}")


def _record(case: Case, folder: Path, *, quiet: bool = False, probing: bool = False) -> int:
    if lacking := missing():
        raise LabError("; ".join(lacking))
    recording = case.recording_in(folder.resolve().parent)
    with running(case, folder) as lab:
        seconds = str(case.load.seconds + SPARE_SECONDS)
        run = ["run", "--load", "fio", "--on", case.load_host, "--plain", "--for", seconds, "--", *lab.load]
        probe = ["probe", str(write_plan(case, folder)), "--allow-writes"]
        words = [*(probe if probing else run)]
        words[1:1] = ["--config", str(lab.config), "--into", str(recording)]
        done = subprocess.run(  # noqa: S603 - our own command
            [*_ANYWHERE, sys.executable, "-m", "sanpath", *words], check=False, capture_output=quiet
        )
        if quiet and done.returncode and not recording.exists():
            raise LabError(done.stderr.decode(errors="replace").strip()[-200:])
    return done.returncode


@app.command("images")
def images_command() -> None:
    """Build the guests' kernel and root image from Debian's packages, if they are not in the cache."""
    if lacking := missing():
        raise LabError("; ".join(lacking))
    typer.echo(images().kernel.parent)


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

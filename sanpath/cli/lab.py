"""`sanpath lab`: the simulated SAN. It runs as a process of its own: judge and judged share nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="lab", help="A simulated SAN that speaks the real protocols on loopback.", no_args_is_help=True
)


@app.command("list")
def list_scenarios(
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects: name, title, truth.")] = False,
) -> None:
    """List the scenarios, and what a correct diagnosis says of each."""
    raise typer.Exit(_lab("list", *(["--json"] if as_json else [])))


@app.command("serve")
def serve(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO")],
    folder: Annotated[Path, typer.Option("--folder", help="Where its configuration and secrets go.")] = Path("lab"),
) -> None:
    """Serve a scenario until Ctrl-C; prints the configuration and the load command to use with `sanpath run`."""
    raise typer.Exit(_lab("serve", scenario, "--folder", str(folder)))


def _lab(*arguments: str) -> int:
    import subprocess

    from sanpath.cli.child import environment, python

    try:
        return subprocess.run(python("sanpath_lab", *arguments), env=environment(), check=False).returncode  # noqa: S603
    except KeyboardInterrupt:
        return 0

"""`sanpath topology`: what a recording knows of the path, and the joins that were not found."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sanpath.cli.options import Recording


class Drawing(StrEnum):
    """How the topology is printed."""

    tree = "tree"
    json = "json"


def topology(
    recording: Recording,
    form: Annotated[Drawing, typer.Option("--format", help="How to print it.")] = Drawing.tree,
) -> None:
    """Show the I/O paths from load to volume, every join with its evidence, and what could not be joined."""
    from sanpath.recording.read import Recording as Reader
    from sanpath.topology.identity import resolve
    from sanpath.views.topology import as_json, as_tree

    found = resolve(Reader(recording).inventory())
    typer.echo(as_json(found) if form is Drawing.json else as_tree(found), nl=False)

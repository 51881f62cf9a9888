"""`sanpath topology`: the paths that a recording shows, and the failed joins."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sanpath.cli.options import Recording


class Drawing(StrEnum):
    """How the topology is printed."""

    tree = "tree"
    json = "json"
    graphml = "graphml"


def topology(
    recording: Recording,
    form: Annotated[Drawing, typer.Option("--format", help="How to print the result.")] = Drawing.tree,
) -> None:
    """Show the I/O paths from load to volume, every join with its evidence, and what could not be joined."""
    from sanpath.recording.reading.recording import Recording as Reader
    from sanpath.topology.resolve import resolve
    from sanpath.views.topology import as_graphml, as_json, as_tree

    draw = {Drawing.tree: as_tree, Drawing.json: as_json, Drawing.graphml: as_graphml}[form]
    typer.echo(draw(resolve(Reader(recording).inventory())), nl=False)

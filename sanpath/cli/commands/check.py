"""`sanpath check`: contact every source before a run, and report what would be missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sanpath.cli.check_report import first_action, source_blocks, summary_table
from sanpath.cli.options import SourcesOption, TextOrJson

if TYPE_CHECKING:
    from sanpath.config import Config
    from sanpath.recorder.check import SourceCheck, SourcedInventory

SCHEMA = "sanpath.check/1"
_REPORTED = ("switch_port", "array_port", "volume")
"""Kinds of which a source reports all."""


def check(
    config: SourcesOption = None,
    form: Annotated[TextOrJson, typer.Option("--format", help="How to print the result.")] = TextOrJson.text,
) -> None:
    """Try every source: login, clock, what this account may not read, and what a poll costs; exit 1 if one fails."""
    import asyncio

    from sanpath.config import load_config
    from sanpath.errors import UsageError
    from sanpath.recorder.check import check_all

    configuration = load_config(config)
    if not configuration.sources:
        raise UsageError(
            f"no source to check: name some in {config or 'sanpath.yaml'} (`sanpath init` asks for them)"
        )
    inventory: SourcedInventory = []
    checks = asyncio.run(check_all(configuration.sources, inventory))
    typer.echo(as_json(checks) if form is TextOrJson.json else as_text(checks, config), nl=False)
    for warning in (*configuration.warnings, *_unknown_ports(configuration, inventory)):
        typer.echo(f"sanpath: {warning}", err=True)
    raise typer.Exit(0 if all(result.answers for result in checks) else 1)


def _unknown_ports(configuration: Config, inventory: SourcedInventory) -> list[str]:
    """A sentence for each port or volume in the topology section that its source, which reports others, does not
    report: a misspelt one would silently end the path."""
    from sanpath.topology.resolve import resolve
    from sanpath.yaml_document import suggestion

    topology = resolve(inventory)
    named = {(entity.kind, entity.local_id) for entity in configuration.entities}
    ends = dict.fromkeys(end for link in configuration.links for end in (link.from_end, link.to_end))
    sentences = []
    for kind, name in (end for end in ends if end[0] in _REPORTED and end not in named):
        source = name.partition("/")[0]
        reported = [entity.id for entity in topology.of_kind(kind) if entity.id.startswith(f"{kind}:{source}/")]
        if reported and f"{kind}:{name}" not in reported:
            hint = suggestion(f"{kind}:{name}", reported).strip()
            sentences.append(f"topology: {source} reports no {kind}:{name}{hint and f'; {hint}'}")
    return sentences


def as_json(checks: list[SourceCheck]) -> str:
    """One document: the sources, and the folder for recordings."""
    import json
    from dataclasses import asdict

    folder, free_bytes = _recordings()
    document = {
        "schema": SCHEMA,
        "sources": [{**asdict(result), "answers": result.answers, "fits": result.fits} for result in checks],
        "recording": {"folder": str(folder), "free_bytes": free_bytes},
    }
    return json.dumps(document, indent=2) + "\n"


def as_text(checks: list[SourceCheck], config: Path | None = None) -> str:
    """For a terminal: a block per source, the folder for recordings, a table, and "ready" or what to do first."""
    folder, free_bytes = _recordings()
    free = f"{free_bytes / 1e9:,.1f} GB"
    return (
        f"{source_blocks(checks)}Recordings go to {folder}, which has {free} free.\n\n"
        f"{summary_table(checks)}\n{first_action(checks, config)}\n"
    )


def _recordings() -> tuple[Path, int]:
    """The folder in which `sanpath run` would create its recording, and its free bytes."""
    import shutil

    folder = Path.cwd()
    return folder, shutil.disk_usage(folder).free

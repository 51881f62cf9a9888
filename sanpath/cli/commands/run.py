"""`sanpath run`: record a load test, judge it, and report its limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sanpath.cli.options import (
    FailOn,
    FailOnOption,
    Format,
    FormatOption,
    OnlySourcesOption,
    PlainOption,
    PolicyOption,
    RulesOption,
    SourcesOption,
    choice,
    new_recording,
    split_names,
)
from sanpath.cli.sessions.exporter import MetricsOption
from sanpath.recording.storage.store import location

LoadArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND]", help="The load generator to start, with its options."),
]
IntoOption = Annotated[
    Path | None,
    typer.Option(
        "--into",
        parser=location,
        metavar="PATH",
        help="Recording folder, or its URL in a store. A running recording is joined, but only one "
        "load can run in it. Default: a new folder, named after the time.",
    ),
]
SecondsOption = Annotated[float | None, typer.Option("--for", help="End after this many seconds.", min=1)]
ReaderOption = Annotated[
    str | None, typer.Option("--load", help="Collector that reads COMMAND's output, if its name does not show it.")
]
HostsOption = Annotated[
    str, typer.Option("--on", help="Hosts of the configuration that run COMMAND in lock-step, separated by commas.")
]
KeepOption = Annotated[
    str,
    typer.Option(
        "--keep", metavar="TIME", help="Drop samples older than this, such as 90m, 24h or 7d. Default: keep all."
    ),
]
WriterOption = Annotated[
    str,
    typer.Option(
        "--writer",
        metavar="NAME",
        help="Name of this recorder in the recording; restart it with the same name. Default: name of its host.",
    ),
]


def run(
    load: LoadArgument = None,
    config: SourcesOption = None,
    into: IntoOption = None,
    seconds: SecondsOption = None,
    only_sources: OnlySourcesOption = "",
    reader: ReaderOption = None,
    on: HostsOption = "",
    keep: KeepOption = "",
    writer: WriterOption = "",
    form: FormatOption = Format.text,
    fail_on: FailOnOption = FailOn.never,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    plain: PlainOption = False,
    metrics: MetricsOption = "",
) -> None:
    """Poll every source while a load test runs, then show where its bottleneck is, why, and what to do."""
    from sanpath.cli.sessions.run import Session
    from sanpath.config import retention_seconds
    from sanpath.errors import UsageError
    from sanpath.recorder.request import RunRequest

    if not load and reader is not None:
        raise UsageError("--load names the reader of a load command; add the command after --")
    if not load and on:
        raise UsageError("--on names the hosts of a load command; add the command after --")
    with new_recording(into) as folder:
        request = RunRequest(
            folder=folder,
            config=config,
            load=tuple(load or ()),
            load_reader=reader,
            for_seconds=seconds,
            only_sources=split_names(only_sources),
            on=split_names(on),
            keep_seconds=retention_seconds(keep) if keep else None,
            writer=writer,
        )
        chosen = choice(rules, config, policy)
        raise typer.Exit(Session(folder, request, form, fail_on, chosen, plain, metrics).run())

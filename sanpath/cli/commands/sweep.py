"""`sanpath sweep`: run a matrix of load steps, judge each, and find the knee."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from sanpath.sweep.plan import Plan


def sweep(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="What to vary, on which target, for how long.")],
    config: SourcesOption = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            parser=location,
            metavar="PATH",
            help="Recording; that of an interrupted sweep is resumed. Default: named after the time.",
        ),
    ] = None,
    only_sources: OnlySourcesOption = "",
    print_only: Annotated[
        bool, typer.Option("--print", help="Only print the command lines, to be run by hand and imported.")
    ] = False,
    form: FormatOption = Format.text,
    fail_on: FailOnOption = FailOn.never,
    rules: RulesOption = None,
    policy: PolicyOption = None,
    plain: PlainOption = False,
    metrics: MetricsOption = "",
) -> None:
    """Run every combination of a matrix step by step, and show what limits each one and where the knee is."""
    from sanpath.cli.sessions.sweep import SweepSession, recorded_progress
    from sanpath.recorder.request import RunRequest, SweepRequest
    from sanpath.sweep.plan import load_plan, refuse_missing_target

    plan = load_plan(plan_file)
    if print_only:
        typer.echo("\n".join(_command_lines(plan)))
        return
    refuse_missing_target(plan, str(plan_file))
    with new_recording(into) as folder:
        progress = recorded_progress(folder, plan)
        request = RunRequest(
            folder=folder,
            config=config,
            only_sources=split_names(only_sources),
            sweep=SweepRequest(plan=plan, file=str(plan_file), done=tuple(progress.done), cut=tuple(progress.cut)),
        )
        raise typer.Exit(SweepSession(request, form, fail_on, choice(rules, config, policy), plain, metrics).run())


def _command_lines(plan: Plan) -> Iterator[str]:
    from sanpath.sweep.commands import shell_command
    from sanpath.sweep.matrix import steps

    for step in steps(plan):
        yield f"# {step.name}"
        for host in plan.hosts:
            if len(plan.hosts) > 1:
                yield f"# on {host}"
            yield shell_command(plan, step)

"""`sanpath probe`: find the limit by experiment: short steps of a load, each chosen for its expected information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sanpath.cli.options import (
    FailOn,
    FailOnOption,
    Format,
    FormatOption,
    OnlySourcesOption,
    PolicyOption,
    RulesOption,
    SourcesOption,
    choice,
    new_recording,
    split_names,
)
from sanpath.recording.storage.store import Location, location

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.probe.plan import ProbePlan
    from sanpath.probe.search import Search
    from sanpath.rulebook.site.options import Choice


BeginArgument = Annotated[
    Path,
    typer.Argument(
        parser=location,
        metavar="PLAN|JOB|RECORDING",
        help="A plan: the load, its target, and what may be tried at what cost. Or a job file of fio. Or a "
        "recording: its load again, beginning with the experiment that separates the suspects of its verdict.",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="DEVICE",
        help="With a recording or job file: the device, file or URI of an NBD export to test; repeat it for several.",
    ),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="With a recording or job file: a key of the plan, such as load.in_flight=16 or budget.seconds=120; "
        "repeat it.",
    ),
]
IntoOption = Annotated[
    Path | None,
    typer.Option("--into", parser=location, metavar="PATH", help="Recording. Default: named after the time."),
]
AfterOption = Annotated[
    Path | None,
    typer.Option(
        "--after",
        parser=location,
        metavar="RECORDING",
        help="An earlier probe: repeat its load after you changed a setting, and show what that proves.",
    ),
]
KneeOption = Annotated[
    bool, typer.Option("--knee", help="Find the knee of throughput over outstanding I/Os, in few steps.")
]
ObjectiveOption = Annotated[
    str, typer.Option("--objective", metavar="'p99<=2ms'", help="Find the highest load that keeps this latency.")
]
AllowWritesOption = Annotated[
    bool, typer.Option("--allow-writes", help="The load may write, which destroys what is on the target.")
]
PrintOption = Annotated[
    bool, typer.Option("--print", help="Only print the steps that the plan allows, as command lines.")
]


def probe(
    begin: BeginArgument,
    target: TargetOption = None,
    setting: SettingOption = None,
    config: SourcesOption = None,
    into: IntoOption = None,
    after: AfterOption = None,
    knee: KneeOption = False,
    objective: ObjectiveOption = "",
    allow_writes: AllowWritesOption = False,
    only_sources: OnlySourcesOption = "",
    print_only: PrintOption = False,
    form: FormatOption = Format.text,
    fail_on: FailOnOption = FailOn.never,
    rules: RulesOption = None,
    policy: PolicyOption = None,
) -> None:
    """Run short steps of a load, each chosen to tell most about the limit, and report what they proved.

    Only the load varies: no setting of a device is changed. The probe stops if the verdict is certain, if no step
    that the plan allows would show more, if the budget is used up, or if the latency of other hosts grows.
    """
    from sanpath.cli.output import exit_code, render_diagnosis
    from sanpath.cli.sessions.probe import ProbeSession
    from sanpath.errors import UsageError
    from sanpath.masking import printable
    from sanpath.probe.budget import Spent
    from sanpath.probe.experiment_steps import Finish
    from sanpath.probe.search import continue_from
    from sanpath.recorder.request import RunRequest, SweepRequest
    from sanpath.sweep.plan import refuse_missing_target

    if (after is not None) + knee + bool(objective) > 1:
        raise UsageError("give one of --after, --knee and --objective")
    chosen = choice(rules, config, policy)
    plan, before = _plan(begin, target or (), setting or (), allow_writes, chosen)
    if print_only:
        typer.echo("\n".join(_command_lines(plan, allow_writes)))
        return
    recorded = None if before is None or after or knee or objective else continue_from(before.verdict)
    search = recorded or _search(after, knee, objective)
    if before is not None and recorded and isinstance(finish := recorded(plan, None, Spent()), Finish):
        typer.echo(render_diagnosis(before, form, begin), nl=False)
        typer.echo(f"\nsanpath: nothing is run: {printable(finish.reason)}", err=True)
        if finish.for_a_person:
            typer.echo(f"sanpath: next, to do by hand: {printable(finish.for_a_person)}", err=True)
        raise typer.Exit(exit_code(before, fail_on))
    # As if writes were allowed: the plan of a probe that only reads has a longer command.
    refuse_missing_target(plan.sweep_plan(allow_writes=True), plan.load.job_file or str(begin))
    if plan.load.job_file is not None:
        from sanpath.probe.job_file import refuse_short_target

        refuse_short_target(plan, plan.load.job_file)
    sweep = SweepRequest(
        plan=plan.sweep_plan(allow_writes), file=str(begin), by_order=True, idle_seconds=plan.guard.baseline_seconds
    )
    with new_recording(into) as folder:
        request = RunRequest(folder=folder, config=config, only_sources=split_names(only_sources), sweep=sweep)
        raise typer.Exit(ProbeSession(request, plan, search, form, fail_on, chosen).run())


def _plan(
    begin: Location, targets: Sequence[str], settings: Sequence[str], allow_writes: bool, chosen: Choice
) -> tuple[ProbePlan, Diagnosis | None]:
    """The plan, and the diagnosis of the recording that it comes from; None: it comes from a file."""
    from sanpath.errors import UsageError
    from sanpath.probe.job_text import is_job_file
    from sanpath.probe.plan import load_probe_plan
    from sanpath.probe.plan_from_recording import RecordedLoad, plan_of, recorded_load
    from sanpath.recording.format.layout import SUFFIX

    if isinstance(begin, Path) and begin.suffix != SUFFIX and not begin.is_dir():
        if is_job_file(begin):
            return plan_of(str(begin), RecordedLoad(_job_keys(begin), {}), targets, settings, allow_writes), None
        if (targets or settings) and begin.exists():
            raise UsageError(f"--target and --set go with a recording or job file; change {begin}, which is a plan")
        return load_probe_plan(begin, allow_writes, _job_keys), None

    from sanpath.cli.output import diagnosis_of
    from sanpath.diagnose import judge_recording
    from sanpath.recording.reading.recording import Recording
    from sanpath.verdict.run_verdict import judgement_of_run

    facts, judgements = judge_recording(Recording(begin))
    if not judgements:
        raise UsageError(f"{begin}: holds no load that can be judged: give a plan, or another recording")
    recorded = recorded_load(facts, judgement_of_run(facts, judgements))
    plan = plan_of(str(begin), recorded, targets, settings, allow_writes)
    return plan, diagnosis_of(begin, chosen)


def _job_keys(path: Path) -> Mapping[str, Any]:
    """The keys of a plan from a job file. Prints the differences from the job."""
    from sanpath.masking import printable
    from sanpath.probe.job_file import job_load

    job = job_load(path)
    for remark in job.remarks:
        typer.echo(f"sanpath: {path}: {printable(remark)}", err=True)
    return {**job.keys, "load": {**job.keys["load"], "job_file": str(path)}}


def _search(after: Path | None, knee: bool, objective: str) -> Search:
    from sanpath.cli.output import diagnosis_of
    from sanpath.errors import UsageError
    from sanpath.probe import search
    from sanpath.probe.objective import parse_objective

    if after is not None:
        before = diagnosis_of(after)
        if before.probe is None:
            raise UsageError(f"{after}: holds no probe")
        return search.repeat(before)
    if objective:
        return search.find_highest(parse_objective(objective))
    return search.find_knee if knee else search.find_limit


def _command_lines(plan: ProbePlan, allow_writes: bool) -> Iterator[str]:
    from sanpath.probe.experiment_steps import possible_orders, start_order
    from sanpath.sweep.commands import shell_command

    sweep = plan.sweep_plan(allow_writes)
    for order in (start_order(plan), *possible_orders(plan)):
        where = f" on {order.host}" if len(plan.hosts) > 1 else ""
        yield f"# {order.experiment}: {order.step.name}{where}"
        seconds = f"# {plan.seconds:g} s without the load"
        yield seconds if order.is_pause else shell_command(sweep.with_devices(order.devices), order.step)

"""`sanpath lab`: the simulated SAN and its test bed, as separate processes: lab and analysis share nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sanpath.cli.options import ClusterOption

app = typer.Typer(name="lab", help="Run a simulated SAN that speaks the real protocols.", no_args_is_help=True)


@app.command("list")
def list_scenarios(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="[SCENARIO]", help="Only this scenario; draw:SEED is a case of the generator."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A list of objects: name, title, truth.")] = False,
) -> None:
    """List the scenarios with the correct diagnosis of each."""
    raise typer.Exit(
        _process("sanpath_lab", "list", *([scenario] if scenario else []), *(["--json"] if as_json else []))
    )


@app.command("serve", short_help="Serve a scenario until Ctrl-C.")
def serve(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO")],
    folder: Annotated[Path, typer.Option("--folder", help="Folder for its configuration and secrets.")] = Path("lab"),
    address: Annotated[
        str, typer.Option("--address", help="Address at which other machines reach this one.")
    ] = "127.0.0.1",
) -> None:
    """Serve a scenario until Ctrl-C; prints the configuration and the load command to use with `sanpath run`."""
    raise typer.Exit(_process("sanpath_lab", "serve", scenario, "--folder", str(folder), "--address", address))


@app.command("record", short_help="Record a scenario in simulated time.")
def record(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A scenario or a family by name, draw:SEED, or a file.")
    ],
    into: Annotated[Path, typer.Option("--into", help="The recording, a new folder NAME.sanpath.")],
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="The case of a family; for a scenario, the seed of its random numbers."),
    ] = None,
) -> None:
    """Record a scenario in simulated time: no sockets and no waiting, the same facts as a run against `serve`."""
    seeded = ["--seed", str(seed)] if seed is not None else []
    raise typer.Exit(_process("sanpath_testbed", "record", scenario, "--into", str(into), *seeded))


FamiliesOption = Annotated[
    str | None, typer.Option("--families", help="Names separated by commas, or all; default without --draws: all.")
]
DrawsOption = Annotated[int | None, typer.Option("--draws", min=1, help="How many draws of the generator.")]
SeedsOption = Annotated[int, typer.Option("--seeds", min=1, help="How many cases of each family.")]
FirstSeedOption = Annotated[int, typer.Option("--first-seed", help="The lowest seed.")]
DefectsOption = Annotated[
    str, typer.Option("--defects", help="Defects of the data: names separated by commas, all or none.")
]
DefectSeedsOption = Annotated[
    int | None,
    typer.Option("--defect-seeds", min=1, help="How many cases of each family also get the defects; default: all."),
]
RelationsOption = Annotated[
    str, typer.Option("--relations", help="Changes of draws that keep the right verdict: names, all or none.")
]
RelationDrawsOption = Annotated[
    int | None, typer.Option("--relation-draws", min=1, help="How many draws are changed in this way; default: all.")
]
ExperimentsOption = Annotated[
    int | None,
    typer.Option("--experiments", min=1, help="For how many draws the proposed experiment is run; default: none."),
]
ProbesOption = Annotated[
    int | None,
    typer.Option("--probes", min=1, help="How many draws are probed if one step gives no verdict; default: none."),
]
KneesOption = Annotated[
    int | None, typer.Option("--knees", min=1, help="For how many draws the knee is searched; default: none.")
]
WorkersOption = Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default: one per core.")]
OutcomesOption = Annotated[
    Path, typer.Option("--keep", help="File with the outcomes so far; a run continues from it.")
]
ReportOption = Annotated[Path | None, typer.Option("--into", help="A Markdown file to write.")]


@app.command("score", short_help="Show how often the verdict is right.")
def score(
    families: FamiliesOption = None,
    draws: DrawsOption = None,
    seeds: SeedsOption = 20,
    first_seed: FirstSeedOption = 1,
    defects: DefectsOption = "none",
    defect_seeds: DefectSeedsOption = None,
    relations: RelationsOption = "none",
    relation_draws: RelationDrawsOption = None,
    experiments: ExperimentsOption = None,
    probes: ProbesOption = None,
    knees: KneesOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    keep: OutcomesOption = Path("score.jsonl"),
    into: ReportOption = None,
) -> None:
    """Record and diagnose cases of random scenarios, and show how often the verdict is right."""
    options: dict[str, object] = {
        "--families": families,
        "--draws": draws,
        "--seeds": seeds,
        "--first-seed": first_seed,
        "--defects": defects,
        "--defect-seeds": defect_seeds,
        "--relations": relations,
        "--relation-draws": relation_draws,
        "--experiments": experiments,
        "--probes": probes,
        "--knees": knees,
        "--keep": keep,
        "--workers": workers,
        "--into": into,
        "--cluster": cluster,
    }
    arguments = [
        argument for option, value in options.items() if value is not None for argument in (option, str(value))
    ]
    raise typer.Exit(_process("sanpath_testbed", "score", *arguments))


def _process(module: str, *arguments: str) -> int:
    import subprocess

    from sanpath.cli.sessions.child_process import environment, python

    try:
        return subprocess.run(python(module, *arguments), env=environment(), check=False).returncode  # noqa: S603
    except KeyboardInterrupt:
        return 0

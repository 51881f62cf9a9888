"""The command line of the test bed, `python -m sanpath_testbed`: record a scenario, score draws, render the score."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import yaml
from pydantic import ValidationError

from sanpath.errors import SanpathError, UsageError, command
from sanpath_lab import families
from sanpath_lab.generator import FAMILY, draw_by_name
from sanpath_lab.generator.reading import EVERYTHING, Reading
from sanpath_lab.scenario import SCENARIO_FOLDER, Scenario, load_scenario


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sanpath_testbed", description="the lab as a test bed")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record a scenario in simulated time")
    recording.add_argument("scenario", help="name of a scenario or a family, draw:SEED, or a YAML file")
    recording.add_argument("--into", type=Path, required=True, help="the recording, a new folder")
    recording.add_argument("--seed", type=int, default=None, help="of the scenario's random numbers")
    scoring = commands.add_parser("score", help="record and diagnose cases of families, and compare")
    scoring.add_argument("--families", default=None, help="names with commas between, or all; all without --draws")
    scoring.add_argument("--draws", type=int, default=0, help="how many draws of the generator")
    scoring.add_argument("--seeds", type=int, default=20, help="how many of each family")
    scoring.add_argument("--first-seed", type=int, default=1)
    scoring.add_argument("--defects", default="none", help="names with commas between, or all")
    scoring.add_argument("--defect-seeds", type=int, default=None, help="how many of the seeds get defects; all")
    scoring.add_argument("--relations", default="none", help="names with commas between, or all; of draws")
    scoring.add_argument("--relation-draws", type=int, default=None, help="how many of the draws get them; all")
    scoring.add_argument("--experiments", type=int, default=0, help="of how many draws what is proposed is done")
    scoring.add_argument("--probes", type=int, default=0, help="how many draws are probed")
    scoring.add_argument("--knees", type=int, default=0, help="of how many draws the knee is searched")
    scoring.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    scoring.add_argument("--cluster", default=None, help="URL of a dask scheduler, in place of workers")
    scoring.add_argument("--keep", type=Path, default=Path("score.jsonl"), help="outcomes; a run goes on from them")
    scoring.add_argument("--into", type=Path, default=None, help="a Markdown file to write")
    rendering = commands.add_parser("render", help="write the page of probes and knees from kept outcomes")
    rendering.add_argument("kept", type=Path, nargs="+", help="outcomes that score has kept; nothing is run")
    rendering.add_argument("--into", type=Path, required=True, help="a Markdown file to write")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "score":
            return _score(arguments)
        if arguments.command == "render":
            return _render(arguments.kept, arguments.into)
        return _record(arguments.scenario, arguments.seed, arguments.into)
    except SanpathError as problem:
        print(f"sanpath: {problem}", file=sys.stderr)
        return problem.exit_code
    except FileNotFoundError as missing:
        print(f"sanpath: {missing}", file=sys.stderr)
    except (OSError, ValidationError, yaml.YAMLError) as problem:
        print(f"sanpath: {getattr(arguments, 'scenario', arguments.command)}: {problem}", file=sys.stderr)
    return 2


def _record(name: str, seed: int | None, into: Path) -> int:
    # Collectors take half a second to import, so mistakes are reported first.
    scenario, reading = _scenario(name, seed)
    from sanpath.recording.format.layout import check
    from sanpath_testbed.defects import Defects
    from sanpath_testbed.record import record

    check(into)
    record(scenario, into, Defects(scenario, None, reading))
    print(f"{into}: {scenario.title}\n    truth: {scenario.truth}\n    {command('diagnose', into)}")
    return 0


def _render(files: Sequence[Path], into: Path) -> int:
    from sanpath_testbed import corpus, probe_chapters, table
    from sanpath_testbed.outcome import KNEES, PROBES

    outcomes = [o for file in files for o in corpus.outcomes_of_last_version(file) if o.relation in (PROBES, KNEES)]
    if not outcomes:
        raise UsageError(f"{', '.join(map(str, files))}: no probe and no knee is kept there")
    text = table.report(outcomes, sorted({o.seed for o in outcomes}), probe_chapters.command(outcomes))
    into.write_text(text, encoding="utf-8")
    return 0


def _scenario(name: str, seed: int | None) -> tuple[Scenario, Reading]:
    """Return a scenario by name, and which of its sources are read."""
    if (drawn := draw_by_name(name)) is not None:
        return drawn.scenario, drawn.reading
    # A scenario and a family may have the same name: with a seed, the family is meant.
    is_family = name in families.FAMILIES
    if is_family and (seed is not None or not (SCENARIO_FOLDER / f"{name}.yaml").exists()):
        return families.case(name, 1 if seed is None else seed).scenario, EVERYTHING
    scenario = load_scenario(name)
    return (scenario if seed is None else scenario.model_copy(update={"seed": seed})), EVERYTHING


def _score(arguments: argparse.Namespace) -> int:
    from sanpath.dask_cluster import executor
    from sanpath_testbed import corpus, table
    from sanpath_testbed.defects import DEFECTS
    from sanpath_testbed.outcome import KNEES, PROBES, Outcome
    from sanpath_testbed.relations import RELATIONS

    has_draws = arguments.draws or arguments.probes or arguments.knees
    asked_for = arguments.families or (None if has_draws else "all")
    names = _chosen("--families", asked_for, families.FAMILIES) if asked_for else []
    defects = [] if arguments.defects == "none" else _chosen("--defects", arguments.defects, DEFECTS)
    first = arguments.first_seed
    wanted: list[corpus.Job] = []
    for family_names, count in ((names, arguments.seeds if names else 0), ([FAMILY], arguments.draws)):
        seeds = range(first, first + count)
        wanted += corpus.jobs(family_names, seeds, [None])
        wanted += corpus.jobs(family_names, seeds[: arguments.defect_seeds], [d for d in DEFECTS if d in defects])

    changes = [] if arguments.relations == "none" else _chosen("--relations", arguments.relations, RELATIONS)
    drawn = range(first, first + arguments.draws)[: arguments.relation_draws]
    wanted += [corpus.Job(FAMILY, seed, None, change) for seed in drawn for change in changes]

    tried = range(first, first + min(arguments.experiments, arguments.draws))
    wanted += [corpus.Job(FAMILY, seed, None, corpus.EXPERIMENTS) for seed in tried]

    for relation, count in ((PROBES, arguments.probes), (KNEES, arguments.knees)):
        wanted += [corpus.Job(FAMILY, seed, None, relation) for seed in range(first, first + count)]

    def report_progress(count: int, newest: Outcome) -> None:
        word = "right" if newest.is_right else f"WRONG: {newest.headline}" if newest.applies else "does not apply"
        case = f"{newest.fault or newest.family} {newest.seed}" + (f" with {newest.defect}" if newest.defect else "")
        case += f", {newest.relation}" if newest.relation else ""
        print(f"{count} of {len(wanted)}  {case}: {word}", file=sys.stderr, flush=True)

    with executor(arguments.cluster) as remote:
        processes: AbstractContextManager[Executor] = (
            ProcessPoolExecutor(arguments.workers) if remote is None else nullcontext(remote)
        )
        with processes as pool:
            outcomes = corpus.run(wanted, arguments.keep, pool, report_progress)
    asked = f"--families {asked_for} --seeds {arguments.seeds} " if asked_for else ""
    asked += f"--draws {arguments.draws} " if arguments.draws else ""
    asked += f"--first-seed {first}"
    command = f"sanpath lab score {asked} --defects {arguments.defects}"
    if arguments.defect_seeds is not None:
        command += f" --defect-seeds {arguments.defect_seeds}"
    if changes:
        command += f" --relations {arguments.relations}"
    if arguments.relation_draws is not None:
        command += f" --relation-draws {arguments.relation_draws}"
    if arguments.experiments:
        command += f" --experiments {arguments.experiments}"
    if arguments.probes:
        command += f" --probes {arguments.probes}"
    if arguments.knees:
        command += f" --knees {arguments.knees}"
    text = table.report(outcomes, sorted({job.seed for job in wanted}), command)
    if arguments.into is not None:
        arguments.into.write_text(text, encoding="utf-8")
    print(text)
    return 0


def _chosen(option: str, asked: str, available: Collection[str]) -> list[str]:
    """Return the names of a list with commas, or all. Raises UsageError: a name is not available."""
    if asked == "all":
        return list(available)
    for name in (names := asked.split(",")):
        if name not in available:
            raise UsageError(f"{option}: there is no {name!r}; there are: {', '.join(available)}")
    return names


if __name__ == "__main__":
    sys.exit(main())

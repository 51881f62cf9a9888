"""The command line of the test bed: `python -m sanpath_testbed record SCENARIO --into NAME.sanpath [--seed N]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from sanpath.errors import SanpathError
from sanpath_lab.scenario import Scenario, load_scenario


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sanpath_testbed", description="the lab as a test bed")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record a scenario in simulated time")
    recording.add_argument("scenario", help="name of a scenario, or a YAML file")
    recording.add_argument("--into", type=Path, required=True, help="the recording, a new folder")
    recording.add_argument("--seed", type=int, default=None, help="of the scenario's random numbers")
    arguments = parser.parse_args(argv)
    try:
        return _record(arguments.scenario, arguments.seed, arguments.into)
    except SanpathError as problem:
        print(f"sanpath: {problem}", file=sys.stderr)
        return problem.exit_code
    except FileNotFoundError as missing:
        print(f"sanpath: {missing}", file=sys.stderr)
    except (OSError, ValidationError, yaml.YAMLError) as problem:
        print(f"sanpath: {arguments.scenario}: {problem}", file=sys.stderr)
    return 2


def _record(name: str, seed: int | None, into: Path) -> int:
    # What reads devices takes half a second to load: a mistake is told before.
    scenario = _seeded(load_scenario(name), seed)
    from sanpath.recording.layout import check
    from sanpath_testbed.record import record

    check(into)
    record(scenario, into)
    print(f"{into}: {scenario.title}\n    truth: {scenario.truth}\n    sanpath diagnose {into}")
    return 0


def _seeded(scenario: Scenario, seed: int | None) -> Scenario:
    return scenario if seed is None else scenario.model_copy(update={"seed": seed})


if __name__ == "__main__":
    sys.exit(main())

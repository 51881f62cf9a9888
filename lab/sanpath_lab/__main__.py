"""The command line of the lab: `python -m sanpath_lab list`, `... serve SCENARIO --folder DIR`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from sanpath_lab.scenario import builtin_scenarios, load_scenario


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sanpath_lab", description="a simulated SAN")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the scenarios")
    serving = commands.add_parser("serve", help="serve a scenario until standard input closes")
    serving.add_argument("scenario", help="name of a scenario, or a YAML file")
    serving.add_argument("--folder", type=Path, required=True, help="where the configuration is written")
    arguments = parser.parse_args(argv)
    if arguments.command == "list":
        for scenario in builtin_scenarios():
            print(f"{scenario.name}: {scenario.title}")
        return 0
    try:
        scenario = load_scenario(arguments.scenario)
    except (OSError, ValidationError, yaml.YAMLError) as problem:
        print(f"{arguments.scenario}: {problem}", file=sys.stderr)
        return 2
    from sanpath_lab.serve import serve

    asyncio.run(serve(scenario, arguments.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the lab: `python -m sanpath_lab list [NAME] [--json]`, `... serve NAME --folder DIR`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from sanpath_lab.generator import draw_by_name
from sanpath_lab.scenario import Scenario, builtin_scenarios, load_scenario


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sanpath_lab", description="a simulated SAN")
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="list the scenarios and what a diagnosis should find")
    listing.add_argument("scenario", nargs="?", default=None, help="one alone, by name; draw:SEED is one as well")
    listing.add_argument("--json", action="store_true", help="a list of objects: name, title, truth")
    serving = commands.add_parser("serve", help="serve a scenario until standard input closes")
    serving.add_argument("scenario", help="name of a scenario, or a YAML file")
    serving.add_argument("--folder", type=Path, required=True, help="where the configuration is written")
    serving.add_argument("--address", default="127.0.0.1", help="of this machine, where it is served")
    arguments = parser.parse_args(argv)
    if arguments.command == "list" and arguments.scenario is None:
        _print_list(list(builtin_scenarios()), arguments.json)
        return 0
    try:
        drawn = draw_by_name(arguments.scenario)
        scenario = load_scenario(arguments.scenario) if drawn is None else drawn.scenario
    except FileNotFoundError as missing:
        print(f"sanpath: {missing}", file=sys.stderr)
        return 2
    except (OSError, ValidationError, yaml.YAMLError) as problem:
        print(f"sanpath: {arguments.scenario}: {problem}", file=sys.stderr)
        return 2
    if arguments.command == "list":
        _print_list([scenario], arguments.json)
        return 0
    from sanpath_lab.serve import serve

    try:
        asyncio.run(serve(scenario, arguments.folder, arguments.address))
    except ModuleNotFoundError:
        what = f"sanpath: {scenario.name} at {arguments.address}"
        print(f"{what} needs an optional part that is not installed: pip install 'sanpath[lab]'", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"sanpath: {problem}; choose another --folder or --address", file=sys.stderr)
        return 2
    return 0


def _print_list(scenarios: Sequence[Scenario], as_json: bool) -> None:
    if as_json:
        documents = [{"name": s.name, "title": s.title, "truth": s.truth.model_dump(mode="json")} for s in scenarios]
        text = json.dumps(documents, indent=2)
    else:
        text = "\n".join(f"{s.name}: {s.title}\n    truth: {s.truth}" for s in scenarios)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has gone (`| head`). Python must not try again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())

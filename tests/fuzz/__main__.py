"""make fuzz: every target for some seconds, with inputs that no run before had; what it finds is written down.

python -m tests.fuzz [--seconds 3600] [--inputs 1000000] [--processes 1] [TARGET ...]
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.fuzz.corpus import CORPUS
from tests.fuzz.target import Outcome, fuzz
from tests.fuzz.targets import TARGETS

SECONDS = 60.0
"""For each target."""


def fuzzed(number: int, first: int, inputs: int | None, seconds: float) -> Outcome:
    return fuzz(TARGETS[number], first, inputs, seconds)


def main(arguments: list[str]) -> int:
    """Whether anything was found, as an exit code. A new failure's shortest input is in the corpus from then on."""
    parser = argparse.ArgumentParser(prog="tests.fuzz")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="at most, of each target")
    parser.add_argument("--inputs", type=int, help="at most, of each target")
    parser.add_argument("--processes", type=int, help="targets at a time; as many as there are processors")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    asked = parser.parse_args(arguments)
    chosen = [n for n, target in enumerate(TARGETS) if not asked.targets or target.name in asked.targets]
    first, found = time.time_ns() // 1_000_000, 0
    print(f"{'target':28}{'inputs':>12}{'MB':>9}{'slowest, s':>12}  found")
    with ProcessPoolExecutor(asked.processes) as pool:
        under_way = {pool.submit(fuzzed, number, first, asked.inputs, asked.seconds): number for number in chosen}
        for done in as_completed(under_way):
            name, outcome = TARGETS[under_way[done]].name, done.result()
            kinds = "; ".join(f"{kind} ({count})" for kind, count in outcome.counts.items()) or "nothing"
            print(
                f"{name:28}{outcome.inputs:12,}{outcome.size / 1e6:9.1f}{outcome.slowest:12.2f}  {kinds}", flush=True
            )
            for given in outcome.found.values():
                found += 1
                place = CORPUS / name.replace(" ", "-")
                place.mkdir(parents=True, exist_ok=True)
                (place / hashlib.sha256(given).hexdigest()[:12]).write_bytes(given)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

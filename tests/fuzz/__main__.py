"""make fuzz: every target for some seconds, with inputs that no run before had; what it finds is written down.

python -m tests.fuzz [SECONDS] [TARGET ...]
"""

from __future__ import annotations

import hashlib
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.corpus import CORPUS
from tests.fuzz.target import Outcome, fuzz
from tests.fuzz.targets import TARGETS

SECONDS = 60.0
"""For each target."""


def fuzzed(number: int, first: int, seconds: float) -> Outcome:
    return fuzz(TARGETS[number], first, seconds=seconds)


def main(arguments: list[str]) -> int:
    """Whether anything was found, as an exit code. A new failure's shortest input is in the corpus from then on."""
    seconds = float(arguments[0]) if arguments else SECONDS
    chosen = [n for n, target in enumerate(TARGETS) if not arguments[1:] or target.name in arguments[1:]]
    first, found = time.time_ns() // 1_000_000, 0
    print(f"{'target':28}{'inputs':>12}{'MB':>9}{'slowest, s':>12}  found")
    with ProcessPoolExecutor() as pool:
        outcomes = pool.map(fuzzed, chosen, [first] * len(chosen), [seconds] * len(chosen))
        for number, outcome in zip(chosen, outcomes, strict=True):
            name = TARGETS[number].name
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

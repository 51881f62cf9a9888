"""What `sanpath --help` takes, against the import of the library that draws it: CPU time. Goal: within 3 times."""

from __future__ import annotations

import resource
import subprocess
import sys

from tests.benchmarks.rounds import interleaved, ratios, spread

ROUNDS = 15


def measure() -> str:
    """One line."""
    helping, importing, bare = interleaved(
        ROUNDS,
        lambda: _seconds("-m", "sanpath", "--help"),
        lambda: _seconds("-c", "import typer"),
        lambda: _seconds("-c", "pass"),
    )
    return (
        f"sanpath --help {spread(helping, 1e3, 'ms')}, import typer {spread(importing, 1e3, 'ms')}, "
        f"bare Python {spread(bare, 1e3, 'ms')}: {spread(ratios(helping, importing))} times (goal 3)"
    )


def _seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

"""How late polls begin while somebody watches, against nobody. Goal: 99 of 100 within 20 ms.

Three sources on a grid of 171 ms, which no other period of the tool is a multiple of, at 3 ms a poll.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sanpath.recording.reading.recording import Recording
from tests.benchmarks.rounds import interleaved, percentile, spread
from tests.benchmarks.terminal import on_a_terminal

ROUNDS = 4
SECONDS = 15
PLUGIN = Path(__file__).parent / "plugin"
CONFIG = "sources:\n" + "".join(
    f"  - {{name: s{number}, collector: cheap, every_seconds: 0.171}}\n" for number in range(3)
)


def measure() -> str:
    """One line."""
    late: dict[bool, list[float]] = {False: [], True: []}

    def p99(watched: bool) -> float:
        with tempfile.TemporaryDirectory() as folder:
            found = _lateness(Path(folder), watched)
        late[watched] += found
        return percentile(found, 0.99)

    alone, watched = interleaved(ROUNDS, lambda: p99(False), lambda: p99(True))
    return (
        f"polls begin late by: alone {_reported(late[False])}, p99 of a round {spread(alone, 1e3, 'ms')}; "
        f"watched {_reported(late[True])}, p99 of a round {spread(watched, 1e3, 'ms')} (goal 20 ms)"
    )


def _reported(seconds: list[float]) -> str:
    shares = " ".join(f"p{100 * share:.0f} {1e3 * percentile(seconds, share):.1f}" for share in (0.5, 0.95, 0.99))
    return f"{shares} max {1e3 * max(seconds):.1f} ms of {len(seconds)}"


def _lateness(folder: Path, watched: bool) -> list[float]:
    """Seconds between when each poll was due and when it began."""
    (folder / "sanpath.yaml").write_text(CONFIG)
    recording = folder / "r.sanpath"
    options = ["--for", str(SECONDS), "--into", str(recording), "--format", "json"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLUGIN), *filter(None, sys.path)])}
    with subprocess.Popen(
        [sys.executable, "-m", "sanpath", "run", *options],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        while not (recording / "manifest.json").exists() and run.poll() is None:
            time.sleep(0.05)
        if watched:
            with _watching(recording, environment):
                code = run.wait()
        else:
            code = run.wait()
    if code:
        raise RuntimeError(f"the run ended with exit code {code}")
    return [(poll.started - poll.due) / 1e6 for poll in Recording(recording).polls() if poll.outcome == "ok"]


@contextmanager
def _watching(recording: Path, environment: dict[str, str]) -> Iterator[None]:
    """`sanpath watch` on a terminal of its own."""
    command = [sys.executable, "-m", "sanpath", "watch", str(recording)]
    with on_a_terminal(command, recording.parent, environment) as (watch, _):
        yield
        if watch.poll() is not None:
            raise RuntimeError("nobody watched to the end")

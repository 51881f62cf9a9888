"""What fio reaches while sanpath polls every second, against fio alone. Goal: within 1 %.

The real lab without its limits: fio, nbdkit, the bridge, snmpd and sanpath share the cores, so that whatever sanpath
takes is missed. Once as a job runs it, without a terminal, and once with the live view on one, which is drawn and
judged on the same cores. It needs root, fio, nbdkit and snmpd, and script of util-linux.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from sanpath_collectors.fio.parse import Documents
from tests.benchmarks.rounds import interleaved, ratios, spread

EXAMPLE = Path(__file__).parents[2] / "examples" / "real-lab"
ROUNDS = 10
STEP_SECONDS = 10
_SIZE = "stty columns 120 rows 40"
QUEUE_DEPTH = 16


def measure() -> str:
    """One line each: without a terminal, and with the live view."""
    sys.path.insert(0, str(EXAMPLE))
    from real_lab.cases import CASES, Array, Load
    from real_lab.lifecycle import running
    from real_lab.requirements import missing

    if lacking := missing():
        return f"skipped: {'; '.join(lacking)}"
    # A case by its own name: the array's server looks it up.
    case = replace(
        CASES["too-little-concurrency"],
        array=Array(filters=(), parameters=()),
        load=Load(queue_depths=(QUEUE_DEPTH,), ramp_seconds=1, step_seconds=STEP_SECONDS, gap_seconds=0),
    )
    with tempfile.TemporaryDirectory() as name, running(case, Path(name) / "lab") as lab:
        folder = Path(name)

        def alone() -> float:
            # In a session of its own, as sanpath starts it: Linux shares the processors between sessions.
            command = [*lab.load, "--output-format=json"]
            done = subprocess.run(command, check=True, capture_output=True, start_new_session=True)
            return _bytes_per_second(json.loads(done.stdout[done.stdout.index(b"{") :]))

        def run(*, on_a_terminal: bool) -> float:
            recording = Path(tempfile.mkdtemp(dir=folder)) / "r.sanpath"
            options = ["--config", str(lab.config), "--load", "fio", "--into", str(recording)]
            command = [sys.executable, "-m", "sanpath", "run", *options, "--", *lab.load]
            if on_a_terminal:
                on_it = f"{_SIZE}; TERM=xterm-256color exec {shlex.join(command)}"
                command = ["script", "--quiet", "--return", "--command", on_it, "/dev/null"]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder)
            (output,) = recording.glob("load/*/output")
            documents, _ = Documents().feed(output.read_bytes())
            return _bytes_per_second(documents[-1])

        alone()  # the first run fills the page cache
        without, alongside, watched = interleaved(
            ROUNDS, alone, lambda: run(on_a_terminal=False), lambda: run(on_a_terminal=True)
        )
    goal = "(goal 0.99)"
    return (
        f"\n  fio alone reads {spread(without, 1e-6, 'MB/s')}"
        f"\n  with sanpath beside it {spread(alongside, 1e-6, 'MB/s')}: "
        f"{spread(ratios(alongside, without))} of it {goal}"
        f"\n  with its live view {spread(watched, 1e-6, 'MB/s')}: {spread(ratios(watched, without))} of it"
    )


def _bytes_per_second(document: dict[str, Any]) -> float:
    return float(sum(job["read"]["bw_bytes"] for job in document["jobs"]))

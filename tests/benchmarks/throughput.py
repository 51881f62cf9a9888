"""What fio reaches while sanpath polls every second, against fio alone. Goal: at least 0.99 of it in the median.

The real lab without its limits: fio, nbdkit, the bridge, snmpd and sanpath share the cores, so that whatever sanpath
takes is missed. Two runs of fio differ by more than a percent, so one fio runs all the time, and sanpath is stopped
and continued in turn (SIGSTOP, SIGCONT). Each period with it is held against the two periods around it. The first
seconds of each period do not count: sanpath makes up in them for what it missed while it was stopped. Once as a job
runs it, without a terminal, and once with the live view on one, which is drawn and judged on the same cores. It needs
root, fio, nbdkit and snmpd.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tests.benchmarks.rounds import spread
from tests.benchmarks.terminal import on_a_terminal

EXAMPLE = Path(__file__).parents[2] / "examples" / "real-lab"
PERIODS = 15
PERIOD_SECONDS = 7.0
SETTLING_SECONDS = 3.0
"""At the beginning of a period, before its seconds."""
START_SECONDS = 15.0
"""fio has begun by then, the page cache is full, and the first verdict is there."""
QUEUE_DEPTH = 16
_MARK = "SANPATH_BENCHMARK_RUN"
"""Environment variable by which the processes of a run are found."""


def measure() -> str:
    """One line each: without a terminal, and with the live view."""
    sys.path.insert(0, str(EXAMPLE))
    from real_lab.cases import CASES, Array, Load
    from real_lab.lifecycle import running
    from real_lab.requirements import missing

    if lacking := missing():
        return f"skipped: {'; '.join(lacking)}"
    seconds = round(START_SECONDS + (2 * PERIODS + 3) * (SETTLING_SECONDS + PERIOD_SECONDS))
    # A case by its own name: the array's server looks it up.
    case = replace(
        CASES["too-little-concurrency"],
        array=Array(filters=(), parameters=()),
        load=Load(queue_depths=(QUEUE_DEPTH,), ramp_seconds=1, step_seconds=seconds, gap_seconds=0),
    )
    with tempfile.TemporaryDirectory() as name, running(case, Path(name) / "lab") as lab:
        lines = []
        for view in (False, True):
            recording = Path(tempfile.mkdtemp(dir=name)) / "r.sanpath"
            options = ["--config", str(lab.config), "--load", "fio", "--into", str(recording)]
            command = [sys.executable, "-m", "sanpath", "run", *options, "--", *lab.load]
            environment = os.environ | {_MARK: recording.parent.name}
            with on_a_terminal(command if view else _without_one(command), Path(name), environment) as (run, _):
                time.sleep(START_SECONDS)
                rates = list(_bytes_per_second(recording.parent.name))
                run.wait()
            alone, watched = rates[::2], rates[1::2]
            ratios = [with_it / ((a + b) / 2) for with_it, a, b in zip(watched, alone, alone[1:], strict=False)]
            addition = "its live view" if view else "sanpath"
            lines.append(
                f"\n  with {addition} beside it fio reads {spread(watched, 1e-6, 'MB/s')}, alone "
                f"{spread(alone, 1e-6, 'MB/s')}: {spread(ratios)} of it in {len(ratios)} pairs (goal 0.99)"
            )
    return "".join(lines)


def _without_one(command: list[str]) -> list[str]:
    """The command with its output in a pipe, so that sanpath does not find the terminal."""
    return ["sh", "-c", f"exec {shlex.join(command)} </dev/null 2>&1 | cat"]


def _bytes_per_second(run: str) -> Iterator[float]:
    """Yield fio's rate in each period; sanpath is stopped in the first, in the third and so on."""
    load = next(pid for pid in _processes_of(run) if _name(pid) == "fio")
    for number in range(2 * PERIODS + 1):
        _signal(run, signal.SIGSTOP if number % 2 == 0 else signal.SIGCONT)
        time.sleep(SETTLING_SECONDS)
        before, began = _received_bytes(load), time.monotonic()
        time.sleep(PERIOD_SECONDS)
        yield (_received_bytes(load) - before) / (time.monotonic() - began)
    _signal(run, signal.SIGCONT)


def _signal(run: str, number: signal.Signals) -> None:
    """Stop or continue all that a run has started but its load."""
    for pid in _processes_of(run):
        if _name(pid) != "fio":
            os.kill(pid, number)


def _received_bytes(pid: int) -> int:
    """What the ports of a process's network namespace have received."""
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    return sum(int(counters.split()[0]) for _, counters in (line.split(":") for line in lines))


def _processes_of(run: str) -> Iterator[int]:
    """Yield everything that a run has started, also what has detached itself."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{_MARK}={run}".encode() in environment.read_bytes().split(b"\0"):
                yield int(environment.parent.name)


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()

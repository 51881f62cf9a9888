"""What fio reaches while sanpath polls every second, against fio alone. Goal: at least 0.99 of it in the median.

Two runs of fio differ by more than a percent, so one fio runs all the time, and sanpath is stopped and continued in
turn (SIGSTOP, SIGCONT). Each period with it is held against the two periods around it. The first seconds of each
period do not count: sanpath makes up in them for what it missed while it was stopped.

In the real lab without its limits fio, nbdkit, the bridge, snmpd and sanpath share the cores, so that whatever
sanpath takes is missed: once as a job runs it, without a terminal, and once with the live view on one, which is drawn
and judged on the same cores. Then fio reads a file in the page cache beside two busy loops, with the same sources
polled.
It needs root, fio, nbdkit and snmpd.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tests.benchmarks.rounds import busy_loops, median_interval, spread
from tests.benchmarks.terminal import on_a_terminal

EXAMPLE = Path(__file__).parents[2] / "examples" / "real-lab"
SETTLING_SECONDS = 3.0
"""At the beginning of a period, before its seconds."""
START_SECONDS = 15.0
"""fio has begun by then, the page cache is full, and the first verdict is there."""
QUEUE_DEPTH = 16
BUSY_LOOPS = 2
_MARK = "SANPATH_BENCHMARK_RUN"
"""Environment variable by which the processes of a run are found."""


@dataclass(frozen=True)
class Periods:
    """`number` pairs of periods of so many seconds."""

    number: int
    seconds: float

    @property
    def load_seconds(self) -> int:
        """How long fio has to run."""
        return round(START_SECONDS + (2 * self.number + 3) * (SETTLING_SECONDS + self.seconds))


IN_THE_LAB = Periods(15, 7.0)
WITH_LOOPS = Periods(60, 4.0)
"""Busy loops move from core to core: single pairs differ more."""


def measure() -> str:
    """One line each: without a terminal, with the live view, and with it beside busy loops."""
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
        load=Load((QUEUE_DEPTH,), ramp_seconds=1, step_seconds=IN_THE_LAB.load_seconds, gap_seconds=0),
    )
    with tempfile.TemporaryDirectory() as name, running(case, Path(name) / "lab") as lab:
        folder = Path(name)
        run = Run(folder, lab.config)
        cached = ["fio", "--name=cached", f"--filename={folder}/cached", "--size=32M", "--rw=randread", "--bs=8k"]
        cached += ["--time_based", f"--runtime={WITH_LOOPS.load_seconds}"]
        cached += ["--status-interval=1", "--output-format=json"]
        lines = [
            _line("sanpath", run.rates(lab.load, IN_THE_LAB, received_bytes, view=False)),
            _line("its live view", run.rates(lab.load, IN_THE_LAB, received_bytes, view=True)),
        ]
        with busy_loops(BUSY_LOOPS):
            rates = run.rates(cached, WITH_LOOPS, read_bytes, view=True)
        lines.append(_line(f"its live view and {BUSY_LOOPS} busy loops", rates))
    return "".join(lines)


def _line(addition: str, rates: Sequence[float]) -> str:
    alone, watched = rates[::2], rates[1::2]
    shares = [with_it / ((a + b) / 2) for with_it, a, b in zip(watched, alone, alone[1:], strict=False)]
    low, high = median_interval(shares)
    reached, without = spread(watched, 1e-6, "MB/s"), spread(alone, 1e-6, "MB/s")
    return (
        f"\n  with {addition} fio reads {reached}, without sanpath {without}: {spread(shares)} of it "
        f"in {len(shares)} pairs, the median between {low:.3f} and {high:.3f} (goal 0.99)"
    )


@dataclass(frozen=True)
class Run:
    """sanpath with the sources of `config`; its files are in `folder`."""

    folder: Path
    config: Path

    def rates(self, load: Sequence[str], periods: Periods, count: Callable[[str], int], *, view: bool) -> list[float]:
        """Bytes per second in each period; sanpath is stopped in the first, in the third and so on."""
        recording = Path(tempfile.mkdtemp(dir=self.folder)) / "r.sanpath"
        mark = recording.parent.name
        options = ["--config", str(self.config), "--load", "fio", "--into", str(recording)]
        command = [sys.executable, "-m", "sanpath", "run", *options, "--", *load]
        environment = os.environ | {_MARK: mark}
        with on_a_terminal(command if view else _without_one(command), self.folder, environment) as (run, _):
            time.sleep(START_SECONDS)
            measured = list(_bytes_per_second(mark, periods, count))
            run.wait()
        return measured


def _without_one(command: list[str]) -> list[str]:
    """The command with its output in a pipe, so that sanpath does not find the terminal."""
    return ["sh", "-c", f"exec {shlex.join(command)} </dev/null 2>&1 | cat"]


def _bytes_per_second(run: str, periods: Periods, count: Callable[[str], int]) -> Iterator[float]:
    for number in range(2 * periods.number + 1):
        _signal(run, signal.SIGSTOP if number % 2 == 0 else signal.SIGCONT)
        time.sleep(SETTLING_SECONDS)
        before, began = count(run), time.monotonic()
        time.sleep(periods.seconds)
        yield (count(run) - before) / (time.monotonic() - began)
    _signal(run, signal.SIGCONT)


def _signal(run: str, number: signal.Signals) -> None:
    """Stop or continue all that a run has started but its load."""
    for pid in _processes_of(run):
        if _name(pid) != "fio":
            os.kill(pid, number)


def received_bytes(run: str) -> int:
    """What the ports of the load's network namespace have received."""
    load = next(pid for pid in _processes_of(run) if _name(pid) == "fio")
    lines = Path(f"/proc/{load}/net/dev").read_text().splitlines()[2:]
    return sum(int(counters.split()[0]) for _, counters in (line.split(":") for line in lines))


def read_bytes(run: str) -> int:
    """What the load has read, also from the page cache (proc(5): rchar)."""
    counters = (Path(f"/proc/{pid}/io").read_text() for pid in _processes_of(run) if _name(pid) == "fio")
    return sum(int(text.split()[1]) for text in counters)


def _processes_of(run: str) -> Iterator[int]:
    """Yield everything that a run has started, also what has detached itself."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{_MARK}={run}".encode() in environment.read_bytes().split(b"\0"):
                yield int(environment.parent.name)


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()

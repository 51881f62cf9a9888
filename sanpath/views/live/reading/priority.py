"""The priority of processes that only watch: below that of recorder and load; and how idle the machine is."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

_NICE = 5
"""Next to a process that uses all of a processor, this one gets a quarter of it (weights 335 and 1024, sched(7)). At
nice 19 it would get 1.5 %, and verdicts on a busy machine would be half a minute old when they appear. The pauses
between verdicts limit their total processor time (Snapshot.pause_seconds)."""
_THREADS = Path("/proc/self/task")
_AUTOGROUP = Path("/proc/self/autogroup")
_TIMES = Path("/proc/stat")
_IDLE_TICKS = slice(3, 5)
"""Columns idle and iowait (proc_stat(5))."""
_ALL_TICKS = slice(0, 8)
"""Columns up to steal; guest time is already part of user time (proc_stat(5))."""


@dataclass(frozen=True, slots=True)
class Processors:
    """The processors of this machine. `number`: how many. `idle`, `ticks`: idle and all ticks of all since boot."""

    number: int
    idle: int
    ticks: int

    def idle_since(self, before: Processors) -> float | None:
        """The share of idle ticks since `before`. None: no tick has passed."""
        passed_ticks = self.ticks - before.ticks
        return (self.idle - before.idle) / passed_ticks if passed_ticks > 0 else None


def processors() -> Processors | None:
    """The processors and their current ticks. None: the system does not report them."""
    try:
        ticks = [int(word) for word in _TIMES.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return None
    return Processors(os.cpu_count() or 1, sum(ticks[_IDLE_TICKS]), sum(ticks[_ALL_TICKS]))


def lower_priority() -> None:
    """Let recorder and load generator run first on a busy machine. An idle processor is used as before."""
    os.nice(_NICE)
    for thread in _THREADS.glob("*"):  # nice(2) changes only this thread on Linux; later threads inherit it.
        os.setpriority(os.PRIO_PROCESS, int(thread.name), _NICE)
    # Linux divides the processors between sessions first; nice values count only within a session.
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # Not Linux, or autogroups are switched off.
            _AUTOGROUP.write_text(str(_NICE))

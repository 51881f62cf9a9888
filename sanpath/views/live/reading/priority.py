"""Whoever looks gives way to whoever works: how much of the machine is idle, and who gets what is not."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

_LOWEST = 19
_THREADS = Path("/proc/self/task")
_OF_THE_SESSION = Path("/proc/self/autogroup")
_TIMES = Path("/proc/stat")
_IDLE = slice(3, 5)
"""Idle, and idle while a disk is waited for (proc_stat(5))."""
_ALL = slice(0, 8)
"""Up to what others of the same host took; what guests ran is counted before (proc_stat(5))."""


@dataclass(frozen=True, slots=True)
class Processors:
    """How many this machine has, and what they have done together since it was started: ticks idle, and all ticks."""

    number: int
    idle: int
    ticks: int

    def idle_since(self, before: Processors) -> float | None:
        """The part of them that was idle since then. None: too little time has passed."""
        passed = self.ticks - before.ticks
        return (self.idle - before.idle) / passed if passed > 0 else None


def processors() -> Processors | None:
    """What there is and what it has done by now. None: the system does not tell."""
    try:
        ticks = [int(word) for word in _TIMES.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return None
    return Processors(os.cpu_count() or 1, sum(ticks[_IDLE]), sum(ticks[_ALL]))


def give_way() -> None:
    """Leave the processors to recorder and load generator: this process gets what nobody else wants, and beside
    somebody who wants all of a processor about 1.5 % of it (nice 19 against 0, sched(7)).
    """
    os.nice(_LOWEST)
    for thread in _THREADS.glob("*"):  # Linux has told none but this one; those to come will be as nice.
        os.setpriority(os.PRIO_PROCESS, int(thread.name), _LOWEST)
    # Linux shares the processors between sessions before it looks at what is nice within one.
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # Not Linux, or its sessions have no share of their own.
            _OF_THE_SESSION.write_text(str(_LOWEST))

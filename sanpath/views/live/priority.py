"""Whoever looks gives way to whoever works."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_LOWEST = 19
_THREADS = Path("/proc/self/task")
_OF_THE_SESSION = Path("/proc/self/autogroup")


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

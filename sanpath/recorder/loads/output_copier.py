"""`python -m sanpath.recorder.loads.output_copier`: copies a load's output to its files if the recorder was killed.

It waits for a line from the recorder. If its input is closed without one, it continues at the ends of the files until
the load has ended. It imports little, because it is started with every load.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from sanpath.recorder.loads.spool import Spool

DONE = b"done\n"
_CHECK_SECONDS = 0.2
"""How often to check for new output."""
_RETRY_SECONDS = 60.0
"""How long to retry on a full disk after the load has ended."""


def main(group: int, outputs: list[tuple[int, str]]) -> None:
    """Wait, then copy. `outputs`: pairs of the descriptor of a memory file and the path of its copy."""
    if sys.stdin.buffer.read() == DONE:
        return
    spools = []
    for descriptor, path in outputs:
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_APPEND)
            spool = Spool(descriptor)
            spool.taken = spool.size  # The reading end of the pipe is closed.
            spool.copied = os.fstat(file).st_size
            spools.append((spool, file))
    deadline = None
    while deadline is None or time.monotonic() < deadline:
        ended = not _is_running(group)
        complete = [_copy_all(spool, file, ended) for spool, file in spools]
        if ended and all(complete):
            return
        if ended and deadline is None:
            deadline = time.monotonic() + _RETRY_SECONDS
        time.sleep(_CHECK_SECONDS)


def _copy_all(spool: Spool, file: int, ended: bool) -> bool:
    """Copy what is missing. Returns whether the file is complete."""
    try:
        spool.taken = spool.size
        while spool.copy(file, ended):
            spool.drop()
    except OSError:
        return False
    return True


def _is_running(group: int) -> bool:
    """Return whether a process group has members; zombies do not count, where /proc shows them."""
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    states = [group_and_state for stat in Path("/proc").glob("[0-9]*/stat") if (group_and_state := _state(stat))]
    return not states or any(state != "Z" for process_group, state in states if process_group == group)


def _state(stat: Path) -> tuple[int, str] | None:
    """Return (process group, state) of a process; None: it has ended."""
    with contextlib.suppress(OSError):
        words = stat.read_text(errors="replace").rpartition(")")[2].split()
        return int(words[2]), words[0]
    return None


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        [(int(descriptor), path) for descriptor, _, path in (word.partition(":") for word in sys.argv[2:])],
    )

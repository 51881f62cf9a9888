"""`python -m sanpath.recorder.loads.output_copier`: copies a load's output to its files when the recorder was killed.

It waits for a word of the recorder. Is its input closed without one, it goes on from where the files end until the
load has ended. What it imports is little: it starts beside every load.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from sanpath.recorder.loads.spool import Spool

DONE = b"done\n"
_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0
"""How long a full disk may stay full when the load has ended."""


def main(group: int, outputs: list[tuple[int, str]]) -> None:
    """Wait; then copy. `outputs`: descriptors of memory files and where they go."""
    if sys.stdin.buffer.read() == DONE:
        return
    spools = []
    for descriptor, path in outputs:
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_WRONLY | os.O_APPEND)
            spool = Spool(descriptor)
            spool.taken = spool.size  # Nobody reads it any more.
            spool.copied = os.fstat(file).st_size
            spools.append((spool, file))
    until = None
    while until is None or time.monotonic() < until:
        ended = not _runs(group)
        whole = [_copied(spool, file) for spool, file in spools]
        if ended and all(whole):
            return
        if ended and until is None:
            until = time.monotonic() + _PATIENCE_SECONDS
        time.sleep(_LOOK_SECONDS)


def _copied(spool: Spool, file: int) -> bool:
    """Whether the file has all that there is."""
    try:
        spool.taken = spool.size
        while spool.copy(file):
            spool.drop()
    except OSError:
        return False
    return True


def _runs(group: int) -> bool:
    """Whether a process group has members; those that nobody has waited for do not count, where that can be seen."""
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    states = [found for stat in Path("/proc").glob("[0-9]*/stat") if (found := _state(stat))]
    return not states or any(state != "Z" for of, state in states if of == group)


def _state(stat: Path) -> tuple[int, str] | None:
    """(process group, state) of a process."""
    with contextlib.suppress(OSError):
        words = stat.read_text(errors="replace").rpartition(")")[2].split()
        return int(words[2]), words[0]
    return None


if __name__ == "__main__":
    main(int(sys.argv[1]), [(int(d), path) for d, _, path in (word.partition(":") for word in sys.argv[2:])])

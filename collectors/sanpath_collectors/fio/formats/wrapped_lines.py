"""Joins lines that a shell or a mail program has wrapped: command lines, job headers, disk statistics. Pure.

# fio --rw=randwrite --bs=4k --numjobs=32
--runtime=240 --name=job
job: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K,
ioengine=psync, iodepth=1
"""

from __future__ import annotations

import re

_MAX_CHARACTERS, _MAX_PARTS = 8192, 64
"""Largest number of characters and parts of a joined line. Nobody types longer commands."""
_COMMAND = re.compile(r"\bfio\s+(?:-|\\)")
_OPTION = re.compile(r"\s*--?[a-z]")


class WrappedLines:
    """Keeps a line until the next one shows whether it continues."""

    def __init__(self) -> None:
        self._held, self._parts = "", 0

    def join(self, line: str) -> list[str]:
        """Add a line. Returns the lines that are complete now.

        >>> lines = WrappedLines()
        >>> [lines.join(part) for part in ("$ fio --rw=read \\\\", "> --bs=4k", "fio-3.1")]
        [[], [], ['$ fio --rw=read  --bs=4k', 'fio-3.1']]
        """
        done, parts = [], 1
        if self._held:
            continuation = _continuation(self._held, line)
            if continuation is None:
                done.append(self._held)
            else:
                line, parts = " ".join((self._held.rstrip().removesuffix("\\"), continuation)), self._parts + 1
        may_continue = parts < _MAX_PARTS and len(line) < _MAX_CHARACTERS and _may_continue(line)
        self._held, self._parts = (line, parts) if may_continue else ("", 0)
        return done if may_continue else [*done, line]


def _may_continue(line: str) -> bool:
    is_header = "(g=" in line and ": rw=" in line and "iodepth=" not in line
    is_disk = ": ios=" in line and "in_queue=" not in line
    return is_header or is_disk or ("fio" in line and _COMMAND.search(line) is not None)


def _continuation(held: str, line: str) -> str | None:
    """The text by which `line` continues the line that was kept. None: it does not continue it."""
    if held.rstrip().endswith("\\"):
        return line.lstrip("> \t")  # The secondary prompt of a shell is "> ".
    start = line.lstrip()
    if "(g=" in held:
        continues = start.startswith(("ioengine=", "iodepth="))
    elif ": ios=" in held:
        continues = start.startswith(("merge=", "ticks=", "in_queue="))
    else:
        continues = _OPTION.match(line) is not None
    return line.strip() if continues else None

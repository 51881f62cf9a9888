"""Joins lines that a shell or a mail program has broken: command lines, headers of jobs, disk statistics. Pure.

# fio --rw=randwrite --bs=4k --numjobs=32
--runtime=240 --name=job
job: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K,
ioengine=psync, iodepth=1
"""

from __future__ import annotations

import re

_LONGEST, _MOST_PARTS = 8192, 64
"""Characters and parts of a line that is joined: longer ones are no command of a person."""
_COMMAND = re.compile(r"\bfio\s+(?:-|\\)")
_OPTION = re.compile(r"\s*--?[a-z]")


class BrokenLines:
    """Holds a line back until the next one shows whether it goes on."""

    def __init__(self) -> None:
        self._held, self._parts = "", 0

    def join(self, line: str) -> list[str]:
        """The lines that are complete now.

        >>> lines = BrokenLines()
        >>> [lines.join(part) for part in ("$ fio --rw=read \\\\", "> --bs=4k", "fio-3.1")]
        [[], [], ['$ fio --rw=read  --bs=4k', 'fio-3.1']]
        """
        done, parts = [], 1
        if self._held:
            rest = _rest(self._held, line)
            if rest is None:
                done.append(self._held)
            else:
                line, parts = " ".join((self._held.rstrip().removesuffix("\\"), rest)), self._parts + 1
        may_go_on = parts < _MOST_PARTS and len(line) < _LONGEST and _may_go_on(line)
        self._held, self._parts = (line, parts) if may_go_on else ("", 0)
        return done if may_go_on else [*done, line]


def _may_go_on(line: str) -> bool:
    is_header = "(g=" in line and ": rw=" in line and "iodepth=" not in line
    is_disk = ": ios=" in line and "in_queue=" not in line
    return is_header or is_disk or ("fio" in line and _COMMAND.search(line) is not None)


def _rest(held: str, line: str) -> str | None:
    """The rest of a line that was held back. None: the next one is another."""
    if held.rstrip().endswith("\\"):
        return line.lstrip("> \t")  # A shell begins it with its second prompt.
    start = line.lstrip()
    if "(g=" in held:
        goes_on = start.startswith(("ioengine=", "iodepth="))
    elif ": ios=" in held:
        goes_on = start.startswith(("merge=", "ticks=", "in_queue="))
    else:
        goes_on = _OPTION.match(line) is not None
    return line.strip() if goes_on else None

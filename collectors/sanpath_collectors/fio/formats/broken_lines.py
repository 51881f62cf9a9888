"""Joins lines that a shell or a mail program has broken: command lines, headers of jobs, disk statistics. Pure.

# fio --rw=randwrite --bs=4k --numjobs=32
--runtime=240 --name=job
job: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K,
ioengine=psync, iodepth=1
"""

from __future__ import annotations

import re

_LONGEST = 8192
_ESCAPED = re.compile(r"\bfio\b.*\\\s*$")
"""A command line that its shell continues in the next line."""
_BROKEN = tuple(
    (re.compile(begin), re.compile(rest))
    for begin, rest in (
        (r"\bfio\s+-", r"\s*--?[a-z]"),
        (r"\(g=\d+\): rw=(?!.*iodepth=)", r"\s*(?:ioengine|iodepth)="),
        (r": ios=\d+/\d+,(?!.*in_queue=)", r"\s*(?:merge|ticks|in_queue)="),
    )
)
"""What begins a line that may be broken, and what its rest begins with."""
_MARKS = ("fio", "(g=", ": ios=")
"""What each of these lines holds: most lines have none, and are passed on at once."""


class BrokenLines:
    """Holds a line back until the next one shows whether it goes on."""

    def __init__(self) -> None:
        self._held = ""

    def join(self, line: str) -> list[str]:
        """The lines that are complete now.

        >>> lines = BrokenLines()
        >>> [lines.join(part) for part in ("$ fio --rw=read \\\\", "> --bs=4k", "fio-3.1")]
        [[], [], ['$ fio --rw=read  --bs=4k', 'fio-3.1']]
        """
        done = []
        if self._held:
            held, self._held = self._held, ""
            rest = self._rest(held, line)
            if rest is None:
                done.append(held)
            else:
                line = " ".join((held.rstrip().removesuffix("\\"), rest))
        if self._may_go_on(line) and len(line) < _LONGEST:
            self._held = line
            return done
        return [*done, line]

    def _may_go_on(self, line: str) -> bool:
        if not any(mark in line for mark in _MARKS):
            return False
        return _ESCAPED.search(line) is not None or any(begin.search(line) for begin, _ in _BROKEN)

    def _rest(self, held: str, line: str) -> str | None:
        """The rest of a line that was held back; None: the next one is another."""
        if _ESCAPED.search(held):
            return line.lstrip("> \t")  # A shell begins it with its second prompt.
        goes_on = any(begin.search(held) and rest.match(line) for begin, rest in _BROKEN)
        return line.strip() if goes_on else None

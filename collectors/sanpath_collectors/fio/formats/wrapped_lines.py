"""Restores lines that a shell or a mail program has wrapped. Pure.

Command lines, job headers, disk statistics, throughput and latencies are joined:

# fio --rw=randwrite --bs=4k --numjobs=32
--runtime=240 --name=job
job: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K,
ioengine=psync, iodepth=1

Figures of a job that came into the line before are separated from it:

job: (groupid=0, jobs=1): err= 0: pid=7: Mon Jun 15 21:10:40
2026 write: IOPS=500, BW=2000KiB/s (2048kB/s)(39.1MiB/20000msec); 0 zone
resets lat (usec): min=1, max=9, avg=2.00, stdev= 1.00

So they are where a page has lost the ends of lines, with or without a space for each. Then the entry of a job is
separated from the header and the progress in front of it, too:

$ fio --rw=write job: (g=0): rw=write, ... iodepth=1 fio-3.7 job: (groupid=0, jobs=1): err= 0: ... 2026write: IOPS=500
"""

from __future__ import annotations

import re

_MAX_CHARACTERS, _MAX_PARTS = 8192, 64
"""Largest number of characters and parts of a joined line. Nobody types longer commands."""
_COMMAND = re.compile(r"\bfio\s+(?:-|\\)")
_OPTION = re.compile(r"\s*--?[a-z]")
_BEGIN = (
    r"(?:(?:read|write|mixed)\s*:\s+(?:IOPS|io)=|[cs]?lat \((?:nsec|usec|msec|sec)\)\s*: |clat percentiles \(|bw \(|"
    r"iops\s+: min=|cpu\s+: usr=|IO depths\s+: 1=|submit\s+: 0=|complete\s*: 0=|issued[^:]{0,12}: total=|"
    r"latency\s+: target=|Run status group \d|Disk stats \(read/write\):)"
)
"""The beginnings of the lines of a job's figures, and of those after them."""
_FIGURES = re.compile(
    rf"(?<=[^\s:\]|>])[ \t]+(?={_BEGIN})|(?<=[\d)%\]])(?={_BEGIN})|(?<=zone resets)(?=[cs]?lat \()|"
    r"(?<=msec)(?=Disk stats \()|(?<=sec\):)(?=[ \t]*\|)|(?<=\(all jobs\):)(?=[ \t]*(?:READ|WRITE):)|"
    r"(?<=Disk stats \(read/write\):)(?=[ \t]*\S)"
)
"""What stands in front of the figures of a job within a line: space, or nothing where the end of a line was lost.
After a delimiter and a space they are behind a prefix, such as the name of a host."""
_ENTRY = re.compile(r"(?<![ \t])[ \t]++(?:(?=\S{1,255}: \(g(?:roupid)?=\d)|(?=fio-\d+\.\d+ |Starting \d))")
_LATENCY = re.compile(r"(?:\blat|\bclat|\bslat|\bbw) \([^)]*\)\s*: min=(?!.*stdev=)")
_REST_OF_LATENCY = re.compile(r"\s*(?:(?:max|avg|per|stdev|samples)=|[\d.]+)")
_TOTALS = re.compile(r"\b(?:read|write|mixed)\s*:(?: IOPS=(?!.*msec\))|\s*$)")
_REST_OF_TOTALS = re.compile(r"\s*(?:IOPS=|BW=|\()")


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
        if self._held and not line.strip() and not _ends_at_blank_line(self._held):
            return []
        if self._held:
            continuation = _continuation(self._held, line)
            if continuation is None:
                done.append(self._held)
            else:
                line, parts = " ".join((self._held.rstrip().removesuffix("\\"), continuation)), self._parts + 1
        may_continue = parts < _MAX_PARTS and len(line) < _MAX_CHARACTERS and _may_continue(line)
        self._held, self._parts = (line, parts) if may_continue else ("", 0)
        return done if may_continue else [*done, line]


def _ends_at_blank_line(held: str) -> bool:
    """Whether a blank line ends what was kept: a command. Mail programs put blank lines between others."""
    return _COMMAND.search(held) is not None and not held.rstrip().endswith("\\")


def _may_continue(line: str) -> bool:
    is_header = "(g=" in line and ": rw=" in line and "iodepth=" not in line
    is_disk = ": ios=" in line and "in_queue=" not in line
    is_figures = _LATENCY.search(line) is not None or _TOTALS.search(line) is not None
    return is_header or is_disk or is_figures or ("fio" in line and _COMMAND.search(line) is not None)


def _continuation(held: str, line: str) -> str | None:
    """The text by which `line` continues the line that was kept. None: it does not continue it."""
    if held.rstrip().endswith("\\"):
        return line.lstrip("> \t")  # The secondary prompt of a shell is "> ".
    start = line.lstrip()
    if "(g=" in held:
        continues = start.startswith(("ioengine=", "iodepth="))
    elif ": ios=" in held:
        continues = start.startswith(("merge=", "ticks=", "in_queue="))
    elif _LATENCY.search(held) is not None:
        continues = _REST_OF_LATENCY.match(line) is not None
    elif _TOTALS.search(held) is not None:
        continues = _REST_OF_TOTALS.match(line) is not None
    else:
        continues = _OPTION.match(line) is not None
    return line.strip() if continues else None


def separate_entry(line: str) -> list[str]:
    """A line in which the entry of a job follows its header as the lines that fio printed. Other lines as they are.

    >>> separate_entry("a: (g=0): rw=read, iodepth=1 fio-3.7 Starting 1 process a: (groupid=0, jobs=1): err= 0")
    ['a: (g=0): rw=read, iodepth=1', 'fio-3.7', 'Starting 1 process', 'a: (groupid=0, jobs=1): err= 0']
    """
    if "(g=" not in line or "(groupid=" not in line:
        return [line]
    return [part.rstrip() for part in _ENTRY.split(line.replace(" \\ > ", " "))]


def separate_figures(line: str) -> list[str]:
    """A line of a job's entry as the lines that fio printed.

    >>> separate_figures("2026 read: IOPS=5, BW=1MiB/s lat (usec): min=1")
    ['2026', 'read: IOPS=5, BW=1MiB/s', 'lat (usec): min=1']
    """
    return _FIGURES.split(line)

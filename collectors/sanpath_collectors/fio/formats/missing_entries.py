"""Finds entries of jobs that a copy of fio's normal text lacks. Pure.

Without group_reporting, fio prints an entry for each process. People copy the first of them, or some. Its share of
the throughput of its group tells, or the summary of the group:

    Starting 4 processes
    rw: (groupid=0, jobs=1): err= 0: pid=11324: Fri Nov 20 02:53:27 2026
       bw (  KiB/s): min=26112, max=32640, per=24.89%, avg=28543.61, stdev=1208.55, samples=119
    Run status group 0 (all jobs):
       READ: bw=112MiB/s (117MB/s), 27.9MiB/s-28.1MiB/s (29.2MB/s-29.4MB/s), io=6690MiB (7015MB), run=60006-60009msec

If all processes have one header, and the share is that of one of so many, the entries that are there stand for all.
So they do if the slowest and the fastest process of the summary are nearly as fast. If these are not, the processes
are not alike, whatever their headers are. So they do, too, if a copy that ends within them has no share, and the run
has one header, because all are processes of one job.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.fio.formats.normal_entry import Entry
from sanpath_collectors.fio.formats.normal_header import parse_rounded_bytes

_GROUP = re.compile(r"Run status group (\d{1,9})")
_SIZE = r"([\d.]{1,15}[kKMGTP]?i?(?: ?B)?)"
_TOTAL = re.compile(rf"\s*+(READ|WRITE): (?:bw=.*\b)?io={_SIZE}\b")
_RATES = re.compile(rf"\s*+(?:READ|WRITE): bw={_SIZE}/s(?: \([^()]{{1,40}}\))?, {_SIZE}/s-{_SIZE}/s ")
"""Throughput of a group, and that of its slowest and its fastest process."""
_MIN_COMPLETE_RATIO = 0.8
"""Share of the bytes of a group from which its entries are complete: both are rounded. sanpath's own choice."""
_MAX_DIFFERENCE = 0.1
"""Largest relative difference between a share and that of processes that are alike: sanpath's own choice."""


class GroupTotals:
    """What the summaries say that each group has moved, in bytes."""

    def __init__(self) -> None:
        self._group: int | None = None
        self._bytes: dict[tuple[int, Direction], float] = {}
        self._processes: dict[int, int] = {}
        self._different: set[int] = set()

    def read_line(self, line: str) -> None:
        """Reads a line of the text, if it belongs to a summary."""
        if match := _GROUP.match(line):
            self._group = int(match[1])
        elif self._group is not None and (match := _TOTAL.match(line)):
            moved_bytes = parse_rounded_bytes(match[2], binary="bw=" not in line)[0]
            if moved_bytes:
                self._bytes[self._group, "read" if match[1] == "READ" else "write"] = moved_bytes
            if rates := _RATES.match(line):
                total, slowest, fastest = (parse_rounded_bytes(text)[0] or 0.0 for text in rates.groups())
                if fastest - slowest > _MAX_DIFFERENCE * fastest:
                    self._different.add(self._group)
                elif slowest:
                    self._processes[self._group] = round(2 * total / (slowest + fastest))

    def processes_alike(self, group: int, started: int | None) -> int | None:
        """Number of processes of a group that are alike. None: there is no summary of it, or they are not.

        `started`: their number, if their headers are alike; None: not known, or they are not.
        """
        return None if group in self._different else started or self._processes.get(group)

    def share(self, entries: Sequence[Entry]) -> float | None:
        """Share of all entries of a group in what it has moved. None: there is no summary of it."""
        totals = {d: self._bytes[entries[0].group, d] for d in DIRECTIONS if (entries[0].group, d) in self._bytes}
        shares = [sum(entry.moved_bytes(d) for entry in entries) / total for d, total in totals.items()]
        return max(shares, default=None)


def add_missing(
    entries: Sequence[Entry], started: int | None, totals: GroupTotals, *, alike: bool, one_job: bool
) -> None:
    """Lets the entries of a run stand for those of their group that are missing, or remarks that these are.

    `started`: number of processes of the run; None: not known. `alike`: whether all jobs of the run are. `one_job`:
    whether all its processes are of one job.
    """
    if started is not None and sum(entry.processes for entry in entries) >= started:
        return
    for group in {entry.group for entry in entries}:
        members = [entry for entry in entries if entry.group == group]
        printed = sum(entry.processes for entry in members)
        share = totals.share(members)
        is_known = share is not None
        share = share if is_known else _printed_share(members)
        number = "one entry" if len(members) == 1 else f"{len(members)} entries"
        if share is None and started is not None and one_job and started % printed == 0:
            text = f"the text has {number} of a job with {started} processes: these are taken to be alike"
            for entry in members:
                entry.stand_for(started // printed * entry.processes, text)
        if not share or share >= _MIN_COMPLETE_RATIO:
            continue
        number_alike = totals.processes_alike(group, started if alike else None)
        expected = printed / number_alike if number_alike else 0.0
        are_alike = abs(share - expected) <= _MAX_DIFFERENCE * expected
        # Shares that fio prints are of means over windows: alone they prove nothing.
        if not is_known and not are_alike:
            continue
        missing = f"the text has {number} of group {group}, with {share:.0%} of what the group has moved"
        for entry in members:
            if are_alike and number_alike is not None and number_alike % printed == 0:
                text = f"{missing}: its {number_alike} processes are taken to be alike"
                entry.stand_for(number_alike // printed * entry.processes, text)
            else:
                entry.stand_for(None, f"{missing}: copy all of fio's output")


def _printed_share(entries: Sequence[Entry]) -> float | None:
    """Share of these entries in the throughput of their group, as their lines say: the larger one of reads and
    writes. None: not known of each."""
    sums = []
    for direction in DIRECTIONS:
        moving = [entry for entry in entries if entry.moved_bytes(direction)]
        shares = [share for entry in moving if (share := entry.share_percent(direction)) is not None]
        if len(shares) < len(moving):
            return None
        sums += [sum(shares) / 100] if shares else []
    return max(sums, default=None)

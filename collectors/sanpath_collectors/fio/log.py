"""A log that fio writes of one job (write_lat_log=…): its name, its lines, and what all kinds of them yield.

    499, 40376, 0, 0, 0            time in ms, value, direction, block size, offset [, priority [, time of issue]]

`<prefix>_<kind>.<job>.log`; with per_job_logs=0 one log is of all jobs and has no number. Values are KiB/s (bw), I/Os
a second (iops) or nanoseconds (lat: from submission to completion; slat and clat: the two parts of it). With
log_avg_msec a line is the mean of a window, which the time ends, and the block size is 0; else it is one I/O.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.model import Direction
from sanpath.plugin import (
    CollectorError,
    Event,
    Failure,
    Item,
    LoadProfile,
    LoadStep,
    ResultClock,
    ResultFile,
    SourceEntity,
    SourceLink,
    warning,
)

Kind = Literal["bw", "iops", "lat", "clat", "slat", "clat_hist"]

_NAME = re.compile(r"(.+)_(clat_hist|bw|iops|lat|clat|slat)(?:\.(\d{1,9}))?\.log")
_LINE = re.compile(rb"\d{1,18}, *\d{1,18}, *\d{1,18}, *\d{1,18}[,\r\n]")
_EPOCH_MS = 10**11
"""Times above are since 1970 (log_unix_epoch): no test takes three years."""
LATEST_MS = 2**52
"""Times above do not fit the clock of a recording, in microseconds."""
LARGEST = 2**48
"""Values above are damage: three days, or 300 PB/s."""
_LONGEST_LINE = 1 << 20

DIRECTION_OF: Mapping[int, Direction] = {0: "read", 1: "write"}
"""fio's number of a direction; 2 is trim."""
MEASURED = {"lat": "latency_seconds_mean", "clat": "completion_seconds_mean", "slat": "submission_seconds_mean"}
"""Kind of log → the gauge that it gives."""


@dataclass(frozen=True, slots=True)
class LogName:
    """What the name of a log says. `job`: prefix and number."""

    job: str
    kind: Kind

    @classmethod
    def of(cls, name: str) -> LogName | None:
        """None: no log of fio is called so."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        kinds: Mapping[str, Kind] = {k: k for k in ("bw", "iops", "lat", "clat", "slat", "clat_hist")}
        prefix = match[1].replace(",", ";")  # A step lists its loads with commas between them.
        return cls(prefix + (f".{match[3]}" if match[3] else ""), kinds[match[2]])


def recognises(head: bytes, name: str) -> bool:
    """Whether a file is a log of fio; one without I/O is empty."""
    return LogName.of(name) is not None and (not head or _LINE.match(head) is not None)


class Log(ABC):
    """One log. `clock` is set before the first item comes."""

    def __init__(self, load: str, name: LogName) -> None:
        self.clock: ResultClock = "elapsed"
        self.load, self.kind = f"{load}/{name.job}", name.kind
        self._root = load
        self._step = LoadStep(name=name.job, loads=(self.load,), offered=None)
        self._rest = b""
        self._begun = False
        self._end_ms = 0
        self._trims = 0

    def feed(self, added: bytes) -> Iterator[Item]:
        """What became known."""
        *lines, self._rest = (self._rest + added).split(b"\n")
        for line in lines:
            yield from self.line(line)
        if len(self._rest) > _LONGEST_LINE:
            self._rest = b""

    def finish(self) -> Iterator[Item]:
        """The log has ended. Raises CollectorError when there was nothing in it."""
        if self._rest:
            yield from self.line(self._rest)
        yield from self.last()
        if not self._begun:
            empty = "no I/O was logged: the job was too short, or did none"
            raise CollectorError(Failure.UNREADABLE, f"{self._step.name}: {empty}")
        if self._trims:
            yield warning(self.us(self._end_ms), "trims", f"trims are not read: {self._trims:,} of its lines")
        yield self._step.event("step-end", self.us(self._end_ms))

    def read(self, file: ResultFile) -> Iterator[Item]:
        """The whole log."""
        for part in file.chunks():
            yield from self.feed(part)
        yield from self.finish()

    @abstractmethod
    def line(self, line: bytes) -> Iterator[Item]:
        """Take in one line."""

    @abstractmethod
    def last(self) -> Iterator[Item]:
        """What is left when the last line has come."""

    def begin(self, at_ms: int) -> Iterator[SourceEntity | SourceLink | Event]:
        """The log's first time is known."""
        self._begun = True
        self.clock = "utc" if at_ms > _EPOCH_MS else "elapsed"
        attributes = LoadProfile(engine="fio").attributes
        yield SourceEntity("load", self._root, self._root, {"name": (self._root,)}, attributes)
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, attributes)
        yield SourceLink("member_of", ("load", self.load), ("load", self._root), "fio job")
        yield self._step.event("step-begin", self.us(at_ms))

    def until(self, at_ms: int) -> int:
        """Take note of a time; microseconds of it."""
        self._end_ms = max(self._end_ms, at_ms)
        return self.us(at_ms)

    @staticmethod
    def us(at_ms: int) -> int:
        """Microseconds."""
        return at_ms * 1000


def numbers(line: bytes) -> Sequence[int] | None:
    """Time, value, direction and block size of a line; None: it is none."""
    fields = line.split(b",", 5)
    try:
        found = [int(field) for field in fields[:5]]
    except ValueError:
        return None
    if len(found) < 4 or min(found) < 0 or found[0] >= LATEST_MS or max(found[1:4]) >= LARGEST:
        return None
    # log_window_value=both: the largest value of the window follows the mean one, and the rest is one to the right.
    return (*found[:2], *found[3:5]) if len(fields) > 5 and found[2] > 2 >= found[3] else found[:4]

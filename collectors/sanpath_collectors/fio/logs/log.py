"""A log that fio writes for a job (write_lat_log=…): its name, its lines, and the items common to all kinds.

    499, 40376, 0, 0, 0            time in ms, value, direction, block size, offset [, priority [, time of issue]]

The file name is `<prefix>_<kind>.<job>.log`. With per_job_logs=0 one log covers all jobs and has no number. Values
are KiB/s (bw), I/Os a second (iops) or nanoseconds (lat: from submission to completion; slat and clat: its two
parts). With log_avg_msec a line is the mean of a window that ends at its time, and the block size is 0. Otherwise a
line is one I/O.

Before 3.0 latencies were in microseconds. Before 3.18 a line had no priority (iolog.c of fio). So the latency in a
line of four fields may have either unit, and only the version of fio shows which.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
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
_MIN_EPOCH_MS = 10**11
"""Times above are since 1970 (log_unix_epoch): no test takes three years."""
MAX_TIME_MS = 2**52
"""Larger times do not fit a recording, which stores microseconds in 64 bits."""
MAX_VALUE = 2**48
"""Larger values mean that the file is damaged: three days, or 300 PB/s."""
MIN_PLAUSIBLE_NS = 1000
"""No I/O of a storage system is faster."""
_MAX_LINE_BYTES = 1 << 20
"""Longer lines are dropped, so that no file fills the memory."""
_EXCERPT_CHARACTERS = 80
"""Characters of a line in a message."""
_FIELDS_BEFORE_3_18 = 4
"""A fifth field is a priority, or the offset that log_offset adds in any version."""
_FIELDS_WITH_OFFSET = 5
_US_TO_NS = 1000
_FIRST_WITH_NANOSECONDS = 3
"""The major version of fio since which logs have nanoseconds."""

DIRECTION_BY_NUMBER: Mapping[int, Direction] = {0: "read", 1: "write"}
"""fio's number of a direction; 2 is trim."""
GAUGE_BY_KIND = {"lat": "latency_seconds_mean", "clat": "completion_seconds_mean", "slat": "submission_seconds_mean"}
"""Kind of log → the gauge of its values."""


@dataclass(frozen=True, slots=True)
class LogName:
    """The name of a log. `prefix`: common to all logs of a run. `job`: prefix and number of the job."""

    prefix: str
    job: str
    kind: Kind

    @classmethod
    def parse(cls, name: str) -> LogName | None:
        """Parses a file name. None: it is not the name of a log of fio."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        kinds: Mapping[str, Kind] = {k: k for k in ("bw", "iops", "lat", "clat", "slat", "clat_hist")}
        prefix = match[1].replace(",", ";")  # A step lists its loads with commas between them.
        return cls(prefix, prefix + (f".{match[3]}" if match[3] else ""), kinds[match[2]])


def recognises(head: bytes, name: str) -> bool:
    """Whether a file is a log of fio; a log without I/O is empty."""
    return LogName.parse(name) is not None and (not head or _LINE.match(head) is not None)


class Log(ABC):
    """Reads one log. `clock` is set before the first item is yielded.

    `load`: local id of its job's load. `job`: name of the job. `versions`: versions of fio in results of the same
    recording. `is_complete`: it contains both operations and their latency; without them a load is not judged.
    `unit`: unit of latencies in nanoseconds. `unit_is_doubtful`: the unit cannot be determined.
    """

    def __init__(self, load: str, name: LogName, versions: Collection[str] = ()) -> None:
        self.clock: ResultClock = "elapsed"
        self.load, self.kind = f"{load}/{name.job}", name.kind
        self._root, self.job = load, name.job
        self._step = LoadStep(name=name.job, loads=(self.load,), offered=None)
        self._buffer = b""
        self._has_begun = False
        self.is_complete = False
        self._end_ms = 0
        self._trims = 0
        self._is_before_3 = {int(v.partition(".")[0]) < _FIRST_WITH_NANOSECONDS for v in versions if v[:1].isdigit()}
        self._first_line_noted = False
        self._first_line = b""
        self.unit = 1
        self.unit_is_doubtful = False

    def feed(self, added: bytes) -> Iterator[Item]:
        """Yields the items of the next chunk."""
        *lines, self._buffer = (self._buffer + added).split(b"\n")
        for line in lines:
            yield from self._take_line(line)
        if len(self._buffer) > _MAX_LINE_BYTES:
            self._buffer = b""

    def finish(self) -> Iterator[Item]:
        """Yields the remaining items at the end of the log. Raises CollectorError when no line of it has an I/O."""
        if self._buffer:
            yield from self._take_line(self._buffer)
        yield from self.last_items()
        if not self._has_begun:
            reason = "no I/O was logged: the job was too short, or did none"
            if self._first_line.strip() and not self._trims:
                reason = f"its {self.kind} log is damaged: no line of it can be read"
            excerpt = self._first_line[:_EXCERPT_CHARACTERS].decode("ascii", "replace")
            raise CollectorError(Failure.UNREADABLE, f"{self._step.name}: {reason}", excerpt)
        if self._trims:
            yield warning(self.to_us(self._end_ms), "trims", f"trims are not read: {self._trims:,} of its lines")
        if not self.is_complete:
            yield partial_log_warning(self.to_us(self._end_ms), [self.kind])
        yield self._step.event("step-end", self.to_us(self._end_ms))

    def read(self, file: ResultFile) -> Iterator[Item]:
        """Reads a complete log."""
        for chunk in file.chunks():
            yield from self.feed(chunk)
        yield from self.finish()

    def _take_line(self, line: bytes) -> Iterator[Item]:
        self._first_line = self._first_line or line
        if not self._first_line_noted and parse_line(line) is not None:
            self._first_line_noted = True
            self.note_first_line(line)
        return self.read_line(line)

    @abstractmethod
    def read_line(self, line: bytes) -> Iterator[Item]:
        """Yields the items of the next line."""

    @abstractmethod
    def last_items(self) -> Iterator[Item]:
        """Yields the remaining items after the last line."""

    def begin(self, time_ms: int) -> Iterator[SourceEntity | SourceLink | Event]:
        """Yields the entities and the step-begin event, as soon as the first time of the log is known."""
        self._has_begun = True
        self.clock = "utc" if time_ms > _MIN_EPOCH_MS else "elapsed"
        attributes = LoadProfile(engine="fio").attributes
        yield SourceEntity("load", self._root, self._root, {"name": (self._root,)}, attributes)
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, attributes)
        yield SourceLink("member_of", ("load", self.load), ("load", self._root), "fio job")
        yield self._step.event("step-begin", self.to_us(time_ms))

    def note_time(self, time_ms: int) -> int:
        """Extends the log's end to a time, and returns that time in microseconds."""
        self._end_ms = max(self._end_ms, time_ms)
        return self.to_us(time_ms)

    def several_jobs_error(self) -> CollectorError:
        """The error for a log with lines of several jobs that cannot be summed up."""
        reason = "the lines of several jobs follow one another (per_job_logs=0)"
        remedy = "import the JSON of the run, or log with per_job_logs=1"
        return CollectorError(Failure.UNREADABLE, f"{self._step.name}: {reason}, which is not read: {remedy}")

    def note_first_line(self, line: bytes) -> None:
        """Determines the unit of the latencies from the first valid line."""
        fields = line.split(b",")
        if self.kind not in GAUGE_BY_KIND or len(fields) > _FIELDS_WITH_OFFSET or b"x" in fields[-1]:
            return
        if len(self._is_before_3) == 1:
            self.unit = _US_TO_NS if True in self._is_before_3 else 1
        else:
            self.unit_is_doubtful = len(fields) <= _FIELDS_BEFORE_3_18

    def unit_warning(self, time_ms: int, symptom: str) -> Event:
        """The warning that latencies may be in microseconds."""
        text = f"{symptom}: fio before 3.0 wrote microseconds, which are read as nanoseconds"
        remedy = "import the log together with the JSON or the text of the run, which has the version of fio"
        return warning(self.to_us(time_ms), "latency-unit", f"{text}; {remedy}")

    @staticmethod
    def to_us(time_ms: int) -> int:
        """Milliseconds as microseconds."""
        return time_ms * 1000


def partial_log_warning(seen_us: int, kinds: Sequence[Kind]) -> Event:
    """The warning that the logs of a job lack operations together with their latency."""
    logs = f"a log of {kinds[0]} gives" if len(kinds) == 1 else f"logs of {' and '.join(kinds)} give"
    text = f"{logs} no operations with their latency, and {'is' if len(kinds) == 1 else 'are'} not judged alone"
    remedy = "import the JSON of the job, its lat log without log_avg_msec, or its lat and iops logs with one command"
    return warning(seen_us, "partial-log", f"{text}: {remedy}")


def parse_line(line: bytes) -> Sequence[int] | None:
    """Time in ms, value, direction and block size of a line; None: it is not a line of a log."""
    fields = line.split(b",", 5)
    try:
        numbers = [int(field) for field in fields[:4]]
        # log_window_value=both: the maximum of a window follows its mean, and the other fields move one to the right.
        # Otherwise the fifth field may be a priority in hexadecimal.
        if len(fields) > 5 and numbers[2] > 2 >= numbers[3]:
            numbers[2:] = numbers[3], int(fields[4])
    except ValueError:
        return None
    if len(numbers) < 4 or min(numbers) < 0 or numbers[0] >= MAX_TIME_MS or max(numbers[1:4]) >= MAX_VALUE:
        return None
    return numbers

"""What fio reports about its jobs at one moment, whatever its output format."""

from __future__ import annotations

import errno
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanpath.model import Direction
from sanpath.plugin import FIO_OVER_NETWORK, LoadProfile

Number = int | float | None

_LONGEST_MS = 2**42
"""A hundred years."""
COUNTS = 2**64
"""What a 64-bit counter cannot hold."""
_SMALLEST_BLOCK = 512
"""The sector, below which no device takes I/Os."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """One job, or a group of jobs that fio reports as one. Latency sums in nanoseconds; None: fio did not report it.

    `name`: unique in the status. `host`: the fio server it runs on. `profile`: its configuration. For a group of
    `mixed` jobs fio prints the options of one job only, so the profile is unknown. `runtime_ms`: since its start or
    the end of its ramp, 0 before its first I/O. `ops`: reads and writes it has submitted; restarts when the ramp
    ends. `ramping`: the figures are those of the ramp, which fio drops. `started_us`: when it was started,
    microseconds since the epoch. `samples`: values of tables.LOAD, in fio's units. `bins`: direction → any nanosecond
    of a bucket → I/Os in it. `counted_errors`: I/Os that failed while the job went on (continue_on_error).
    `remarks`: (code, text) of what limits the use of its figures. `runtimes_ms`: direction → its own run time, where
    one came after the other; empty: they ran together. `phase`: of the same group, those of phase 1 follow.
    """

    name: str
    group: int
    profile: LoadProfile
    runtime_ms: int
    ops: int
    error: int
    samples: Mapping[str, Number]
    options: Mapping[str, str] = field(default_factory=dict)
    mixed: bool = False
    host: str | None = None
    ramping: bool = False
    started_us: int | None = None
    bins: Mapping[Direction, Mapping[str, Any]] = field(default_factory=dict)
    counted_errors: int = 0
    remarks: Sequence[tuple[str, str]] = ()
    runtimes_ms: Mapping[Direction, int] = field(default_factory=dict)
    phase: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the order in which fio runs jobs: those of one place run together, and are a step."""
        return self.group, self.phase

    @property
    def counters(self) -> Mapping[str, Number]:
        """Its samples with the I/Os that failed: without continue_on_error, fio ends a job at the first one."""
        ended_at_one = self.error not in (0, errno.EINTR)
        return {**self.samples, "ops_failed_total": max(self.counted_errors, int(ended_at_one))}

    @property
    def in_flight(self) -> float | None:
        """I/Os that the job is configured to keep outstanding; None: unknown."""
        return self.profile.in_flight

    @property
    def on_windows(self) -> bool:
        """Whether it ran on Windows."""
        return self.options.get("ioengine") == "windowsaio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """All jobs of one fio process at one moment.

    `time_us`: that moment, microseconds since the epoch (normal text: of local time), None where the output format
    has no time; `time_in_seconds`: it is truncated to seconds. `disks`: block device, with the prefix "host/" where
    several hosts report theirs → values of tables.LUN. `elapsed_seconds`: since fio was started, rounded up.
    `running`: fio had not finished. `banner`: number of banners of fio (one a start) in the text so far.
    """

    time_us: int | None
    jobs: tuple[JobStatus, ...]
    disks: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    version: str | None = None
    time_in_seconds: bool = False
    elapsed_seconds: int | None = None
    running: bool = False
    banner: int = 0

    @property
    def runtime_us(self) -> int:
        """Run time of its jobs: of those of one place the longest, and places follow each other."""
        longest: dict[tuple[int, int], int] = {}
        for job in self.jobs:
            longest[job.place] = max(job.runtime_ms, longest.get(job.place, 0))
        return 1000 * sum(longest.values())

    @property
    def tested_disks(self) -> Mapping[str, Mapping[str, Number]]:
        """The block devices that the load may use: none if every job itself connects to a storage server.

        fio then reports the device of its working directory."""
        engines = {job.options.get("ioengine") for job in self.jobs}
        return {} if engines and engines <= FIO_OVER_NETWORK else self.disks


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of jobs, numbered where they repeat: fio gives all processes of a job the same name."""
    if len(names) == 1:
        return [names[0].replace(",", ";")]
    counts: Counter[str] = Counter()
    unique = []
    # A step lists its loads with commas between them.
    for name in (name.replace(",", ";") for name in names):
        counts[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return unique


def integer(value: Any, default: int) -> int:
    """A value as a count that fits a 64-bit counter; the default for anything else."""
    if type(value) is int:  # nearly all of them, in files of gigabytes
        return value if 0 <= value < COUNTS else default
    try:
        number = round(value) if isinstance(value, float) else int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if 0 <= number < COUNTS else default


def milliseconds(value: Any) -> int:
    """A run time in milliseconds; 0 for what cannot be one."""
    number = integer(value, 0)
    return number if number < _LONGEST_MS else 0


def finite(value: Any) -> float | None:
    """A value as a finite number; None for anything else, NaN included."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def operations(moved_bytes: int, per_second: int, seconds: float) -> int:
    """The number of I/Os that moved so many bytes at [per_second, per_second + 1) I/Os a second.

    Exact where exactly one power of two is possible as block size; otherwise the middle of the possible range.
    """
    min_ops, max_ops = per_second * seconds, (per_second + 1) * seconds
    if not moved_bytes or max_ops <= 0:
        return round(min_ops)
    size = _SMALLEST_BLOCK
    candidates = []
    while size * min_ops <= moved_bytes:
        if moved_bytes % size == 0 and min_ops <= moved_bytes // size < max_ops:
            candidates.append(moved_bytes // size)
        size *= 2
        if size > moved_bytes:
            break
    return candidates[0] if len(candidates) == 1 else round((min_ops + max_ops) / 2)

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

_MAX_RUNTIME_MS = 2**42
"""Longer run times are not plausible: a hundred years."""
MAX_COUNT = 2**64
"""The smallest number that does not fit a 64-bit counter."""
_MIN_BLOCK_BYTES = 512
"""The sector, below which no device takes I/Os."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """One job, or a group of jobs that fio reports as one. Latency sums in nanoseconds; None: fio did not report it.

    `name`: unique in the status. `host`: the fio server it runs on. `profile`: its configuration. For a group of
    `mixed` jobs fio prints the options of one job only, so the profile is unknown. `runtime_ms`: since its start or
    the end of its ramp, 0 before its first I/O. `ops`: reads and writes it has submitted; restarts when the ramp
    ends. `ramping`: the figures are those of the ramp, which fio drops. `started_us`: when it was started,
    microseconds since the epoch. `samples`: values of tables.LOAD, in fio's units. `bins`: direction → any nanosecond
    of a bucket → I/Os in it. `counted_errors`: I/Os that failed while the job continued (continue_on_error).
    `remarks`: (code, text) of what limits the use of its figures. `runtimes_ms`: direction → its run time, if one
    direction ran after the other; empty: they ran together. `phase`: jobs of phase 1 run after those of phase 0 of
    the same group.
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
    def stage(self) -> tuple[int, int]:
        """(group, phase): jobs of one stage run at the same time and form a step."""
        return self.group, self.phase

    @property
    def counters(self) -> Mapping[str, Number]:
        """Its samples, with the number of failed I/Os. Without continue_on_error, fio ends a job at the first
        error."""
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

    `time_us`: that moment, microseconds since the epoch (normal text: local time); None: the output format has no
    time. `time_in_seconds`: it is truncated to seconds. `disks`: block device → values of tables.LUN; with the prefix
    "host/" if several hosts report disks. `elapsed_seconds`: time since fio was started, rounded up. `running`: fio
    had not finished. `banner`: number of fio's banners in the text so far; fio prints one at each start.
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
    def figures(self) -> int:
        """A number that is the same for a copy of the status, and hardly for another."""
        return hash((self.time_us, *((job.name, *job.samples.values()) for job in self.jobs)))

    @property
    def runtime_us(self) -> int:
        """Run time of its jobs: the longest of each stage, summed up, because stages run one after the other."""
        longest: dict[tuple[int, int], int] = {}
        for job in self.jobs:
            longest[job.stage] = max(job.runtime_ms, longest.get(job.stage, 0))
        return 1000 * sum(longest.values())

    @property
    def tested_disks(self) -> Mapping[str, Mapping[str, Number]]:
        """The block devices that the load may use. None of them if every job connects to a storage server by itself:
        fio then reports the device of its working directory."""
        engines = {job.options.get("ioengine") for job in self.jobs}
        return {} if engines and engines <= FIO_OVER_NETWORK else self.disks


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of jobs, with a number if they repeat: fio gives all processes of a job the same name."""
    if len(names) == 1:
        return [names[0].replace(",", ";")]
    counts: Counter[str] = Counter()
    unique = []
    # Commas are replaced, because a step lists its loads separated by commas.
    for name in (name.replace(",", ";") for name in names):
        counts[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return unique


def integer(value: Any, default: int) -> int:
    """A value as a count that fits a 64-bit counter; the default for anything else."""
    if type(value) is int:  # The usual case, in files of gigabytes.
        return value if 0 <= value < MAX_COUNT else default
    try:
        number = round(value) if isinstance(value, float) else int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if 0 <= number < MAX_COUNT else default


def milliseconds(value: Any) -> int:
    """A run time in milliseconds; 0 for implausible values."""
    number = integer(value, 0)
    return number if number < _MAX_RUNTIME_MS else 0


def finite_number(value: Any) -> float | None:
    """A value as a finite number; None for anything else, NaN included."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def estimate_operations(moved_bytes: int, per_second: int, seconds: float) -> int:
    """The number of I/Os that transferred `moved_bytes` at [per_second, per_second + 1) IOPS for `seconds`.

    It is exact if exactly one power of two is possible as block size; otherwise the middle of the possible range.
    """
    min_ops, max_ops = per_second * seconds, (per_second + 1) * seconds
    if not moved_bytes or max_ops <= 0:
        return round(min_ops)
    size = _MIN_BLOCK_BYTES
    candidates = []
    while size * min_ops <= moved_bytes:
        if moved_bytes % size == 0 and min_ops <= moved_bytes // size < max_ops:
            candidates.append(moved_bytes // size)
        size *= 2
        if size > moved_bytes:
            break
    return candidates[0] if len(candidates) == 1 else round((min_ops + max_ops) / 2)

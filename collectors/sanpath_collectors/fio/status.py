"""What fio says of its jobs at one moment, whichever form it was printed in."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanpath.model import Direction
from sanpath.plugin import LoadProfile

Number = int | float | None

_LONGEST_MS = 2**42
"""A hundred years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """One job, or the group it stands for. Latency sums in nanoseconds; None: fio did not say.

    `name`: told apart from the others of the status. `host`: the fio server it runs on. `profile`: what it was told
    to do; of a group of `mixed` jobs fio prints the options of one only, and what the others do is not known.
    `runtime_ms`: since its start or the end of its ramp, 0 before its first I/O. `ops`: reads and writes it has
    begun; starts again when the ramp ends. `ramping`: these are the figures of the ramp, which fio drops.
    `started_us`: when it was started, microseconds since the epoch. `samples`: values of tables.LOAD, in fio's units.
    `bins`: direction → any nanosecond of a bucket → I/Os in it. `remarks`: (code, text) of what is to be known of its
    figures.
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
    remarks: Sequence[tuple[str, str]] = ()

    @property
    def in_flight(self) -> float | None:
        """I/Os the job was told to keep outstanding."""
        return self.profile.in_flight


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """All jobs of one fio at one moment.

    `time_us`: that moment, microseconds since the epoch (normal text: of local time), None where the form does not
    say; `whole_seconds`: it is cut off to seconds. `disks`: block device, after "host/" where several hosts tell
    theirs → values of tables.LUN. `elapsed_seconds`: since fio was started, rounded up. `running`: fio meant to go
    on. `banner`: counts the starts of fio that its text tells of.
    """

    time_us: int | None
    jobs: tuple[JobStatus, ...]
    disks: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    version: str | None = None
    whole_seconds: bool = False
    elapsed_seconds: int | None = None
    running: bool = False
    banner: int = 0


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of jobs, numbered where they repeat: fio gives all processes of a job the same."""
    seen: Counter[str] = Counter()
    apart = []
    # A step lists its loads with commas between them.
    for name in (name.replace(",", ";") for name in names):
        seen[name] += 1
        apart.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return apart


def integer(value: Any, default: int) -> int:
    """A count that fits a 64-bit counter; the default for anything else."""
    try:
        number = round(value) if isinstance(value, float) else int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if 0 <= number < 2**64 else default


def milliseconds(value: Any) -> int:
    """A run time; 0 for what cannot be one."""
    number = integer(value, 0)
    return number if number < _LONGEST_MS else 0


def finite(value: Any) -> float | None:
    """A finite number; None for anything else, NaN included."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}

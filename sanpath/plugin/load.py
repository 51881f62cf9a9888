"""A load generator as sanpath reads it: its command wrapped, its jobs described, its steps marked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from sanpath.model import DIRECTIONS, Column, Direction, Event, Scalar
from sanpath.plugin.collector import Item

_NS = 1e-9

LOAD_COUNTERS = tuple(
    Column(metric, 64, _NS if "seconds" in metric else 1.0)
    for metric in (f"{what}_{d}_total" for what in ("ops", "bytes", "latency_seconds") for d in DIRECTIONS)
)
"""What every load generator tells, as counters since the load began; latencies summed in nanoseconds."""

LOAD_PERCENTILES = tuple(
    Column(f"latency_seconds_{which}_{d}", 0, _NS) for d in DIRECTIONS for which in ("p50", "p95", "p99", "max")
)
"""Percentiles and maximum since the load began, in nanoseconds."""


class Totals:
    """Counters of one load, summed up from the figures of its intervals: what a counter in the engine would read.

    `values` are values of LOAD_COUNTERS. A latency that is not told (None) makes the direction's sum None from there
    on: it cannot be completed later.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {column.metric: 0.0 for column in LOAD_COUNTERS}
        self._untold: set[str] = set()

    def add(self, direction: Direction, ops: float, bytes_moved: float, latency_seconds: float | None) -> None:
        """One interval: I/Os and bytes completed in it, and their mean latency, None: not told."""
        self._sums[f"ops_{direction}_total"] += ops
        self._sums[f"bytes_{direction}_total"] += bytes_moved
        waited = f"latency_seconds_{direction}_total"
        if latency_seconds is not None:
            self._sums[waited] += ops * latency_seconds / _NS
        elif ops:
            self._untold.add(waited)

    @property
    def values(self) -> dict[str, int | float | None]:
        """Metric → its value now, whole numbers."""
        return {name: None if name in self._untold else round(total) for name, total in self._sums.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProfile:
    """What a load was told to do, in the same words for every generator. None: not known.

    `in_flight`: I/Os it keeps outstanding, all threads and targets together. `random_ratio`, `read_ratio`: share of
    the I/Os. `working_set_bytes`: size of all files or devices it touches. `direct`: past the file cache of the
    operating system. `synchronous`: a thread waits for each I/O, whatever queue depth was asked for.
    `asked_in_flight`: what was asked for, where the engine cannot do it. `fill`: what is written: zeros, a pattern
    that repeats, or random. `rate_limited`: told to stay below a rate, or to think between I/Os;
    `requested_ops_per_second`: that rate, of reads and writes together.
    """

    engine: str
    engine_version: str | None = None
    in_flight: float | None = None
    asked_in_flight: float | None = None
    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    threads: int | None = None
    files: int | None = None
    working_set_bytes: float | None = None
    direct: bool | None = None
    synchronous: bool | None = None
    fill: Literal["zeros", "repeating", "random"] | None = None
    seconds: float | None = None
    warmup_seconds: float | None = None
    rate_limited: bool = False
    requested_ops_per_second: float | None = None

    @property
    def attributes(self) -> Mapping[str, Scalar]:
        """Attributes of a `load` thing; what is not known is left out."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        told["in_flight_configured"] = told.pop("in_flight")
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStep:
    """One load step as the load itself tells it; `event` marks its limits.

    `loads`: local ids of the load things that run in it. `group`: tells steps of one load apart that run at the same
    time. `offered`: I/Os kept in flight by all of them. `summary`: the load gives one figure for the whole step, no
    series. `error`: the load's own error number. `planned_seconds`: how long it was told to take, its ramp included;
    None: until it is done.
    """

    name: str
    loads: tuple[str, ...]
    offered: float | None
    block_bytes: float | None = None
    rate_limited: bool = False
    group: int = 0
    summary: bool = False
    error: int = 0
    planned_seconds: float | None = None

    def event(self, name: Literal["step-begin", "ramp-end", "step-end"], seen: int) -> Event:
        """The mark of one of its limits."""
        detail: dict[str, Scalar] = {
            "step": self.name,
            "group": self.group,
            "loads": ",".join(self.loads),
            "offered": self.offered,
            "block_bytes": self.block_bytes,
            "rate_limited": self.rate_limited,
            "error": self.error,
        }
        detail |= {"summary": True} if self.summary else {}
        detail |= {"planned_seconds": self.planned_seconds} if self.planned_seconds is not None else {}
        return Event(seen, name, detail)


def histogram(seen: int, load: str, direction: Direction, buckets: Sequence[tuple[float | None, float]]) -> Event:
    """The latency distribution of a load until `seen`: (upper bound in seconds, None: no bound; share of its I/Os) a
    bucket, in rising order."""
    written = " ".join(f"{'inf' if upper is None else f'{upper:.9g}'}:{share:.6g}" for upper, share in buckets)
    return Event(seen, "latency-histogram", {"load": load, "direction": direction, "buckets": written})


@dataclass(frozen=True, slots=True)
class WrappedCommand:
    """A load command with the status output that its reader needs.

    `output_file`: where the generator writes by the user's own option; None: standard output. Resolved against
    the working directory of the command.
    """

    argv: tuple[str, ...]
    output_file: str | None = None


class LoadReader(ABC):
    """Reads the output of a load generator that the recorder started.

    The recorder keeps the output byte for byte in the recording and feeds what was added. One reader an execution.
    `load`: what the load is called; the recorder gives a name where a load runs on several hosts, else the reader's
    own is used.
    """

    def __init__(self, load: str | None = None) -> None:
        self.load = load or ""

    @classmethod
    @abstractmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Add the status output the reader needs beside what the user asked for. Raises UsageError."""

    @abstractmethod
    def feed(self, added: bytes, seen: int) -> Iterable[Item]:
        """Parse what the generator wrote since the last call. `seen`: the clock when it was read, microseconds."""

    @abstractmethod
    def finish(self, seen: int) -> Iterable[Item]:
        """The generator has ended: close what is still open."""

    @abstractmethod
    def passthrough(self) -> bytes:
        """What the generator wrote for people since the last call, without the status documents asked for here."""

"""The results of a timespan by target, independent of the format of the file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from sanpath.model import Direction
from sanpath.plugin import LoadProfile
from sanpath_collectors.diskspd.settings import Span

ALL_TARGETS = ""
"""The path that stands for all targets of a timespan."""


@dataclass(slots=True)
class Figures:
    """Figures of one direction. `latency_sum_seconds`: the sum of all latencies; None: unknown."""

    ops: int = 0
    bytes: int = 0
    latency_sum_seconds: float | None = 0.0

    def add(self, ops: int, bytes_moved: int, mean_seconds: float | None) -> None:
        """Adds the figures of a thread. An unknown mean makes the sum unknown, unless there was no I/O."""
        self.ops += ops
        self.bytes += bytes_moved
        if ops and (mean_seconds is None or self.latency_sum_seconds is None):
            self.latency_sum_seconds = None
        elif ops and mean_seconds is not None and self.latency_sum_seconds is not None:
            self.latency_sum_seconds += ops * mean_seconds

    @property
    def mean_seconds(self) -> float | None:
        """Mean latency; None: unknown."""
        return self.latency_sum_seconds / self.ops if self.ops and self.latency_sum_seconds is not None else None


Directions = dict[Direction, Figures]
Percentiles = dict[Direction, list[tuple[float, float]]]
"""Direction → (per cent of the I/Os, their largest latency in seconds), in ascending order. 0: the fastest I/O, 100:
the slowest."""


def empty_figures() -> Directions:
    """Figures of both directions without I/O."""
    return {"read": Figures(), "write": Figures()}


@dataclass(slots=True)
class Interval:
    """One target in an interval of -D.

    `rates`: direction → I/Os per second; `latency_sums`: direction → sum of their latencies, in seconds per second.
    """

    rates: dict[Direction, float] = field(default_factory=lambda: {"read": 0.0, "write": 0.0})
    latency_sums: dict[Direction, float] = field(default_factory=lambda: {"read": 0.0, "write": 0.0})


@dataclass(slots=True)
class TargetOutcome:
    """One target with all its threads. `intervals`: end in milliseconds since the begin of the measurement →
    figures."""

    size_bytes: float | None = None
    figures: Directions = field(default_factory=empty_figures)
    intervals: dict[int, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """One load of a timespan: a target, or all of them (`path` is ALL_TARGETS)."""

    local_id: str
    path: str
    profile: LoadProfile
    outcome: TargetOutcome


@dataclass(slots=True)
class Head:
    """The run of a result. `started_us`: start of the process, UTC, microseconds since the epoch.

    None: unknown. The text format does not contain the version.
    """

    started_us: int | None = None
    version: str | None = None
    computer: str | None = None


@dataclass(slots=True)
class SpanOutcome:
    """One timespan. `totals`: sums as printed by DiskSpd; None in XML. `percentiles`: path or ALL_TARGETS →
    percentiles.

    `stated_threads`: number of threads that DiskSpd reports; `threads`: threads with results. `interrupted_early`: it
    was interrupted before the measurement began. `missing`: which results are missing in a truncated file.
    `busy_ratio`: share of time that the processors were busy; None: unknown. `core_ratios`: the same of each
    processor. `row_seconds`: duration by the rate of a thread; `lacks_totals`: the rows of a table were summed up,
    because its total row is missing. `cut_table`: the table of a direction that lacks rows, and was filled in from
    the sums of both directions; "": none.
    """

    number: int
    head: Head = field(default_factory=Head)
    settings: Span = field(default_factory=Span)
    seconds: float | None = None
    stated_threads: int | None = None
    stated_requests: int | None = None
    threads: set[str] = field(default_factory=set)
    targets: dict[str, TargetOutcome] = field(default_factory=dict)
    totals: Directions | None = None
    percentiles: dict[str, Percentiles] = field(default_factory=dict)
    interrupted_early: bool = False
    missing: Literal["", "latencies", "directions", "other direction", "figures"] = ""
    row_seconds: float | None = None
    lacks_totals: bool = False
    cut_table: str = ""
    busy_ratio: float | None = None
    core_ratios: list[float] = field(default_factory=list)

    @property
    def sums(self) -> Directions:
        """Figures of all targets together."""
        sums = empty_figures()
        for target in self.targets.values():
            for direction, figures in target.figures.items():
                sums[direction].add(figures.ops, figures.bytes, figures.mean_seconds)
        return sums

    @property
    def adds_up(self) -> bool:
        """Whether the sums of the rows equal the totals within 1 %."""
        return self.totals is None or all(
            abs(row_sum - total) <= 0.01 * total
            for direction, figures in self.sums.items()
            for row_sum, total in (
                (figures.ops, self.totals[direction].ops),
                (figures.bytes, self.totals[direction].bytes),
            )
        )

    @property
    def configured_threads(self) -> int | None:
        """Number of threads in the settings; None: unknown."""
        return self._configured_profile(ALL_TARGETS).threads

    def profile(self, path: str = ALL_TARGETS) -> LoadProfile:
        """The profile of one target, or of all. I/Os in flight are unknown if not all configured threads ran."""
        profile = self._configured_profile(path)
        as_configured = self.stated_threads in (None, self.configured_threads)
        return profile if as_configured else replace(profile, in_flight=None, asked_in_flight=None)

    def _configured_profile(self, path: str) -> LoadProfile:
        settings = self.settings.with_targets_for(self.targets)
        paths = {target.path for target in settings.targets} or set(self.targets)
        targets = {name: target for name, target in self.targets.items() if path in (ALL_TARGETS, name)}
        sizes = {name: target.size_bytes for name, target in targets.items() if target.size_bytes}
        return settings.profile(paths if path == ALL_TARGETS else {path}, self.head.version, sizes)

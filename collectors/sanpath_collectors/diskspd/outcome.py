"""What a timespan came to, target by target, whichever form it was written in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from sanpath.model import Direction
from sanpath.plugin import LoadProfile
from sanpath_collectors.diskspd.settings import Span

WHOLE = ""
"""Stands for all targets of a timespan, where a path stands for one of them."""


@dataclass(slots=True)
class Figures:
    """One direction. `waited_seconds`: the sum of all latencies, None: not told."""

    ops: int = 0
    bytes: int = 0
    waited_seconds: float | None = 0.0

    def add(self, ops: int, bytes_moved: int, mean_seconds: float | None) -> None:
        """A thread's share. A mean that is not told makes the sum unknown, but where there was no I/O."""
        self.ops += ops
        self.bytes += bytes_moved
        if ops and (mean_seconds is None or self.waited_seconds is None):
            self.waited_seconds = None
        elif ops and mean_seconds is not None and self.waited_seconds is not None:
            self.waited_seconds += ops * mean_seconds

    @property
    def mean_seconds(self) -> float | None:
        """Mean latency; None: not told."""
        return self.waited_seconds / self.ops if self.ops and self.waited_seconds is not None else None


Directions = dict[Direction, Figures]
Percentiles = dict[Direction, list[tuple[float, float]]]
"""Direction → (percent of the I/Os, latency in seconds that they stay within), in rising order; 0: the fastest,
100: the slowest."""


def both() -> Directions:
    """Nothing yet, in either direction."""
    return {"read": Figures(), "write": Figures()}


@dataclass(slots=True)
class Interval:
    """One target in an interval of -D. `rates`: direction → I/Os a second; `waits`: their latencies summed up,
    seconds a second."""

    rates: dict[Direction, float] = field(default_factory=lambda: {"read": 0.0, "write": 0.0})
    waits: dict[Direction, float] = field(default_factory=lambda: {"read": 0.0, "write": 0.0})


@dataclass(slots=True)
class TargetOutcome:
    """One target, all its threads. `intervals`: end, milliseconds since the measured part began → what was done."""

    size_bytes: float | None = None
    figures: Directions = field(default_factory=both)
    intervals: dict[int, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Load:
    """One load of a timespan: a target, or all of them. `path`: WHOLE for the latter."""

    local_id: str
    path: str
    profile: LoadProfile
    outcome: TargetOutcome


@dataclass(slots=True)
class Head:
    """What a result says of the run. `started_us`: start of the process, UTC, microseconds since the epoch. None: not
    told, as the version in the text."""

    started_us: int | None = None
    version: str | None = None
    computer: str | None = None


@dataclass(slots=True)
class SpanOutcome:
    """One timespan. `totals`: what DiskSpd itself summed up, None in XML. `percentiles`: path or WHOLE → told.

    `stated_threads`: how many ran, as DiskSpd says; `threads`: those that have results. `unmeasured`: interrupted
    before the measured part began. `cut`: what of it is missing.
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
    unmeasured: bool = False
    cut: Literal["", "latencies", "figures"] = ""

    @property
    def sums(self) -> Directions:
        """All targets together."""
        sums = both()
        for target in self.targets.values():
            for direction, figures in target.figures.items():
                sums[direction].add(figures.ops, figures.bytes, figures.mean_seconds)
        return sums

    @property
    def adds_up(self) -> bool:
        """Whether the rows come to the totals, within 1 %."""
        return self.totals is None or all(
            abs(mine - its) <= 0.01 * its
            for direction, figures in self.sums.items()
            for mine, its in (
                (figures.ops, self.totals[direction].ops),
                (figures.bytes, self.totals[direction].bytes),
            )
        )

    @property
    def asked_threads(self) -> int | None:
        """How many threads the settings come to."""
        return self._told(WHOLE).threads

    def profile(self, path: str = WHOLE) -> LoadProfile:
        """What one target, or all of them, were told. Not the I/Os in flight when other threads ran than those."""
        profile = self._told(path)
        as_told = self.stated_threads in (None, self.asked_threads)
        return profile if as_told else replace(profile, in_flight=None, asked_in_flight=None)

    def _told(self, path: str) -> LoadProfile:
        settings = self.settings.covering(self.targets)
        told = {target.path for target in settings.targets} or set(self.targets)
        here = {name: target for name, target in self.targets.items() if path in (WHOLE, name)}
        sizes = {name: target.size_bytes for name, target in here.items() if target.size_bytes}
        return settings.profile(told if path == WHOLE else {path}, self.head.version, sizes)

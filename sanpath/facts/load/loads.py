"""Facts of the load: throughput, latency and I/Os in flight, for each step and direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isclose, sqrt
from statistics import fmean
from typing import Literal

import numpy as np
import numpy.typing as npt

from sanpath.facts.load.access import UNKNOWN_ACCESS, Access
from sanpath.facts.samples.cumulative import Numbers
from sanpath.facts.samples.slow_windows import Stalls, stalls, whole_windows
from sanpath.model import Direction, Scalar
from sanpath.topology.topology import Topology

FLAT = 0.05
"""Throughput that changes less between two loads is flat."""
SAME_THROUGHPUT = 0.06
"""Throughputs of two steps whose ratio differs from 1 by less have the same limit."""
AT_LEAST_AS_FAST = 0.97
"""From this share of another step's throughput on, a step is no slower."""
SINGLE_DIRECTION = 0.99
"""A direction with at least this share of the operations stands for the test."""
SAME_SIZE = 0.1
"""I/Os whose mean sizes differ by less count as the same: the means of a mix of sizes scatter."""

_QUARTER = 2
"""A quarter of a step needs this many windows, or its mean may be chance."""
_SAME_TRAFFIC_RATIO = 0.05
"""Bytes of two sources that differ by a smaller ratio are the same traffic (rounding, clock edges)."""
CLEARLY_MORE = 1.3
"""Loads whose outstanding I/Os differ by a smaller factor are the same load."""
_AS_MANY = 0.8
"""Share of the outstanding I/Os of another load that counts as no fewer: where everything slows down, fewer are
outstanding for the same setting."""
_AS_LARGE = 0.8
"""Ratio of the shares that a part has of all I/Os in flight in two steps, from which they are as large: sanpath's own
choice."""
_OTHER_TARGETS = 1.5
"""Ratio of the latencies of the targets that a step adds and of the others from which they are of another kind:
sanpath's own choice."""
_WITHOUT_DEPTH = ("Jetstress",)
"""Generators that are given threads, each of which runs transactions of a database with I/Os of their own number."""
_IMPOSSIBLE = 10.0
"""I/Os in flight over those that were configured from which figures contradict each other: fewer may be those of jobs
or threads that were not counted. sanpath's own choice."""
AT_MOST_HALF = 0.55
"""One half, plus a tolerance for measured numbers of I/Os in flight."""


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """One direction of the test's load in one step, all its jobs together.

    `roots`: the loads that these jobs belong to; one, unless several hosts or generators run at once.
    `in_flight_configured` is that of both directions: fio and similar generators do not have a number for each.
    `in_flight_measured` = throughput x latency (Little's law, N = X R). Percentiles are None where several jobs
    ran: they cannot be added; `slowest_seconds` is that of the slowest job. `throughput_spread`: relative standard
    error of the mean over the windows, None with fewer than two. `latency_interval`: bounds of the mean latency where
    the load truncates it, None: it is exact. `summary`: a job reported a single figure for the entire step, so that
    its windows mean nothing. `jobs`: the jobs themselves. `series` and `latency_series`: (I/Os a second, seconds)
    and (mean latency, seconds) of each window, by its block device where the load gives one figure.
    `summary_seconds`: the shortest time that a job's single figure covers, None: no job reports one. `variation`: the
    experiment of a probe that changed more than the number of I/Os in flight; "": none. `access`: how the jobs were
    configured to access their data. `flushes_in_flight`, `metadata_in_flight`: flushes, and operations on files that
    move no data, that the jobs wait for on average (Little's law). `active_ratio`: share of the configured I/Os that
    the jobs could keep in flight in the mean over the step; below 1, some of them began later or ended before the
    others. `tail_shares`: (a part of each job's I/Os, the least share of the time that as many of its slowest take),
    empty: a job reports no percentiles. `is_mean_of_both`: its latency follows from both directions' I/Os together,
    so that the split is not known. `unlimited_ratio`: share of their configured I/Os that the jobs without a rate
    keep in flight, of both directions, if these hold most; None: no job has a rate, or all have, or it is not known
    of one. `throughput_deviation_ratio`, `throughput_max_ratio`: standard deviation and largest of its throughput
    between half seconds, over its mean; None: several jobs ran, or the load does not report it. `seen_at_array`:
    nothing but an array counts its I/Os, from their arrival on: those that wait above it are neither in its latency
    nor in its I/Os in flight. `failed_operations`: I/Os of both directions that failed; None: not counted. `whole`:
    the load that this is a part of; None: it is no part. `before`: what it did at its beginning, which is left out as
    a ramp although nothing marks it as one; None: not known. `in_all`: of slow periods, what it did in all of their
    step; None: it is that of all. `latency_of_targets`: the LUNs that its jobs use, or the hosts where these are not
    known, → the mean latency of the I/Os there, seconds; empty: not known of a job.
    """

    roots: tuple[str, ...]
    step: str
    direction: Direction
    windows: int
    ops_per_second: float
    bytes_per_second: float
    latency_seconds: float
    in_flight_configured: float | None
    in_flight_measured: float
    cpu_ratio: float | None
    p50_seconds: float | None = None
    p95_seconds: float | None = None
    p99_seconds: float | None = None
    slowest_seconds: float | None = None
    throughput_spread: float | None = None
    latency_interval: tuple[float, float] | None = None
    summary: bool = False
    jobs: tuple[str, ...] = ()
    series: tuple[tuple[float, float], ...] = ()
    latency_series: tuple[tuple[float, float], ...] = ()
    summary_seconds: float | None = None
    variation: str = ""
    access: Access = UNKNOWN_ACCESS
    flushes_in_flight: float = 0.0
    metadata_in_flight: float = 0.0
    active_ratio: float = 1.0
    tail_shares: tuple[tuple[float, float], ...] = ()
    is_mean_of_both: bool = False
    unlimited_ratio: float | None = None
    throughput_deviation_ratio: float | None = None
    throughput_max_ratio: float | None = None
    seen_at_array: bool = False
    failed_operations: float | None = None
    whole: LoadFacts | None = None
    before: LoadFacts | None = None
    in_all: LoadFacts | None = field(default=None, compare=False)
    latency_of_targets: Mapping[tuple[str, ...], float] = field(default_factory=dict, compare=False)

    @property
    def seconds(self) -> float | None:
        """How long the load was sampled in the step; None: not known."""
        sampled = sum(seconds for _, seconds in self.series) or None
        return self.summary_seconds or sampled if self.summary else sampled or self.summary_seconds

    @property
    def is_impossible(self) -> bool:
        """Whether its figures contradict each other: a closed loop never has many times the I/Os in flight that it
        was given (Little's law). Then none of them can be trusted, and nothing is concluded from it."""
        return self.in_flight_measured > _IMPOSSIBLE * (self.in_flight_configured or inf)

    @property
    def seen_at_host(self) -> bool:
        """Whether nothing but a host counts its I/Os: those of all programs on it."""
        return any(root.startswith(("host:", "vm:")) for root in self.roots)

    def filled_ratio(self, in_flight: float) -> float | None:
        """Return the I/Os in flight, of both directions, over those that the load could keep there. None: unknown.

        A job that has ended keeps none. When it ended is seen only as closely as the windows of its counters: if the
        I/Os in flight lie between what that leaves and all that were configured, they were all that it could keep.
        """
        configured = self.in_flight_configured
        if not configured:
            return None
        return in_flight / min(configured, max(configured * self.active_ratio, in_flight))

    @property
    def quarters(self) -> tuple[float, float] | None:
        """Operations a second in the first and in the last quarter of the windows; None: too few windows."""
        quarter = len(self.series) // 4
        if quarter < _QUARTER:
            return None
        first, last = (
            sum(ops * seconds for ops, seconds in quarter_windows) / sum(seconds for _, seconds in quarter_windows)
            for quarter_windows in (self.series[:quarter], self.series[-quarter:])
        )
        return first, last

    @property
    def windows_with_latency(self) -> list[tuple[float, float, float]]:
        """(I/Os a second, mean latency, seconds) of each window, joined as of whole_windows. Empty: throughput and
        latency have other windows."""
        operations, in_flight, seconds, _ = self.whole_windows()
        latency = in_flight / np.where(operations > 0, operations, 1.0)
        return list(zip(operations.tolist(), latency.tolist(), seconds.tolist(), strict=True))

    @property
    def stalls(self) -> Stalls | None:
        """What it costs that outstanding I/Os stand still for a while. None: nothing, or too few windows tell."""
        return stalls(*self.whole_windows())

    def whole_windows(self) -> tuple[Numbers, Numbers, Numbers, npt.NDArray[np.bool_]]:
        """Return I/Os a second, outstanding I/Os, seconds of each window, and whether it was joined from several."""
        operations, seconds = np.array(self.series).reshape(-1, 2).T
        if np.count_nonzero(operations) != len(self.latency_series):
            operations = seconds = operations[:0]
        in_flight = np.zeros_like(operations)
        latencies = np.array(self.latency_series).reshape(-1, 2)[: len(operations), 0]
        in_flight[operations > 0] = operations[operations > 0] * latencies
        limits, done, waited = (
            np.concatenate(([0.0], np.cumsum(each))) for each in (seconds, operations * seconds, in_flight * seconds)
        )
        left = whole_windows(limits, waited, self.in_flight_configured)
        lengths = np.diff(limits[left])
        return np.diff(done[left]) / lengths, np.diff(waited[left]) / lengths, lengths, np.diff(left) > 1

    @property
    def held_throughput(self) -> float | None:
        """Throughput in the last quarter of the windows over that in the first. None: too few windows."""
        quarters = self.quarters
        return quarters[1] / quarters[0] if quarters is not None and quarters[0] else None

    @property
    def entity(self) -> str:
        """Name of the load; of several loads, their names joined by a plus sign."""
        return self.roots[0] if len(self.roots) == 1 else f"load:{'+'.join(r.partition(':')[2] for r in self.roots)}"

    @property
    def cycle_seconds(self) -> float:
        """Mean latency and, of writes, the flushes that follow each of them."""
        flushes = self.flushes_in_flight / self.ops_per_second if self.direction == "write" else 0.0
        return self.latency_seconds + flushes

    @property
    def outstanding(self) -> float:
        """I/Os in flight, and the flushes that the load waits for."""
        return self.in_flight_measured + self.flushes_in_flight

    @property
    def latency_bounds(self) -> tuple[float, float]:
        """Lowest and highest mean latency in seconds: the same twice where it is exact."""
        return self.latency_interval or (self.latency_seconds, self.latency_seconds)

    @property
    def latency_error_ratio(self) -> float:
        """How far the mean latency may be from its middle, as a ratio; 0 where it is exact."""
        low, high = self.latency_bounds
        return (high - low) / 2 / self.latency_seconds

    @property
    def operation_bytes(self) -> float | None:
        """Mean size of an I/O. None: the load counts no bytes."""
        return self.bytes_per_second / self.ops_per_second or None

    def sampling_error(self, windows: int) -> float:
        """Return how far another source's mean over this many windows may lie from the step's mean throughput: two
        standard errors, as a ratio. 0 if the load reports too few windows.

        Entire windows leave out up to the length of one at either edge of the step. The mean over n of N equal parts
        differs from the mean over all N parts by the standard error of the latter times sqrt(N / n - 1) (Cochran,
        Sampling Techniques, 1977, section 2.5); here N / n is (windows + 2) / windows."""
        return 2 * (self.throughput_spread or 0.0) * sqrt(2 / max(1, windows))

    def same_traffic_tolerance(self, windows: int) -> float:
        """Return how far another source's throughput over this many windows may differ, as a ratio, if both count the
        same I/Os."""
        return max(_SAME_TRAFFIC_RATIO, self.sampling_error(windows))

    def most_beyond(self, bytes_per_second: float) -> float:
        """Return by how many bytes any consecutive windows exceed what this rate moves in the same time, at most."""
        most = running = 0.0
        for operations, seconds in self.series:
            moved = operations * (self.operation_bytes or 0.0) - bytes_per_second
            running = max(0.0, running + moved * seconds)
            most = max(most, running)
        return most

    @property
    def share_of_whole(self) -> float:
        """Return the share of the I/Os in flight of the load that this is a part of; 1: it is none, or has none."""
        all_in_flight = 0.0 if self.whole is None else self.whole.in_flight_measured
        return self.in_flight_measured / all_in_flight if all_in_flight else 1.0

    def comparable(self, other: LoadFacts) -> bool:
        """Return whether the two loads differ only in the number of I/Os in flight. Only then do they show the effect
        of more I/Os."""
        fewer, more = sorted((self, other), key=lambda load: load.in_flight_measured)
        if more.share_of_whole < _AS_LARGE * fewer.share_of_whole:
            return False  # The other parts of the test have more I/Os as well, and take from this one.
        same_conditions = self.direction == other.direction and self.variation == other.variation
        return same_conditions and self.same_size(other) and self.same_data(other)

    def same_size(self, other: LoadFacts) -> bool:
        """Return whether the I/Os of both have the same size in the mean."""
        return isclose(self.operation_bytes or 0.0, other.operation_bytes or 0.0, rel_tol=SAME_SIZE)

    def same_data(self, other: LoadFacts, apart_from: Literal["", "read_ratio", "align_bytes"] = "") -> bool:
        """Return whether both access the same data alike: what another size, or direction, changes shows only then.
        `apart_from`: what follows from that other size or direction."""
        is_possible = not (self.is_impossible or other.is_impossible) or self == other
        return is_possible and self.access.is_like(other.access, apart_from) and _same_targets(self, other)

    def asks_for_more_than(self, other: LoadFacts) -> bool:
        """Return whether this load was given more outstanding I/Os: as configured, or as measured if that is not
        known of both. Where everything slows down, fewer may be outstanding although more were given."""
        own, its = self.in_flight_configured, other.in_flight_configured
        if own is None or its is None:
            own, its = self.in_flight_measured, other.in_flight_measured
        return own >= CLEARLY_MORE * its

    def at_least_as_many(self, other: LoadFacts) -> bool:
        """Return whether this load has no fewer I/Os in flight than the other."""
        return self.outstanding >= _AS_MANY * other.outstanding

    def at_most_half(self, other: LoadFacts) -> bool:
        """Return whether this load has at most half as many I/Os in flight as the other."""
        return self.in_flight_measured <= AT_MOST_HALF * other.in_flight_measured


def _same_targets(load: LoadFacts, other: LoadFacts) -> bool:
    """Return whether two loads use the same targets, or one of them adds targets of the same kind. What is not known
    counts as the same."""
    one, two = ({target for targets in each.latency_of_targets for target in targets} for each in (load, other))
    if not one or not two or one == two:
        return True
    if not (one < two or two < one):
        return False
    more, fewer = (other, one) if one < two else (load, two)
    added, others = (
        [seconds for targets, seconds in more.latency_of_targets.items() if fewer.isdisjoint(targets) == is_added]
        for is_added in (True, False)
    )
    return (
        not added or not others or max(fmean(added) / fmean(others), fmean(others) / fmean(added)) <= _OTHER_TARGETS
    )


def flat_over_load(loads: Sequence[LoadFacts], load: LoadFacts) -> LoadFacts | None:
    """Return a load with at most half as many of the same I/Os in flight and the same throughput; None: there is
    none."""
    for candidate in loads:
        is_flat = abs(candidate.ops_per_second / load.ops_per_second - 1) <= FLAT
        if is_flat and candidate.comparable(load) and candidate.at_most_half(load):
            return candidate
    return None


def flat_beyond(loads: Sequence[LoadFacts], load: LoadFacts) -> LoadFacts | None:
    """Return a load with at least twice as many of the same I/Os in flight and no more throughput; None: there is
    none."""
    for candidate in loads:
        no_more = candidate.ops_per_second <= load.ops_per_second * (1 + FLAT)
        if no_more and candidate.comparable(load) and load.at_most_half(candidate):
            return candidate
    return None


def sets_depth(topology: Topology, loads: Iterable[str]) -> bool:
    """Return whether a person can set how many I/Os these loads keep outstanding, and of which size."""
    entities = (topology.entities[load] for load in loads if load in topology.entities)
    return not any(entity.attributes.get("engine") in _WITHOUT_DEPTH for entity in entities)


def job_attributes(topology: Topology, load: LoadFacts) -> dict[str, Scalar]:
    """The attributes of the step's job. Empty: there are several jobs, or no source describes one."""
    entities = topology.entities
    jobs = [f"{root}/{load.step}" for root in load.roots if f"{root}/{load.step}" in entities] or list(load.roots)
    return dict(entities[jobs[0]].attributes) if len(jobs) == 1 and jobs[0] in entities else {}

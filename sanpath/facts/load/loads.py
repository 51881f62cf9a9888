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
"""Relative change of throughput below which two loads are flat."""
SAME_THROUGHPUT = 0.06
"""Distance of a throughput ratio from 1 below which two steps have the same limit."""
AT_LEAST_AS_FAST = 0.97
"""Share of another step's throughput from which a step is not slower."""
SINGLE_DIRECTION = 0.99
"""A direction with at least this share of the operations stands for the test."""
SAME_SIZE = 0.1
"""Relative difference of mean sizes below which I/Os have the same size: the means of a mix of sizes scatter."""

_QUARTER = 2
"""Fewest windows of a quarter of a step: with fewer, its mean may be chance."""
_SAME_TRAFFIC_RATIO = 0.05
"""Bytes of two sources that differ by a smaller ratio are the same traffic (rounding, clock edges)."""
CLEARLY_MORE = 1.3
"""Factor of outstanding I/Os below which two loads are the same load."""
_SAME_IN_FLIGHT_RATIO = 0.8
"""Share of another load's outstanding I/Os that counts as no fewer: if everything slows down, fewer are outstanding
for the same setting."""
_SAME_SHARE_RATIO = 0.8
"""Ratio of a part's shares of all I/Os in flight in two steps from which the part is equally large: sanpath's own
choice."""
_TARGETS_RATIO = 1.5
"""Ratio of latencies from which the targets that a step adds are of another kind than the others: sanpath's own
choice."""
_TRANSACTION_ENGINES = ("Jetstress",)
"""Generators with a number of threads; each thread runs database transactions with a number of I/Os of their own."""
_IMPOSSIBLE_RATIO = 10.0
"""Ratio of measured to configured I/Os in flight from which figures contradict each other: a smaller ratio may come
from uncounted jobs or threads. sanpath's own choice."""
AT_MOST_HALF = 0.55
"""One half, plus a tolerance for measured numbers of I/Os in flight."""


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """One direction of the test's load in one step, all its jobs together.

    `roots`: the loads that these jobs belong to; one, unless several hosts or generators run at once.
    `in_flight_configured` is the number for both directions: fio and similar generators have none for each.
    `in_flight_measured` = throughput x latency (Little's law, N = X R). Percentiles are None if several jobs ran,
    because percentiles cannot be added; `slowest_seconds` is the slowest job's. `throughput_spread`: relative
    standard error of the mean over the windows, None with fewer than two. `latency_interval`: bounds of the mean
    latency if the load truncates it, None: it is exact. `summary`: a job reported a single figure for the entire
    step, so its windows mean nothing; `summary_seconds`: the shortest time that such a figure covers, None: no job
    reports one. `jobs`: the jobs themselves. `series` and `latency_series`: (I/Os a second, seconds) and (mean
    latency, seconds) of each window, from its block device if the load gives a single figure. `variation`: the
    experiment of a probe that changed more than the number of I/Os in flight; "": none. `access`: how the jobs were
    configured to access their data. `flushes_in_flight`, `metadata_in_flight`: mean numbers of flushes, and of file
    operations without data, that the jobs wait for (Little's law). `active_ratio`: share of the configured I/Os that
    the jobs could keep in flight, averaged over the step; below 1, some jobs began later or ended earlier than
    others. `tail_shares`: (a share of each job's I/Os, the smallest share of the time that its slowest I/Os of that
    number take), empty: a job reports no percentiles. `is_mean_of_both`: its latency is computed from both
    directions' I/Os together, so the split is not known. `unlimited_ratio`: share of their configured I/Os, of both
    directions, that the jobs without a rate keep in flight, if these jobs hold most I/Os; None: no job has a rate, or
    all have, or it is not known for one. `throughput_deviation_ratio`, `throughput_max_ratio`: standard deviation and
    maximum of its throughput between half seconds, over its mean; None: several jobs ran, or the load does not report
    it. `seen_at_array`: only an array counts its I/Os, from their arrival on: waits above the array are neither in
    its latency nor in its I/Os in flight. `failed_operations`: failed I/Os of both directions; None: not counted.
    `whole`: the load that this is a part of; None: it is not a part. `beginning`: its activity at the beginning of
    the step, which is left out as an unmarked ramp; None: not known. `whole_step`: for slow periods, its activity in
    the whole step; None: this is the whole step. `latency_of_targets`: the LUNs that its jobs use (or the hosts, if
    these are not known) → the mean latency of the I/Os there, seconds; empty: not known for a job.
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
    beginning: LoadFacts | None = None
    whole_step: LoadFacts | None = field(default=None, compare=False)
    latency_of_targets: Mapping[tuple[str, ...], float] = field(default_factory=dict, compare=False)

    @property
    def seconds(self) -> float | None:
        """How long the load was sampled in the step; None: not known."""
        sampled = sum(seconds for _, seconds in self.series) or None
        return self.summary_seconds or sampled if self.summary else sampled or self.summary_seconds

    @property
    def is_impossible(self) -> bool:
        """Whether its figures contradict each other: a closed loop never has many times its configured I/Os in flight
        (Little's law). Then none of the figures can be trusted, and nothing is concluded from them."""
        return self.in_flight_measured > _IMPOSSIBLE_RATIO * (self.in_flight_configured or inf)

    @property
    def seen_at_host(self) -> bool:
        """Whether only a host counts its I/Os: those of all programs on it."""
        return any(root.startswith(("host:", "vm:", "lun:")) for root in self.roots)

    def filled_ratio(self, in_flight: float) -> float | None:
        """Return the I/Os in flight, of both directions, over those that the load could keep in flight. None:
        unknown.

        A finished job keeps none. Its end is known only to a window of its counters. If the I/Os in flight are
        between the number that this leaves and all configured I/Os, they were all that the load could keep.
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
        """(I/Os a second, mean latency, seconds) of each window, joined as in whole_windows. Empty: throughput and
        latency have different windows."""
        operations, in_flight, seconds, _ = self.whole_windows()
        latency = in_flight / np.where(operations > 0, operations, 1.0)
        return list(zip(operations.tolist(), latency.tolist(), seconds.tolist(), strict=True))

    @property
    def stalls(self) -> Stalls | None:
        """The cost of stalls of outstanding I/Os. None: there is none, or there are too few windows."""
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
        return self.outstanding / self.ops_per_second if self.direction == "write" else self.latency_seconds

    @property
    def outstanding(self) -> float:
        """I/Os in flight, and the flushes that the load waits for."""
        return self.with_flushes(self.in_flight_measured)

    def with_flushes(self, in_flight: float) -> float:
        """Return a number of I/Os in flight, of one direction or both, and the flushes that the load waits for.

        An asynchronous engine of fio times a flush from when it is queued behind the writes, so the time of these
        writes counts twice. So the sum is limited to what the load may keep outstanding, unless its I/Os alone are
        more.
        """
        total = in_flight + self.flushes_in_flight
        return max(in_flight, min(total, self.in_flight_configured or total))

    @property
    def latency_bounds(self) -> tuple[float, float]:
        """Lowest and highest mean latency in seconds: the same twice where it is exact."""
        return self.latency_interval or (self.latency_seconds, self.latency_seconds)

    @property
    def latency_error_ratio(self) -> float:
        """Relative error of the mean latency; 0 if it is exact."""
        low, high = self.latency_bounds
        return (high - low) / 2 / self.latency_seconds

    @property
    def operation_bytes(self) -> float | None:
        """Mean size of an I/O. None: the load counts no bytes."""
        return self.bytes_per_second / self.ops_per_second or None

    def sampling_error(self, windows: int) -> float:
        """Return how far another source's mean over this many windows may differ from the step's mean throughput: two
        standard errors, as a ratio. 0 if the load reports too few windows.

        Entire windows leave out up to one window at either edge of the step. The mean over n of N equal parts differs
        from the mean over all N parts by the standard error of the latter times sqrt(N / n - 1) (Cochran, Sampling
        Techniques, 1977, section 2.5); here N / n is (windows + 2) / windows.
        """
        return 2 * (self.throughput_spread or 0.0) * sqrt(2 / max(1, windows))

    def same_traffic_tolerance(self, windows: int) -> float:
        """Return the relative difference up to which another source's throughput over this many windows may count the
        same I/Os."""
        return max(_SAME_TRAFFIC_RATIO, self.sampling_error(windows))

    def most_beyond(self, bytes_per_second: float) -> float:
        """Return the largest number of bytes by which any consecutive windows exceed this rate."""
        most = running = 0.0
        for operations, seconds in self.series:
            moved = operations * (self.operation_bytes or 0.0) - bytes_per_second
            running = max(0.0, running + moved * seconds)
            most = max(most, running)
        return most

    @property
    def share_of_whole(self) -> float:
        """Return this part's share of the whole load's I/Os in flight; 1: it is not a part, or has none."""
        all_in_flight = 0.0 if self.whole is None else self.whole.in_flight_measured
        return self.in_flight_measured / all_in_flight if all_in_flight else 1.0

    def comparable(self, other: LoadFacts) -> bool:
        """Return whether the two loads differ only in the number of I/Os in flight. Only then do they show the effect
        of more I/Os."""
        fewer, more = sorted((self, other), key=lambda load: load.in_flight_measured)
        if more.share_of_whole < _SAME_SHARE_RATIO * fewer.share_of_whole:
            return False  # The other parts of the test have more I/Os as well, and take capacity from this one.
        same_conditions = self.direction == other.direction and self.variation == other.variation
        return same_conditions and self.same_size(other) and self.same_data(other)

    def same_size(self, other: LoadFacts) -> bool:
        """Return whether the I/Os of both have the same size on average."""
        return isclose(self.operation_bytes or 0.0, other.operation_bytes or 0.0, rel_tol=SAME_SIZE)

    def same_data(self, other: LoadFacts, apart_from: Literal["", "read_ratio", "align_bytes"] = "") -> bool:
        """Return whether both access the same data alike: only then is a difference the effect of another size or
        direction. `apart_from`: a field that follows from that size or direction."""
        is_possible = not (self.is_impossible or other.is_impossible) or self == other
        return is_possible and self.access.is_like(other.access, apart_from) and _same_targets(self, other)

    def asks_for_more_than(self, other: LoadFacts) -> bool:
        """Return whether this load was given more outstanding I/Os: as configured, or as measured if not both are
        known. If everything slows down, fewer may be outstanding although more were configured."""
        own, its = self.in_flight_configured, other.in_flight_configured
        if own is None or its is None:
            own, its = self.in_flight_measured, other.in_flight_measured
        return own >= CLEARLY_MORE * its

    def at_least_as_many(self, other: LoadFacts) -> bool:
        """Return whether this load has no fewer I/Os in flight than the other."""
        return self.outstanding >= _SAME_IN_FLIGHT_RATIO * other.outstanding

    def at_most_half(self, other: LoadFacts) -> bool:
        """Return whether this load has at most half as many I/Os in flight as the other."""
        return self.in_flight_measured <= AT_MOST_HALF * other.in_flight_measured


def _same_targets(load: LoadFacts, other: LoadFacts) -> bool:
    """Return whether two loads use the same targets, or one of them adds targets of the same kind. Unknown targets
    count as the same."""
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
        not added or not others or max(fmean(added) / fmean(others), fmean(others) / fmean(added)) <= _TARGETS_RATIO
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
    return not any(entity.attributes.get("engine") in _TRANSACTION_ENGINES for entity in entities)


def job_attributes(topology: Topology, load: LoadFacts) -> dict[str, Scalar]:
    """The attributes of the step's job. Empty: there are several jobs, or no source describes one."""
    entities = topology.entities
    jobs = [f"{root}/{load.step}" for root in load.roots if f"{root}/{load.step}" in entities] or list(load.roots)
    return dict(entities[jobs[0]].attributes) if len(jobs) == 1 and jobs[0] in entities else {}

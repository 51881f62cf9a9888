"""Facts of the load: throughput, latency and I/Os in flight, a step and direction each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, sqrt
from statistics import mean, stdev

import numpy as np

from sanpath.facts.samples.cumulative import work
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.topology.identity import Topology

FLAT = 0.05
"""Throughput that changes less between two loads is flat."""
SAME_SIZE = 0.1
"""I/Os whose mean sizes differ by less are of one kind: the means of a mix of sizes scatter."""
_QUARTER = 2
"""Windows of a quarter of a step that tell it from chance."""
HALF = 0.55
"""Half as many in flight, as measured: a step of 64 reads 63.9 beside one of 128."""


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """One direction of the test's load in one step, all its jobs together.

    `roots`: the loads whose jobs these are, one unless several hosts or generators run at once.
    `in_flight_configured` is that of the whole step: fio and its kin do not keep a number a direction.
    `in_flight_measured` = throughput x latency (Little's law, N = X R). Percentiles are None where several jobs ran:
    they cannot be added. `throughput_spread`: relative standard error of the mean over the windows, None with fewer
    than two. `latency_interval`: bounds of the mean latency where the load tells it cut off, None: it is exact.
    `summary`: a job gave one figure for the whole step, so that its windows count for nothing. `jobs`: the loads
    proper. `series` and `latency_series`: (I/Os a second, seconds) and (mean latency, seconds) of each window.
    `whole_seconds`: the shortest time that a job's one figure is of, None: none gives one.
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
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None
    throughput_spread: float | None = None
    latency_interval: tuple[float, float] | None = None
    summary: bool = False
    jobs: tuple[str, ...] = ()
    series: tuple[tuple[float, float], ...] = ()
    latency_series: tuple[tuple[float, float], ...] = ()
    whole_seconds: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long the load was observed in the step; None: not known."""
        return sum(seconds for _, seconds in self.series) or self.whole_seconds

    @property
    def quarters(self) -> tuple[float, float] | None:
        """Operations a second in the first quarter of the windows and in the last; None: too few windows to tell."""
        quarter = len(self.series) // 4
        if quarter < _QUARTER:
            return None
        first, last = (
            sum(ops * seconds for ops, seconds in part) / sum(seconds for _, seconds in part)
            for part in (self.series[:quarter], self.series[-quarter:])
        )
        return first, last

    @property
    def held_throughput(self) -> float | None:
        """Throughput in the last quarter of the windows over that in the first. None: too few windows to tell."""
        quarters = self.quarters
        return quarters[1] / quarters[0] if quarters is not None and quarters[0] else None

    @property
    def entity(self) -> str:
        """What the load is called: the one it is, or all of them together."""
        return self.roots[0] if len(self.roots) == 1 else f"load:{'+'.join(r.partition(':')[2] for r in self.roots)}"

    @property
    def operation_bytes(self) -> float | None:
        """Mean size of an I/O. None: the load counts no bytes."""
        return self.bytes_per_second / self.ops_per_second or None

    def comparable(self, other: LoadFacts) -> bool:
        """Whether both are the same I/O but for its number: only then throughput and latency tell what more does."""
        sizes = self.operation_bytes or 0.0, other.operation_bytes or 0.0
        return self.direction == other.direction and isclose(*sizes, rel_tol=SAME_SIZE)

    def at_most_half(self, other: LoadFacts) -> bool:
        """Whether this load keeps at most half as many I/Os in flight as the other."""
        return self.in_flight_measured <= HALF * other.in_flight_measured


def flat_over_load(loads: Sequence[LoadFacts], load: LoadFacts) -> LoadFacts | None:
    """A step with at most half as many of the same I/Os in flight and the same throughput; None: there is none."""
    for other in loads:
        same = abs(other.ops_per_second / load.ops_per_second - 1) <= FLAT
        if same and other.comparable(load) and other.at_most_half(load):
            return other
    return None


def flat_beyond(loads: Sequence[LoadFacts], load: LoadFacts) -> LoadFacts | None:
    """A step with at least twice as many of the same I/Os in flight and no more throughput; None: there is none."""
    for other in loads:
        no_more = other.ops_per_second <= load.ops_per_second * (1 + FLAT)
        if no_more and other.comparable(load) and load.at_most_half(other):
            return other
    return None


def load_facts(topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[LoadFacts]:
    """One entry a step and direction in which I/Os completed."""
    jobs = {step.name: [s for s in samples if s.step == step.name and _runs_in(s, step)] for step in steps}
    found = (_direction(topology, step, d, jobs[step.name]) for step in steps for d in DIRECTIONS)
    return [facts for facts in found if facts is not None]


def _runs_in(sample: StepSamples, step: Step) -> bool:
    return not step.loads or any(
        load.source == sample.source and (not load.entities or sample.entity in load.entities) for load in step.loads
    )


def _direction(topology: Topology, step: Step, direction: Direction, jobs: Sequence[StepSamples]) -> LoadFacts | None:
    told = [(job, latency) for job in jobs if (latency := _latency(job, direction, step, len(jobs))) is not None]
    active = [job for job, _ in told]
    if not active:
        return None
    operations = sum(_rate(job, "ops", direction) for job in active)
    waited, low, high = (sum(_rate(j, "ops", direction) * seconds[i] for j, seconds in told) for i in range(3))
    alone = active[0].lasts if len(active) == 1 else {}
    counted = sum(_rate(job, "bytes", direction) for job in active)
    summaries = {load.source for load in step.loads if load.summary_window is not None}
    series = [job for job in active if job.source not in summaries]
    return LoadFacts(
        tuple(dict.fromkeys(_root(topology, job) for job in active)),
        step.name,
        direction,
        min((job.windows for job in series), default=1),
        operations,
        counted or operations * (step.block_bytes or 0),
        waited / operations,
        _offered(jobs) if step.offered is None else step.offered,
        waited,
        max((cpu for job in active if (cpu := job.means.get("cpu_ratio")) is not None), default=None),
        alone.get(f"latency_seconds_p50_{direction}"),
        alone.get(f"latency_seconds_p95_{direction}"),
        alone.get(f"latency_seconds_p99_{direction}"),
        alone.get(f"latency_seconds_max_{direction}"),
        _spread(series, direction) if len(series) == len(active) else None,
        (low / operations, high / operations) if high > low else None,
        len(series) < len(active),
        tuple(topology.known_as.get((job.source, "load", job.entity), f"load:{job.entity}") for job in active),
        *_series(series, direction),
        min(
            (
                (load.summary_window[1] - load.summary_window[0]) / 1e6
                for load in step.loads
                if load.summary_window is not None
            ),
            default=None,
        ),
    )


def _rate(job: StepSamples, what: str, direction: Direction) -> float:
    return job.rate(f"{what}_{direction}_total") or 0.0


def _latency(job: StepSamples, direction: Direction, step: Step, jobs: int) -> tuple[float, float, float] | None:
    """Mean latency of a job's I/Os, with its bounds; None: it had no I/O, or nothing tells its latency.

    Where the mean is cut off to whole units or missing, a closed loop still tells it: R = N / X (Little's law).
    """
    operations = _rate(job, "ops", direction)
    if not operations:
        return None
    if (waited := job.rate(f"latency_seconds_{direction}_total")) is not None:
        return (waited / operations,) * 3
    gauge = f"latency_seconds_mean_{direction}"
    floor, resolution = job.means.get(gauge), job.resolutions.get(gauge, 0.0)
    kept = job.lasts.get("in_flight_configured") or (step.offered if jobs == 1 else None)
    loop = kept / sum(_rate(job, "ops", d) for d in DIRECTIONS) if kept and not step.rate_limited else None
    if floor is None:
        return (loop,) * 3 if loop is not None else None
    if loop is None:
        return floor + resolution / 2, floor, floor + resolution
    return min(max(loop, floor), floor + resolution), floor, floor + resolution


def _spread(jobs: Sequence[StepSamples], direction: Direction) -> float | None:
    windows = [sum(rates) for rates in zip(*(_told(job, direction) for job in jobs), strict=False)]
    if len(windows) < 2 or not sum(windows):
        return None
    return float(stdev(windows) / sqrt(len(windows)) / mean(windows))


def _series(
    jobs: Sequence[StepSamples], direction: Direction
) -> tuple[tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]:
    """Throughput and latency of each window; of several jobs together, in the windows of the one with the fewest."""
    if not jobs:
        return (), ()
    if len(jobs) > 1:
        return _series_together(jobs, direction)
    job = jobs[0]
    done, waited = (job.rates.get(f"{what}_{direction}_total", ()) for what in ("ops", "latency_seconds"))
    windows = [w for w in zip(done, waited, job.seconds, strict=False) if w[0]]
    return (
        tuple((ops, seconds) for ops, _, seconds in windows if ops),
        tuple((wait / ops, seconds) for ops, wait, seconds in windows if ops and wait is not None),
    )


def _series_together(
    jobs: Sequence[StepSamples], direction: Direction
) -> tuple[tuple[tuple[float, float], ...], tuple[tuple[float, float], ...]]:
    fewest = min((job for job in jobs if job.ended), key=lambda job: len(job.ended), default=None)
    if fewest is None:
        return (), ()
    limits = np.array([fewest.ended[0] / 1e6 - fewest.seconds[0], *(ended / 1e6 for ended in fewest.ended)])
    done, waited = work(jobs, f"ops_{direction}"), work(jobs, f"latency_seconds_{direction}")
    if done is None or not np.all(np.diff(limits) > 0):
        return (), ()
    lengths, operations = np.diff(limits).tolist(), done.rates(limits).tolist()
    waits = waited.rates(limits).tolist() if waited is not None else []
    windows = zip(operations, waits, lengths, strict=False)
    return (
        tuple((ops, seconds) for ops, seconds in zip(operations, lengths, strict=True) if ops),
        tuple((wait / ops, seconds) for ops, wait, seconds in windows if ops),
    )


def _told(job: StepSamples, direction: Direction) -> list[float]:
    return [rate for rate in job.rates.get(f"ops_{direction}_total", ()) if rate is not None]


def _offered(jobs: Sequence[StepSamples]) -> float | None:
    # Jobs of a run without marks may have run one after the other: their sum would mean nothing.
    return jobs[0].lasts.get("in_flight_configured") if len(jobs) == 1 else None


def _root(topology: Topology, job: StepSamples) -> str:
    """The load a job is a part of."""
    entity = topology.known_as.get((job.source, "load", job.entity), f"load:{job.entity}")
    return next(iter(topology.related(entity, "member_of", "load")), entity)

"""Facts of the load: throughput, latency and I/Os in flight, a step and direction each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, sqrt
from statistics import mean, stdev

from sanpath.facts.deltas import StepSamples
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.topology.identity import Topology

FLAT = 0.05
"""Throughput that changes less between two loads is flat."""
SAME_SIZE = 0.05
"""I/Os whose mean sizes differ by less are of one kind."""
_HALF = 0.55
"""Half as many in flight, as measured: a step of 64 reads 63.9 beside one of 128."""


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """One direction of the test's load in one step, all its jobs together.

    `in_flight_configured` is that of the whole step: fio and its kin do not keep a number a direction.
    `in_flight_measured` = throughput x latency (Little's law, N = X R). Percentiles are None where several jobs ran:
    they cannot be added. `throughput_spread`: relative standard error of the mean over the windows, None with fewer
    than two.
    """

    entity: str
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
        return self.in_flight_measured <= _HALF * other.in_flight_measured


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
    jobs = {
        step.name: [s for s in samples if s.step == step.name and (not step.loads or s.entity in step.loads)]
        for step in steps
    }
    found = (_direction(topology, step, d, jobs[step.name]) for step in steps for d in DIRECTIONS)
    return [facts for facts in found if facts is not None]


def _direction(topology: Topology, step: Step, direction: Direction, jobs: Sequence[StepSamples]) -> LoadFacts | None:
    active = [job for job in jobs if job.rate(f"ops_{direction}_total")]
    if not active:
        return None
    operations = sum(job.rate(f"ops_{direction}_total") or 0 for job in active)
    waited = sum(job.rate(f"latency_seconds_{direction}_total") or 0 for job in active)
    alone = active[0].lasts if len(active) == 1 else {}
    counted = sum(job.rate(f"bytes_{direction}_total") or 0 for job in active)
    return LoadFacts(
        _root(topology, active[0]),
        step.name,
        direction,
        min(job.windows for job in active),
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
        _spread(active, direction),
    )


def _spread(jobs: Sequence[StepSamples], direction: Direction) -> float | None:
    windows = [sum(rates) for rates in zip(*(_told(job, direction) for job in jobs), strict=False)]
    if len(windows) < 2 or not sum(windows):
        return None
    return float(stdev(windows) / sqrt(len(windows)) / mean(windows))


def _told(job: StepSamples, direction: Direction) -> list[float]:
    return [rate for rate in job.rates.get(f"ops_{direction}_total", ()) if rate is not None]


def _offered(jobs: Sequence[StepSamples]) -> float | None:
    # Jobs of a run without marks may have run one after the other: their sum would mean nothing.
    return jobs[0].lasts.get("in_flight_configured") if len(jobs) == 1 else None


def _root(topology: Topology, job: StepSamples) -> str:
    """The load a job is a part of."""
    entity = topology.known_as.get((job.source, "load", job.entity), f"load:{job.entity}")
    return next(iter(topology.related(entity, "member_of", "load")), entity)

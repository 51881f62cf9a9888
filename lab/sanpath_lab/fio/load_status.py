"""The status of a run of the load generator: sent by the lab, printed by the fio double."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sanpath_lab.physics.host_model import Disk
from sanpath_lab.physics.load_model import Job, LoadRun, Phase, Tally
from sanpath_lab.simulation import Simulation


@dataclass(frozen=True, slots=True)
class LatencyStatus:
    """Latencies of the measured part in nanoseconds; `buckets` are (middle of the bucket, I/Os), fastest first."""

    count: int
    minimum: int
    maximum: int
    mean: float
    deviation: float
    buckets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class DirectionStatus:
    """One direction of a job. `ios` starts over at the end of the ramp."""

    ios: int
    latency: LatencyStatus
    iops_samples: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One job. `group`: number of its step. `disk`: name of its disk. `runtime_seconds` restarts at the end of the
    ramp."""

    name: str
    group: int
    disk: str
    threads: int
    phase: Phase
    runtime_seconds: float
    read: DirectionStatus
    write: DirectionStatus


@dataclass(frozen=True, slots=True)
class DiskStatus:
    """The guest's disk since the run began. Times in seconds; tuples are (read, write)."""

    name: str
    ios: tuple[int, int]
    ticks_seconds: tuple[float, float]
    in_flight_seconds: float
    busy_seconds: float


@dataclass(frozen=True, slots=True)
class LoadStatus:
    """The run. `now_ms`: the load generator's wall clock, milliseconds since the epoch. `load`: its definition."""

    now_ms: int
    elapsed_seconds: float
    remaining_seconds: float
    finished: bool
    load: dict[str, Any]
    submit_seconds: float
    jobs: tuple[JobStatus, ...]
    disks: tuple[DiskStatus, ...]


def _job_status(job: Job, now: float, parallel: bool) -> JobStatus:
    """Return a job's statistics at simulated time `now`. `parallel`: whether several jobs run at the same time."""
    read, write = (_direction_status(job.by_direction[direction]) for direction in ("read", "write"))
    name = f"t{job.threads}" + (f"-{job.number + 1}" if parallel else "")
    return JobStatus(name, job.step, job.disk, job.threads, job.phase, job.runtime_seconds(now), read, write)


def _direction_status(tally: Tally) -> DirectionStatus:
    latency = tally.latency
    count = latency.count
    mean = latency.sum_seconds / count if count else 0.0
    variance = latency.sum_of_squares / count - mean * mean if count else 0.0
    latency_status = LatencyStatus(
        count,
        round(latency.min_seconds * 1e9),
        round(latency.max_seconds * 1e9),
        mean * 1e9,
        max(0.0, variance) ** 0.5 * 1e9,
        tuple(latency.by_latency()),
    )
    return DirectionStatus(tally.ios, latency_status, tuple(tally.iops_samples))


def _remaining_seconds(run: LoadRun, now: float) -> float:
    """Return the remaining seconds of the run; jobs that drain count as ended."""
    load = run.load
    step_seconds = load.ramp_seconds + load.measured_seconds
    seconds = 0.0
    for job in run.jobs:
        if job.number:
            continue
        match job.phase:
            case "waiting":
                seconds += load.gap_seconds + step_seconds
            case "ramp":
                seconds += step_seconds - job.runtime_seconds(now)
            case "measured":
                seconds += load.measured_seconds - job.runtime_seconds(now)
    return seconds


def disk_status(simulation: Simulation) -> tuple[DiskStatus, ...]:
    """Return the counters of the guest's disks since the lab started."""
    return tuple(_disk_status(disk, simulation.now) for disk in simulation.host.disks)


def _disk_status(disk: Disk, now: float) -> DiskStatus:
    read, write = disk.totals["read"], disk.totals["write"]
    return DiskStatus(
        disk.name,
        (read.ios, write.ios),
        (read.ticks_seconds, write.ticks_seconds),
        disk.guest_queue.in_flight_seconds(now),
        disk.guest_queue.busy_seconds(now),
    )


def _since(before: DiskStatus, now: DiskStatus) -> DiskStatus:
    return DiskStatus(
        now.name,
        (now.ios[0] - before.ios[0], now.ios[1] - before.ios[1]),
        (now.ticks_seconds[0] - before.ticks_seconds[0], now.ticks_seconds[1] - before.ticks_seconds[1]),
        now.in_flight_seconds - before.in_flight_seconds,
        now.busy_seconds - before.busy_seconds,
    )


def load_status(simulation: Simulation, run: LoadRun, disks_before: Sequence[DiskStatus]) -> LoadStatus:
    """Return the present status of a run. `disks_before`: counters of the disks when it began."""
    load, now = run.load, simulation.now
    return LoadStatus(
        now_ms=round((simulation.epoch_seconds + now) * 1000),
        elapsed_seconds=now - run.began_at,
        remaining_seconds=_remaining_seconds(run, now),
        finished=run.finished,
        load=load.model_dump(),
        submit_seconds=simulation.scenario.host.submit_seconds,
        jobs=tuple(_job_status(job, now, load.jobs > 1) for job in run.jobs),
        disks=tuple(map(_since, disks_before, disk_status(simulation))),
    )

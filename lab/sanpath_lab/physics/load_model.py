"""The simulated load generator: steps in sequence, each with jobs that are closed loops of threads x I/Os."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import Literal

from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange
from sanpath_lab.physics.histogram import LatencyHistogram
from sanpath_lab.physics.host_model import SimulatedHost
from sanpath_lab.scenario import Direction, Load

Phase = Literal["waiting", "ramp", "measured", "draining", "ended"]

SAMPLE_SECONDS = 0.5
"""fio's own period for iops_min, iops_max and iops_mean."""


@dataclass(slots=True)
class Tally:
    """Statistics of a job in one direction. `ios` restarts when the ramp ends; latencies are of I/Os after it."""

    ios: int = 0
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    iops_samples: list[float] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Job:
    """A job of a step, and its statistics, which restart when the ramp ends.

    `step`: number of the step, from 0. `number`: number of the job in the step, from 0. `disk`, `volume`: names.
    """

    step: int
    number: int
    threads: int
    disk: str
    volume: str
    phase: Phase = "waiting"
    in_flight: int = 0
    by_direction: dict[Direction, Tally] = field(default_factory=lambda: {"read": Tally(), "write": Tally()})
    counting_since: float = 0.0
    """Start of the statistics in simulated seconds."""
    ended_at: float = 0.0

    @property
    def ios(self) -> int:
        """I/Os of both directions."""
        return sum(tally.ios for tally in self.by_direction.values())

    def runtime_seconds(self, now: float) -> float:
        """Return the period of the present statistics in seconds; 0 before the job has started."""
        match self.phase:
            case "waiting":
                return 0.0
            case "ended":
                return self.ended_at - self.counting_since
            case _:
                return now - self.counting_since


class _Thread:
    """A thread of a job. `core_free_at`: when its core has processed all completions, in simulated seconds."""

    def __init__(self, run: LoadRun, job: Job) -> None:
        self._run, self.job = run, job
        self.core_free_at = 0.0

    def completed(self, exchange: Exchange) -> None:
        """Process the completion of an I/O."""
        self._run.reap(self, exchange)


class LoadRun:
    """One execution of the load, which starts at once. `seed`: seed of its random numbers."""

    def __init__(self, load: Load, events: EventQueue, host: SimulatedHost, seed: int) -> None:
        self.load = load
        disks = [host.disks[number % len(host.disks)] for number in range(load.jobs)]
        self.jobs = [
            Job(step, number, threads, disk.name, disk.volume)
            for step, threads in enumerate(load.threads)
            for number, disk in enumerate(disks)
        ]
        self.began_at = events.now
        self.finished = False
        self._events, self._host = events, host
        self._stopped = False
        self._next_issue = 0.0
        self._random = Random(seed)  # noqa: S311  which I/Os are writes, not secrets
        self._start(0)

    def stop(self) -> None:
        """Stop issuing I/Os. The run is `finished` when all I/Os in flight have completed."""
        self._stopped = True
        if not any(job.in_flight for job in self.jobs):
            self.finished = True
        for job in self.jobs:
            self._close(job)

    def _start(self, step: int) -> None:
        if self._stopped:
            return
        for job in self._jobs_of_step(step):
            self._begin(job)

    def _jobs_of_step(self, step: int) -> list[Job]:
        return [job for job in self.jobs if job.step == step]

    def _begin(self, job: Job) -> None:
        load, now = self.load, self._events.now
        job.phase, job.counting_since = "ramp", now
        self._events.schedule(now + load.ramp_seconds, self._measure, job)
        self._events.schedule(now + load.ramp_seconds + load.measured_seconds, self._close, job)
        job.in_flight = job.threads * load.outstanding_per_thread
        threads = [_Thread(self, job) for _ in range(job.threads)]
        directions = cycle(load.directions)
        for thread in threads:
            for _ in range(load.outstanding_per_thread):
                arguments = next(directions), load.block_bytes, thread.completed, job.volume
                self._issue(self._host.new_exchange(*arguments))

    def _measure(self, job: Job) -> None:
        if job.phase == "ramp":
            job.phase, job.counting_since = "measured", self._events.now
            for tally in job.by_direction.values():
                tally.ios = 0
                self._events.schedule(self._events.now + SAMPLE_SECONDS, self._sample, job, tally, 0)

    def _sample(self, job: Job, tally: Tally, ios_before: int) -> None:
        if job.phase == "measured":
            tally.iops_samples.append((tally.ios - ios_before) / SAMPLE_SECONDS)
            self._events.schedule(self._events.now + SAMPLE_SECONDS, self._sample, job, tally, tally.ios)

    def _close(self, job: Job) -> None:
        if job.phase in ("ramp", "measured"):
            job.phase = "draining"

    def _issue(self, exchange: Exchange) -> None:
        """Start an I/O now, or when the rate limit allows it."""
        if (writes := self.load.write_ratio) is not None:
            exchange.direction = "write" if self._random.random() < writes else "read"
        if (rate := self.load.ios_per_second) is None:
            self._host.submit(exchange)
            return
        start_seconds = self._next_issue = max(self._events.now, self._next_issue + 1 / rate)
        self._events.schedule(start_seconds, self._host.submit, exchange)

    def reap(self, thread: _Thread, exchange: Exchange) -> None:
        """Process a completion when the core of the thread is free."""
        if not self.load.one_core_per_thread:
            self._completed(thread.job, exchange)
            return
        cost = self.load.user_seconds_per_io + self.load.system_seconds_per_io
        thread.core_free_at = max(thread.core_free_at, self._events.now) + cost
        self._events.schedule(thread.core_free_at, self._completed, thread.job, exchange)

    def _completed(self, job: Job, exchange: Exchange) -> None:
        tally = job.by_direction[exchange.direction]
        tally.ios += 1
        if job.phase != "ramp":
            tally.latency.add(self._events.now - exchange.issued)
        if job.phase != "draining":
            self._issue(exchange)
            return
        job.in_flight -= 1
        if not job.in_flight:
            job.phase, job.ended_at = "ended", self._events.now
            self._ended(job.step)

    def _ended(self, step: int) -> None:
        if any(job.in_flight for job in self._jobs_of_step(step)):
            return
        if self._stopped or step + 1 == len(self.load.threads):
            self.finished = True
        else:
            self._events.schedule(self._events.now + self.load.gap_seconds, self._start, step + 1)

"""Groups of jobs that run at the same time, and their progress, from their counters: fio does not report it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.model import DIRECTIONS
from sanpath.plugin import Event, LoadStep, histogram
from sanpath_collectors.fio.buckets import upper_bounds
from sanpath_collectors.fio.options import combined_profile, common
from sanpath_collectors.fio.status import JobStatus

Progress = Literal["none", "begun", "ramp over", "more", "ended"]
"""What a new status of a group means. `none`: the group waits, stalls, or had ended before."""


@dataclass(slots=True)
class Group:
    """Jobs between two `stonewall`s, and so a load step.

    `time_us`: fio's clock at the last status. `idle_us`: microseconds between the end of the group and that status,
    from its run time.
    """

    jobs: Sequence[JobStatus] = ()
    state: Literal["waiting", "ramp", "running", "ended"] = "waiting"
    time_us: int = 0
    idle_us: int = field(default=0)

    @property
    def ops(self) -> int:
        """I/Os that all its jobs have submitted."""
        return sum(job.ops for job in self.jobs)

    @property
    def runtime_us(self) -> int:
        """Run time since its start, or since the end of its ramp."""
        return 1000 * max((job.runtime_ms for job in self.jobs), default=0)

    @property
    def ramping(self) -> bool:
        """Whether its counters belong to the ramp."""
        return any(job.ramping for job in self.jobs)

    def update(self, jobs: Sequence[JobStatus], time_us: int) -> Progress:
        """Updates the group with the next status of its jobs. `time_us`: fio's clock at that status."""
        was_ramping, ops, runtime_us, clock_us = self.ramping, self.ops, self.runtime_us, time_us - self.time_us
        self.jobs, self.time_us, self.idle_us = jobs, time_us, 0
        ran_us = self.runtime_us - runtime_us
        if self.state == "ramp" and was_ramping and not self.ramping:
            # At a constant rate the first count after the ramp may equal that of the ramp.
            self.state = "running"
            return "ramp over"
        if self.ops == ops:
            # The run time of a stalled job still increases; the run time of a job that has ended does not.
            if self.state == "running" and ran_us == 0:
                self.state = "ended"
                return "ended"
            return "none"
        if self.state == "waiting":
            self.state = "ramp" if self.ramping else "running"
            return "begun"
        # The counters restart when the ramp ends. They may exceed their old values by now, but the run time then
        # increased by less than the clock.
        if self.state == "ramp" and ran_us < 0.7 * clock_us:
            self.state = "running"
            return "ramp over"
        # The difference between clock and run time is the time since the group ended.
        self.idle_us = max(0, clock_us - ran_us) if self.state == "running" else 0
        return "more"


def load_step(number: int, jobs: Sequence[JobStatus], loads: Mapping[str, str], *, summary: bool = False) -> LoadStep:
    """The load step of a group of jobs. `loads`: name of a job → local id of its load."""
    profile = combined_profile(job.profile for job in jobs)
    return LoadStep(
        name="+".join(dict.fromkeys(job.name.partition("#")[0] for job in jobs)),
        loads=tuple(loads[job.name] for job in jobs),
        offered=profile.in_flight,
        block_bytes=common(job.profile.block_bytes for job in jobs),
        rate_limited=bool(profile.rate_limited),
        group=number,
        summary=summary,
        error=max((job.error for job in jobs), default=0),
        planned_seconds=None if profile.seconds is None else profile.seconds + (profile.warmup_seconds or 0.0),
    )


def histograms(jobs: Sequence[JobStatus], loads: Mapping[str, str], seen_us: int) -> Iterator[Event]:
    """Yields the latency distributions of jobs, where fio reports them (json+)."""
    for job in jobs:
        for direction in DIRECTIONS:
            if buckets := upper_bounds(job.bins.get(direction, {})):
                yield histogram(seen_us, loads[job.name], direction, buckets)

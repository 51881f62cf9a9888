"""Groups of jobs that run at the same time. fio does not report their progress, so it is derived from counters."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sanpath.model import DIRECTIONS
from sanpath.plugin import Event, LoadStep, common_value, histogram, warning
from sanpath_collectors.fio.jobs.buckets import upper_bounds
from sanpath_collectors.fio.jobs.options import combined_profile
from sanpath_collectors.fio.jobs.status import JobStatus

Progress = Literal["none", "begun", "ramp over", "ramp over earlier", "more", "ended"]
"""What a new status of a group means. `none`: the group waits, is stalled, or had ended before. `ramp over earlier`:
the end of its ramp, reported before, is corrected to an earlier time."""
_MAX_GROUPS = 1_000_000
"""Larger than the number of groups of any run."""
_ROUNDING_US = 50_000
"""Corrections up to this are ignored: fio rounds its run time, and a busy machine delays statuses a little."""
_WINDOWS_EILSEQ = 42
"""EILSEQ in errno.h of Windows; Linux has 84."""
_LAST_COMMON_ERROR = 34
"""Up to this number, errors of Windows' C library are those of Linux."""


@dataclass(slots=True)
class JobClock:
    """When the counters of a job began, by fio's clock: at its start, or at the end of its ramp.

    fio reads the run times of all jobs, then waits for each job to answer before it prints a status. A job that waits
    for an I/O answers late. So time minus run time is never too early, and its minimum over all statuses is the
    begin.

    `ramp_seen_us`: time of the last status with figures of the ramp; the ramp cannot have ended before. `running_us`:
    time of the last status after which the job made progress; it had not ended then. `has_stopped`: the job failed,
    or its run time no longer increases.
    """

    runtime_ms: int = 0
    ops: int = 0
    time_us: int = 0
    began_us: int = 0
    ramp_seen_us: int = 0
    running_us: int = 0
    has_begun: bool = False
    in_ramp: bool = False
    has_ramped: bool = False
    has_stopped: bool = False

    @property
    def ended_us(self) -> int:
        """When the job ended, if it has."""
        return max(self.running_us, self.began_us + 1000 * self.runtime_ms)

    def update(self, job: JobStatus, time_us: int) -> None:
        """Takes the next status."""
        began_us = time_us - 1000 * job.runtime_ms
        has_restarted = job.runtime_ms < self.runtime_ms or job.ops < self.ops
        if not self.has_begun:
            self.began_us, self.in_ramp = began_us, job.ramping
        elif self.in_ramp and (has_restarted or not job.ramping):
            # Without a restart of the counters, figures of the ramp cannot be distinguished from later ones.
            self.ramp_seen_us = self.ramp_seen_us if has_restarted else 0
            self.in_ramp, self.has_ramped, self.began_us = False, True, max(self.ramp_seen_us, began_us)
        elif not self.in_ramp:
            self.began_us = max(self.ramp_seen_us, min(self.began_us, began_us))
        self.has_stopped = bool(job.error) or (job.runtime_ms == self.runtime_ms > 0)
        if (job.runtime_ms, job.ops) != (self.runtime_ms, self.ops):
            self.running_us = self.time_us
        self.has_begun = self.has_begun or job.ops > 0
        self.runtime_ms, self.ops, self.time_us = job.runtime_ms, job.ops, time_us
        self.ramp_seen_us = time_us if self.in_ramp else self.ramp_seen_us


@dataclass(slots=True)
class Group:
    """The jobs of one groupid. They form a load step, which ends when all of them have ended.

    Groups run one after the other or, with `new_group`, at the same time. `time_us`: fio's clock at the last status.
    `clocks`: name of a job → its clock.
    """

    jobs: Sequence[JobStatus] = ()
    state: Literal["waiting", "ramp", "running", "ended"] = "waiting"
    time_us: int = 0
    clocks: dict[str, JobClock] = field(default_factory=dict)
    _marked_us: int = 0

    @property
    def ops(self) -> int:
        """I/Os that all its jobs have submitted."""
        return sum(job.ops for job in self.jobs)

    @property
    def runtime_us(self) -> int:
        """Run time since its start, or since the end of its ramp."""
        return 1000 * max((job.runtime_ms for job in self.jobs), default=0)

    @property
    def ramp_ended_us(self) -> int:
        """When the last ramp of its jobs ended, by fio's clock."""
        return max((clock.began_us for clock in self.clocks.values() if clock.has_ramped), default=self.time_us)

    @property
    def ended_us(self) -> int:
        """When it ended, by fio's clock, if it has ended."""
        return min(self.time_us, max((clock.ended_us for clock in self.clocks.values()), default=self.time_us))

    def update(self, jobs: Sequence[JobStatus], time_us: int) -> Progress:
        """Updates the group with the next status of its jobs. `time_us`: fio's clock at that status; 0: not known."""
        ops, runtime_us = self.ops, self.runtime_us
        self.jobs, self.time_us = jobs, time_us
        for job in jobs:
            self.clocks.setdefault(job.name, JobClock()).update(job, time_us)
        clocks = self.clocks.values()
        # A job that fails or ends in its ramp never leaves it.
        has_ramped = any(clock.has_ramped for clock in clocks)
        in_ramp = any(clock.in_ramp and not (has_ramped and clock.has_stopped) for clock in clocks)
        if self.state == "ramp" and not in_ramp:
            # At a constant rate the first count after the ramp may equal that of the ramp.
            self.state, self._marked_us = "running", self.ramp_ended_us
            return "ramp over"
        if self.ops == ops:
            # The run time of a stalled job still increases; the run time of a job that has ended does not.
            if self.state in ("running", "ramp") and self.runtime_us == runtime_us > 0:
                self.state = "ended"
                return "ended"
            return "ramp over earlier" if self._moves_ramp_end() else "none"
        if self.state == "waiting":
            self.state = "ramp" if in_ramp else "running"
            return "begun"
        return "ramp over earlier" if self._moves_ramp_end() else "more"

    def _moves_ramp_end(self) -> bool:
        """Corrects the marked end of the ramp. Returns whether the ramp had ended earlier than marked."""
        ramp_ended_us = self.ramp_ended_us
        if self.state != "running" or self._marked_us - ramp_ended_us <= _ROUNDING_US:
            return False
        self._marked_us = ramp_ended_us
        return True


def step_number(stage: tuple[int, int]) -> int:
    """The number of a stage's step, which is unique in the run."""
    group, phase = stage
    return group + _MAX_GROUPS * phase


def load_step(number: int, jobs: Sequence[JobStatus], loads: Mapping[str, str], *, summary: bool = False) -> LoadStep:
    """The load step of a group of jobs. `loads`: name of a job → local id of its load."""
    profile = combined_profile(job.profile for job in jobs)
    return LoadStep(
        name="+".join(dict.fromkeys(job.name.partition("#")[0] for job in jobs)),
        loads=tuple(loads[job.name] for job in jobs),
        offered=profile.in_flight,
        block_bytes=common_value(job.profile.block_bytes for job in jobs),
        rate_limited=bool(profile.rate_limited),
        group=number,
        summary=summary,
        error=max((job.error for job in jobs), default=0),
        planned_seconds=None if profile.seconds is None else profile.seconds + (profile.warmup_seconds or 0.0),
    )


def histogram_events(jobs: Sequence[JobStatus], loads: Mapping[str, str], seen_us: int) -> Iterator[Event]:
    """Yields the latency distributions of jobs, where fio reports them (json+)."""
    for job in jobs:
        for direction in DIRECTIONS:
            if buckets := upper_bounds(job.bins.get(direction, {})):
                yield histogram(seen_us, loads[job.name], direction, buckets)


def error_warnings(jobs: Iterable[JobStatus], seen_us: int) -> Iterator[Event]:
    """Yields a warning for each job that ended with an error."""
    for job in jobs:
        if job.error:
            yield warning(seen_us, "load-error", f"{job.name} ended with error {job.error}: {_error_text(job)}")


def _error_text(job: JobStatus) -> str:
    # fio reports blocks that differ from what was written as EILSEQ, whose text does not mention verification.
    if job.error == (_WINDOWS_EILSEQ if job.on_windows else errno.EILSEQ):
        return "verification failed"
    common = job.error <= _LAST_COMMON_ERROR or not job.on_windows
    return os.strerror(job.error) if job.error < 4096 and common else "unknown"

"""One run of fio from its printed statuses: samples, entities and load steps on fio's clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.model import DIRECTIONS
from sanpath.plugin import Item, Rows, warning
from sanpath_collectors.fio.inventory import Inventory
from sanpath_collectors.fio.jobs.groups import (
    Group,
    Progress,
    error_warnings,
    histogram_events,
    load_step,
    step_number,
)
from sanpath_collectors.fio.jobs.options import parse_duration_seconds
from sanpath_collectors.fio.jobs.status import JobStatus, Number, Status
from sanpath_collectors.fio.tables import LOAD, LUN, rows, zeros

_TIME_TOLERANCE_US = 1_500_000
"""Tolerance of times in whole seconds."""
_STATUS_DELAY_US = 200_000
"""By how much statuses may be delayed differently."""
_MAX_END_DIFFERENCE_US = 50_000
"""Jobs whose ends differ by at most this end together."""
_MIN_WINDOWS = 4
"""Number of windows that a step needs to be judged well. If it has no more, the first is not left out as a ramp."""
_MIN_STATUS_INTERVAL_MS = 500
"""Half of the shortest usual status interval."""
_MAX_RATE_RATIO = 3.0
"""Ratio by which a job may be faster than its mean for a short time."""
_UNEVEN_RATIO = 0.05
"""A job that ends earlier than its group by more than this ratio of the step is reported."""


@dataclass(slots=True)
class _Step:
    """The load step of a group of jobs.

    `begin_us` None: it has not begun. `running_begin_us`: its begin if it continues after its first status. `clocks`:
    job → (begin of its counters, time of its last row). `pending`: its last status, written at `pending_us`; it is
    not emitted until it is known whether more follow. `begin_emitted`, `ramp_emitted`, `end_emitted`: whether these
    events were yielded. `statuses`: number of statuses whose rows were yielded.
    """

    number: int
    group: Group = field(default_factory=Group)
    begin_us: int | None = None
    running_begin_us: int | None = None
    clocks: dict[str, tuple[int, int]] = field(default_factory=dict)
    pending: Sequence[JobStatus] = ()
    pending_us: int = 0
    statuses: int = 0
    begin_emitted: bool = False
    ramp_emitted: bool = False
    end_emitted: bool = False

    @property
    def end_us(self) -> int:
        """Time of the last status of any of its jobs."""
        begin = self.begin_us or 0
        ends = [last_us for _, last_us in self.clocks.values()]
        ends += [self.clocks.get(job.name, (begin, begin))[0] + 1000 * job.runtime_ms for job in self.pending]
        return max(ends) if ends else begin + self.group.runtime_us

    @property
    def lead_us(self) -> int:
        """Length of the ramp that its figures do not contain."""
        warmups = [job.profile.warmup_seconds or 0 for job in self.group.jobs if not job.ramping]
        return round(1e6 * max(warmups, default=0))

    @property
    def delay_us(self) -> int | None:
        """Shortest delay between the start of fio and the begin of the step (startdelay). None: no delay."""
        delays = [
            delay
            for job in self.group.jobs
            if (delay := parse_duration_seconds(job.options.get("startdelay"))) is not None
        ]
        return round(1e6 * min(delays)) if delays else None


class Run:
    """Turns the statuses of one run of fio into items.

    `first_step`: number of its first step. `begin_us`: its begin, for output formats without times. `for_people`: it
    was printed as normal text. People look at the first of a few reports as well as at the last, so it is no ramp.
    """

    def __init__(
        self, inventory: Inventory, load_ids: LoadIds, first_step: int, begin_us: int, *, for_people: bool = False
    ) -> None:
        self._for_people = for_people
        self._inventory, self._load_ids, self._first_step, self._begin_us = inventory, load_ids, first_step, begin_us
        self._loads: dict[str, str] = {}
        self._steps: dict[tuple[int, int], _Step] = {}
        self._disks: dict[str, Mapping[str, Number]] = {}
        self._last: Status | None = None

    @property
    def end_us(self) -> int:
        """The time of its last status."""
        ends = [step.end_us for step in self._steps.values() if step.begin_us is not None]
        return max(ends) if ends else self._begin_us

    @property
    def runtime_us(self) -> int:
        """How long it had run at its last status."""
        return 0 if self._last is None else self._last.runtime_us

    @property
    def truncated(self) -> bool:
        """Whether the output ends before fio does."""
        return self._last is not None and self._last.running

    @property
    def next_step(self) -> int:
        """Number of the first step of the next run."""
        return 1 + max((step.number for step in self._steps.values()), default=self._first_step - 1)

    def continues(self, current: Status) -> bool:
        """Whether a status is a later one of this run: it has the same jobs, and none has restarted."""
        last = self._last
        if last is None or current.banner != last.banner:
            return last is None
        later_jobs = {(job.name, job.group): job for job in current.jobs}
        return all(_continues_job(job, later_jobs.get((job.name, job.group)), last, current) for job in last.jobs)

    def add(self, current: Status) -> Iterator[Item]:
        """Yields the items of the next status."""
        new_steps, progress_by_group = [], {}
        for stage in sorted({job.stage for job in current.jobs}):
            step = self._steps.setdefault(stage, _Step(self._first_step + step_number(stage)))
            jobs = [job for job in current.jobs if job.stage == stage]
            progress_by_group[stage] = step.group.update(jobs, current.time_us or 0)
            if progress_by_group[stage] == "begun":
                new_steps.append(step)
        self._set_begin_times(new_steps, current)
        self._loads |= {
            job.name: self._load_ids.assign(job.name) for job in current.jobs if job.name not in self._loads
        }
        yield from self._inventory.new_items(current, self._loads)
        if any(job.remarks for job in current.jobs):
            yield from self._inventory.remarks(current, self._loads, self.end_us)
        for stage, group_progress in progress_by_group.items():
            yield from self._step_progress(self._steps[stage], group_progress, current)
        yield from self._disk_samples(current)
        self._last = current

    def finish(self) -> Iterator[Item]:
        """Yields the items that end the run."""
        steps = [step for _, step in sorted(self._steps.items()) if step.begin_us is not None]
        for step in steps:
            yield from self._end_step(step)
        jobs = self._last.jobs if self._last is not None else ()
        has_trimmed = any(code == "trims" for job in jobs for code, _ in job.remarks)
        if not steps and not has_trimmed:
            yield warning(self.end_us, "no-io", "no job has done any I/O")

    def _set_begin_times(self, new_steps: Sequence[_Step], current: Status) -> None:
        """Sets the begin of groups that first appear in this status. If together they ran for longer than the time
        since the last status, they ran at the same time."""
        if current.time_us is None:
            for step in new_steps:
                step.begin_us = self.end_us
            return
        elapsed_us = current.time_us - self._last.time_us if self._last and self._last.time_us else None
        if elapsed_us is None and current.elapsed_seconds is not None:
            elapsed_us = current.elapsed_seconds * 1_000_000
        needed_us = sum(step.group.runtime_us + step.lead_us for step in new_steps)
        slack_us = _TIME_TOLERANCE_US if current.time_in_seconds else _STATUS_DELAY_US
        consecutive = elapsed_us is None or needed_us <= elapsed_us + slack_us
        end_us, fio_start_us = current.time_us, None
        for step in reversed(new_steps):
            delay_us, runtime_us = step.delay_us, step.group.runtime_us
            delayed_us = (
                fio_start_us + delay_us + step.lead_us
                if fio_start_us is not None and delay_us is not None
                else current.time_us
            )
            reported_us = _reported_begin_us(step, current.time_us)
            step.begin_us = reported_us or min(delayed_us, end_us - runtime_us)
            step.running_begin_us = reported_us or min(delayed_us, current.time_us - runtime_us)
            end_us = step.begin_us - step.lead_us if consecutive else end_us
            if fio_start_us is None and delay_us is not None:
                fio_start_us = step.begin_us - step.lead_us - delay_us

    def _step_progress(self, step: _Step, progress: Progress, current: Status) -> Iterator[Item]:
        if step.begin_us is None or step.end_emitted:
            return
        has_run = any(
            job.runtime_ms != pending.runtime_ms for job, pending in zip(step.group.jobs, step.pending, strict=False)
        )
        if (progress == "ramp over" or has_run) and not step.begin_emitted:
            # It had not ended when other groups began, so they run at the same time.
            step.begin_us = step.running_begin_us or step.begin_us
        if progress == "ramp over":
            yield from self._emit_pending(step)
            yield from self._end_ramp(step, current.time_us or step.end_us)
        elif progress != "begun" and has_run:
            yield from self._emit_pending(step)
        # Only the last status counts the I/Os that were in flight when the run time ended.
        step.pending, step.pending_us = step.group.jobs, current.time_us or 0
        if progress == "ended":
            yield from self._end_step(step)

    def _emit_pending(self, step: _Step, *, summary: bool = False) -> Iterator[Item]:
        """Yields the rows of the pending status, after the step-begin event if it is the first."""
        if not step.begin_emitted:
            step.begin_emitted = True
            begin_step = load_step(step.number, step.pending, self._loads, summary=summary)
            yield begin_step.event("step-begin", step.begin_us or 0)
        pending, step.pending = step.pending, ()
        yield from self._sample_rows(step, pending)

    def _end_ramp(self, step: _Step, ramp_end_us: int) -> Iterator[Item]:
        jobs = [job for job in step.group.jobs if job.runtime_ms]
        last_times = {job.name: step.clocks[job.name][1] for job in jobs if job.name in step.clocks}
        starts = {job.name: max(ramp_end_us - 1000 * job.runtime_ms, last_times.get(job.name, 0)) for job in jobs}
        step.clocks = {name: (start, start) for name, start in starts.items()}
        step.begin_us = min(starts.values(), default=ramp_end_us)
        yield load_step(step.number, step.group.jobs, self._loads).event("ramp-end", step.begin_us)
        step.ramp_emitted = True
        if jobs:  # On a busy machine, a status may come before any job has done an I/O after the ramp.
            yield rows(LOAD, [self._zero_row(job, starts[job.name]) for job in jobs])

    def _sample_rows(self, step: _Step, jobs: Sequence[JobStatus]) -> Iterator[Rows]:
        """Yields a row for each job at its time by the job's clock, and a row of zeros where its counters began."""
        running = [job for job in jobs if job.runtime_ms]
        times = {j.name: step.clocks[j.name][0] + 1000 * j.runtime_ms for j in running if j.name in step.clocks}
        written_us = max((step.pending_us, *times.values())) if times else 0
        samples = []
        for job in running:
            if job.name not in times:
                # A job that first appears in a later status began separately.
                start_us = max(step.begin_us or 0, written_us - 1000 * job.runtime_ms)
                step.clocks[job.name] = start_us, start_us
                times[job.name] = start_us + 1000 * job.runtime_ms
                samples.append(self._zero_row(job, start_us))
        latest_us = max(times.values(), default=0)
        for job in running:
            start_us, last_us = step.clocks[job.name]
            time_us = times[job.name] if times[job.name] > last_us else latest_us
            if time_us > last_us:
                step.clocks[job.name] = start_us, time_us
                samples.append((self._loads[job.name], time_us, job.counters))
        if samples:
            step.statuses += 1
            yield rows(LOAD, samples)

    def _zero_row(self, job: JobStatus, seen_us: int) -> tuple[str, int, Mapping[str, Number]]:
        return self._loads[job.name], seen_us, zeros(job)

    def _end_step(self, step: _Step) -> Iterator[Item]:
        if step.end_emitted:
            return
        step.end_emitted = True
        yield from self._emit_pending(step, summary=True)
        jobs, end = step.group.jobs, step.end_us
        for job in jobs:
            start, last_us = step.clocks.get(job.name, (end, end))
            early_us = end - start - 1000 * job.runtime_ms if job.name in step.clocks else 0
            if end - last_us > _MAX_END_DIFFERENCE_US:
                yield rows(LOAD, [(self._loads[job.name], end, job.counters)])
            if early_us > max(_UNEVEN_RATIO * (end - start), 1_000_000):
                early = f"{job.name} ended {early_us / 1e6:.0f} s before others of its group"
                yield warning(end, "uneven-jobs", f"{early}: fewer I/Os were outstanding then")
        yield from error_warnings(jobs, end)
        yield from histogram_events(jobs, self._loads, end)
        ended = load_step(step.number, jobs, self._loads)
        if self._for_people and 1 < step.statuses <= _MIN_WINDOWS and not step.ramp_emitted:
            yield ended.event("ramp-end", step.begin_us or 0)
        yield ended.event("step-end", end)

    def _disk_samples(self, current: Status) -> Iterator[Rows]:
        if not current.disks:
            return
        time_us = min(current.time_us or self.end_us, self.end_us)
        samples = []
        for disk, values in current.tested_disks.items():
            if disk not in self._disks:
                begins = [
                    (step.begin_us - step.lead_us, step.begin_us)
                    for step in self._steps.values()
                    if step.begin_us is not None
                ]
                first_us, begin_us = min(begins, default=(time_us, time_us))
                zeros: Mapping[str, Number] = dict.fromkeys(values, 0)
                samples.append((disk, first_us, zeros))
                if first_us < begin_us < time_us:
                    # fio counts a disk from the start of the ramp, and does not report the share of the ramp.
                    share = (begin_us - first_us) / (time_us - first_us)
                    in_ramp = {metric: int(share * value) for metric, value in values.items() if value is not None}
                    samples.append((disk, begin_us, in_ramp))
            if values != self._disks.get(disk):
                samples.append((disk, time_us, values))
            self._disks[disk] = values
        if samples:
            yield rows(LUN, samples)


class LoadIds:
    """Local ids of loads. A job name that occurs again in a later run of the same file is another load."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._taken: set[str] = set()

    def assign(self, job: str) -> str:
        """Assigns a local id to a job of a new run."""
        first_id = f"{self._load}/{job}"
        number, load_id = 2, first_id
        while load_id in self._taken:
            number, load_id = number + 1, f"{first_id} ({number})"
        self._taken.add(load_id)
        return load_id


def _reported_begin_us(step: _Step, status_us: int) -> int | None:
    """Begin of a step as fio reports it (job_start, since 3.36); None: not reported, or implausible."""
    starts = [job.started_us for job in step.group.jobs if job.started_us is not None]
    if not starts or len(starts) < len(step.group.jobs):
        return None
    begin_us = min(starts) + step.lead_us
    return begin_us if begin_us + step.group.runtime_us <= status_us + _TIME_TOLERANCE_US else None


def _continues_job(earlier: JobStatus, job: JobStatus | None, earlier_status: Status, current: Status) -> bool:
    if job is None or job.options != earlier.options:
        return False
    if earlier.ramping or not earlier.ops:
        return True
    if job.ops < earlier.ops or job.runtime_ms < earlier.runtime_ms:
        return False
    if current.time_us is None or earlier_status.time_us is None:
        return _is_plausible_progress(earlier, job)
    if job.ops == earlier.ops:
        return True
    slack = _TIME_TOLERANCE_US if current.time_in_seconds else 0
    return current.time_us - 1000 * job.runtime_ms <= earlier_status.time_us + slack


def _is_plausible_progress(earlier: JobStatus, job: JobStatus) -> bool:
    """Whether `job` can be a later status of `earlier`. Without times, only the figures distinguish it from the same
    job in another run.

    Transferred bytes never decrease. Latencies change only with an I/O. Statuses are a second apart, except the last
    one: until then the job can have done no more than its rate allows, plus the I/Os that were outstanding.
    """
    moved, moved_before = (
        [status.samples[f"bytes_{direction}_total"] or 0 for direction in DIRECTIONS] for status in (job, earlier)
    )
    if any(now < before for now, before in zip(moved, moved_before, strict=True)):
        return False
    if moved == moved_before:
        return _latencies(job) == _latencies(earlier)
    added_ms = job.runtime_ms - earlier.runtime_ms
    if added_ms >= _MIN_STATUS_INTERVAL_MS or not earlier.runtime_ms:
        return True
    latency_ns = sum(earlier.samples[f"latency_seconds_{direction}_total"] or 0 for direction in DIRECTIONS)
    expected = (earlier.ops * added_ms + latency_ns / 1e6) / earlier.runtime_ms
    return job.ops - earlier.ops <= _MAX_RATE_RATIO * max(1.0, expected)


def _latencies(job: JobStatus) -> Sequence[Number]:
    names = ("max", "p50", "p95", "p99")
    return [job.samples.get(f"latency_seconds_{name}_{direction}") for name in names for direction in DIRECTIONS]

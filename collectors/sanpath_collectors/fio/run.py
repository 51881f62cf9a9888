"""One run of fio, as it was printed: its statuses → samples, things and steps on fio's own clock."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.plugin import LOAD_COUNTERS, Item, Rows, warning
from sanpath_collectors.fio.groups import Group, Progress, histograms, load_step
from sanpath_collectors.fio.inventory import Inventory, rows
from sanpath_collectors.fio.options import duration
from sanpath_collectors.fio.status import JobStatus, Number, Status
from sanpath_collectors.fio.tables import LOAD, LUN

_SLACK_US = 1_500_000
"""fio rounds its elapsed time up to whole seconds, and may be busy for a moment between two groups."""
_APART_US = 50_000
"""Jobs that end with less between them end together."""
_UNEVEN = 0.05


@dataclass(slots=True)
class _Step:
    """A group of jobs.

    `began` None: it has not. `clocks`: job → when its counters began, and up to when it was told. `held`: its last
    status, written at `held_us`, until it is known whether others follow. `opened`: its begin was told.
    """

    number: int
    group: Group = field(default_factory=Group)
    began: int | None = None
    clocks: dict[str, tuple[int, int]] = field(default_factory=dict)
    held: Sequence[JobStatus] = ()
    held_us: int = 0
    opened: bool = False
    closed: bool = False

    @property
    def end(self) -> int:
        """When one of its jobs was last heard of."""
        told = [at for _, at in self.clocks.values()]
        began = self.began or 0
        held = [self.clocks.get(job.name, (began, began))[0] + 1000 * job.runtime_ms for job in self.held]
        return max((*told, *held), default=began + self.group.runtime_us)

    @property
    def lead_us(self) -> int:
        """The ramp that its figures leave out."""
        warmups = [job.profile.warmup_seconds or 0 for job in self.group.jobs if not job.ramping]
        return round(1e6 * max(warmups, default=0))

    @property
    def delay_us(self) -> int | None:
        """How long after the start of fio itself it begins at the earliest (startdelay). None: it does not wait."""
        told = [delay for job in self.group.jobs if (delay := duration(job.options.get("startdelay"))) is not None]
        return round(1e6 * min(told)) if told else None


class Run:
    """`first_step`: the number that its first step has. `begin_us`: when it began, for a form that tells no time."""

    def __init__(self, inventory: Inventory, names: Names, first_step: int, begin_us: int) -> None:
        self._inventory, self._names, self._first_step, self._begin_us = inventory, names, first_step, begin_us
        self._loads: dict[str, str] = {}
        self._steps: dict[int, _Step] = {}
        self._disks: dict[str, Mapping[str, Number]] = {}
        self._last: Status | None = None

    @property
    def end(self) -> int:
        """The time up to which it is told."""
        return max((step.end for step in self._steps.values() if step.began is not None), default=self._begin_us)

    @property
    def cut(self) -> bool:
        """Whether fio meant to go on after its last status."""
        return self._last is not None and self._last.running

    @property
    def next_step(self) -> int:
        """The number that the next run's first step has."""
        return self._first_step + max(self._steps, default=-1) + 1

    def continues(self, now: Status) -> bool:
        """Whether a status is a later one of this run: its jobs are there, and none has begun anew."""
        last = self._last
        if last is None or now.banner != last.banner:
            return last is None
        later = {(job.name, job.group): job for job in now.jobs}
        return all(_goes_on(job, later.get((job.name, job.group)), last, now) for job in last.jobs)

    def add(self, now: Status) -> Iterator[Item]:
        """Take in the next status."""
        begun, progress = [], {}
        for number in sorted({job.group for job in now.jobs}):
            step = self._steps.setdefault(number, _Step(self._first_step + number))
            jobs = [job for job in now.jobs if job.group == number]
            progress[number] = step.group.update(jobs, now.time_us or 0)
            if progress[number] == "begun":
                begun.append(step)
        self._place(begun, now)
        self._loads |= {job.name: self._names.of(job.name) for job in now.jobs if job.name not in self._loads}
        yield from self._inventory.told(now, self._loads)
        yield from self._inventory.remarks(now, self._loads, self.end)
        for number, what in progress.items():
            yield from self._progress(self._steps[number], what, now)
        yield from self._disk_samples(now)
        self._last = now

    def finish(self) -> Iterator[Item]:
        """Nothing more comes of it."""
        begun = [step for _, step in sorted(self._steps.items()) if step.began is not None]
        for step in begun:
            yield from self._close(step)
        if not begun:
            yield warning(self.end, "no-io", "no job has done any I/O")

    def _place(self, begun: Sequence[_Step], now: Status) -> None:
        """Find out when groups began that are first seen in this status: fio runs them one after the other."""
        if now.time_us is None:
            for step in begun:
                step.began = self.end
            return
        passed = now.time_us - self._last.time_us if self._last and self._last.time_us else None
        if passed is None and now.elapsed_seconds is not None:
            passed = now.elapsed_seconds * 1_000_000
        needed = sum(step.group.runtime_us + step.lead_us for step in begun)
        in_turn = passed is None or needed <= passed + _SLACK_US
        end, launched = now.time_us, None
        for step in reversed(begun):
            latest = end - step.group.runtime_us
            delay = step.delay_us
            delayed = launched + delay + step.lead_us if launched is not None and delay is not None else latest
            step.began = _started(step, now.time_us) or min(delayed, latest)
            end = step.began - step.lead_us if in_turn else end
            if launched is None and delay is not None:
                launched = step.began - step.lead_us - delay

    def _progress(self, step: _Step, what: Progress, now: Status) -> Iterator[Item]:
        if step.began is None or step.closed:
            return
        ran = any(job.runtime_ms != held.runtime_ms for job, held in zip(step.group.jobs, step.held, strict=False))
        if what == "ramp over":
            yield from self._tell(step)
            yield from self._after_ramp(step, now.time_us or step.end)
        elif what != "begun" and ran:
            yield from self._tell(step)
        # I/Os that were in flight when the run time ended are in the last status only.
        step.held, step.held_us = step.group.jobs, now.time_us or 0
        if what == "ended":
            yield from self._close(step)

    def _tell(self, step: _Step, *, summary: bool = False) -> Iterator[Item]:
        """The status that was held, and the begin before the first."""
        if not step.opened:
            step.opened = True
            begun = load_step(step.number, step.held, self._loads, summary=summary)
            yield begun.event("step-begin", step.began or 0)
        held, step.held = step.held, ()
        yield from self._samples(step, held)

    def _after_ramp(self, step: _Step, at: int) -> Iterator[Item]:
        jobs = [job for job in step.group.jobs if job.runtime_ms]
        heard = {job.name: step.clocks[job.name][1] for job in jobs if job.name in step.clocks}
        starts = {job.name: max(at - 1000 * job.runtime_ms, heard.get(job.name, 0)) for job in jobs}
        step.clocks = {name: (start, start) for name, start in starts.items()}
        step.began = min(starts.values(), default=at)
        yield load_step(step.number, step.group.jobs, self._loads).event("ramp-end", step.began)
        yield rows(LOAD, [self._zeros(job, starts[job.name]) for job in jobs])

    def _samples(self, step: _Step, jobs: Sequence[JobStatus]) -> Iterator[Rows]:
        """A row a job, at the time on its own clock; and one of zeros where its counters began."""
        running = [job for job in jobs if job.runtime_ms]
        moments = {j.name: step.clocks[j.name][0] + 1000 * j.runtime_ms for j in running if j.name in step.clocks}
        written = max((step.held_us, *moments.values())) if moments else 0
        told = []
        for job in running:
            if job.name not in moments:
                # One that is new in a later status began by itself.
                start = max(step.began or 0, written - 1000 * job.runtime_ms)
                step.clocks[job.name] = start, start
                moments[job.name] = start + 1000 * job.runtime_ms
                told.append(self._zeros(job, start))
        latest = max(moments.values(), default=0)
        for job in running:
            start, heard = step.clocks[job.name]
            moment = moments[job.name] if moments[job.name] > heard else latest
            if moment > heard:
                step.clocks[job.name] = start, moment
                told.append((self._loads[job.name], moment, job.samples))
        if told:
            yield rows(LOAD, told)

    def _zeros(self, job: JobStatus, seen: int) -> tuple[str, int, Mapping[str, Number]]:
        counters: dict[str, Number] = {column.metric: 0 for column in LOAD_COUNTERS}
        return self._loads[job.name], seen, counters | {"in_flight_configured": job.in_flight}

    def _close(self, step: _Step) -> Iterator[Item]:
        if step.closed:
            return
        step.closed = True
        yield from self._tell(step, summary=True)
        jobs, end = step.group.jobs, step.end
        for job in jobs:
            start, heard = step.clocks.get(job.name, (end, end))
            early = end - start - 1000 * job.runtime_ms if job.name in step.clocks else 0
            if end - heard > _APART_US:
                yield rows(LOAD, [(self._loads[job.name], end, job.samples)])
            if early > max(_UNEVEN * (end - start), 1_000_000):
                text = (
                    f"{job.name} ended {early / 1e6:.0f} s before others of its group: fewer I/Os were in flight then"
                )
                yield warning(end, "uneven-jobs", text)
            if job.error:
                yield warning(end, "load-error", f"{job.name} ended with error {job.error}: {_error(job.error)}")
        yield from histograms(jobs, self._loads, end)
        yield load_step(step.number, jobs, self._loads).event("step-end", end)

    def _disk_samples(self, now: Status) -> Iterator[Rows]:
        moment = min(now.time_us or self.end, self.end)
        told = []
        for disk, values in now.disks.items():
            if disk not in self._disks:
                began = [step.began - step.lead_us for step in self._steps.values() if step.began is not None]
                zeros: Mapping[str, Number] = dict.fromkeys(values, 0)
                told.append((disk, min(began, default=moment), zeros))
            if values != self._disks.get(disk):
                told.append((disk, moment, values))
            self._disks[disk] = values
        if told:
            yield rows(LUN, told)


class Names:
    """Local ids of jobs: a name that comes again in a later run of the same file is another load."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._taken: set[str] = set()

    def of(self, job: str) -> str:
        """The local id of a job of a run that is new."""
        plain = f"{self._load}/{job}"
        number, name = 2, plain
        while name in self._taken:
            number, name = number + 1, f"{plain} ({number})"
        self._taken.add(name)
        return name


def _started(step: _Step, at: int) -> int | None:
    """When it began as fio says it itself (job_start, 3.36); None: it does not, or that cannot be."""
    told = [job.started_us for job in step.group.jobs if job.started_us is not None]
    if not told or len(told) < len(step.group.jobs):
        return None
    began = min(told) + step.lead_us
    return began if began + step.group.runtime_us <= at + _SLACK_US else None


def _error(number: int) -> str:
    # fio reports blocks that do not hold what was written as EILSEQ, whose text says nothing of the kind.
    return "verification failed" if number == errno.EILSEQ else os.strerror(number) if number < 4096 else "unknown"


def _goes_on(before: JobStatus, job: JobStatus | None, last: Status, now: Status) -> bool:
    if job is None or job.options != before.options:
        return False
    if before.ramping or not before.ops:
        return True
    if job.ops < before.ops or job.runtime_ms < before.runtime_ms:
        return False
    if now.time_us is None or last.time_us is None or job.ops == before.ops:
        return True
    slack = _SLACK_US if now.whole_seconds else 0
    return now.time_us - 1000 * job.runtime_ms <= last.time_us + slack

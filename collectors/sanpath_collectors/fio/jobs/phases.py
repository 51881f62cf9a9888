"""Splits a job that writes and then verifies into two, because writes and reads ran one after the other. Pure.

fio counts both in one entry, each direction with its own run time (`rw=write`, `verify=md5`). The reads are not part
of the configured load, and computing checksums takes time between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.fio.jobs.status import JobStatus

_START_OPTIONS = ("startdelay", "ramp_time")
_RUNTIME_PRECISION_MS = 100
"""Precision of run times, in milliseconds."""
_MIN_SEQUENTIAL_RATIO = 0.9
"""The directions ran one after the other if the job's run time is at least this share of the sum of theirs."""


def is_write_job(options: Mapping[str, str]) -> bool:
    """Whether the job is configured to write only, so that its reads can only verify."""
    return options.get("rw", options.get("readwrite", "")).partition(":")[0] in ("write", "randwrite")


def sequential_runtimes(
    options: Mapping[str, str], runtimes_ms: Mapping[Direction, int], job_ms: int
) -> Mapping[Direction, int]:
    """Return the run times of the directions of a job, if they ran one after the other; otherwise empty.

    `job_ms`: run time of the job; 0: not known. Then directions with equal run times are assumed to have run
    together, as with `verify_backlog`.
    """
    if not is_write_job(options) or not all(runtimes_ms.values()):
        return {}
    read_ms, write_ms = (runtimes_ms[direction] for direction in DIRECTIONS)
    are_sequential = (
        job_ms >= _MIN_SEQUENTIAL_RATIO * (read_ms + write_ms)
        if job_ms
        else abs(read_ms - write_ms) > _RUNTIME_PRECISION_MS
    )
    return runtimes_ms if are_sequential else {}


def split_phases(jobs: Iterable[JobStatus]) -> Iterator[JobStatus]:
    """Yield each job. A job whose directions ran one after the other becomes two: its writes, then its reads."""
    for job in jobs:
        if not job.runtimes_ms:
            yield job
            continue
        yield replace(_with_direction(job, "write"), remarks=[*job.remarks, _verify_remark(job.name)])
        yield replace(
            _with_direction(job, "read"),
            name=f"{job.name} (verify)",
            phase=1,
            profile=replace(
                job.profile, in_flight=None, asked_in_flight=None, read_ratio=1.0, seconds=None, warmup_seconds=None
            ),
            options={name: value for name, value in job.options.items() if name not in _START_OPTIONS},
            started_us=None,
            remarks=(),
        )


def _with_direction(job: JobStatus, direction: Direction) -> JobStatus:
    """Return a job with the figures of one direction. Flushes belong to writes."""
    other = "write" if direction == "read" else "read"
    samples = {
        name: (0 if name.endswith("_total") else None)
        if other in name or ("flush" in name and other == "write")
        else value
        for name, value in job.samples.items()
    }
    if direction == "read":
        samples["in_flight_configured"] = None
    ops = samples[f"ops_{direction}_total"] or 0
    bins = {each: counts for each, counts in job.bins.items() if each == direction}
    return replace(
        job, samples=samples, ops=round(ops), runtime_ms=job.runtimes_ms[direction], bins=bins, runtimes_ms={}
    )


def _verify_remark(name: str) -> tuple[str, str]:
    return (
        "verify",
        f"{name} verifies after writing: its reads are a step of their own, and not what it was configured for",
    )

"""A job that writes and then verifies what it has written, as two: its directions have run one after the other. Pure.

fio counts both in one entry, each direction over its own run time (`rw=write`, `verify=md5`). The reads are no part
of the load that was configured, and check sums take time between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from sanpath.model import DIRECTIONS, Direction
from sanpath_collectors.fio.status import JobStatus

_OF_ONE_START = ("startdelay", "ramp_time")
_SETTLED_MS = 100
"""Precision of run times, in milliseconds."""
_BOTH = 0.9
"""Share of the sum of both run times that a job has run from which neither lies in the other."""


def writes_first(options: Mapping[str, str]) -> bool:
    """Whether the reads of a job can only be those of verifying."""
    return options.get("rw", options.get("readwrite", "")).partition(":")[0] in ("write", "randwrite")


def own_runtimes(
    options: Mapping[str, str], runtimes_ms: Mapping[Direction, int], job_ms: int
) -> Mapping[Direction, int]:
    """Return the run times of the directions of a job that come one after the other; empty: they do not.

    `job_ms`: how long the job has run, 0: not known. Then directions that have run equally long are taken to have run
    together, as with `verify_backlog`.
    """
    if not writes_first(options) or not all(runtimes_ms.values()):
        return {}
    read_ms, write_ms = (runtimes_ms[direction] for direction in DIRECTIONS)
    apart = job_ms >= _BOTH * (read_ms + write_ms) if job_ms else abs(read_ms - write_ms) > _SETTLED_MS
    return runtimes_ms if apart else {}


def in_phases(jobs: Iterable[JobStatus]) -> Iterator[JobStatus]:
    """Yield each job; of one with phases the first with its writes alone, and then its reads as a job of its own."""
    for job in jobs:
        if not job.runtimes_ms:
            yield job
            continue
        yield replace(_only(job, "write"), remarks=[*job.remarks, _remark(job.name)])
        yield replace(
            _only(job, "read"),
            name=f"{job.name} (verify)",
            phase=1,
            profile=replace(
                job.profile, in_flight=None, asked_in_flight=None, read_ratio=1.0, seconds=None, warmup_seconds=None
            ),
            options={name: value for name, value in job.options.items() if name not in _OF_ONE_START},
            started_us=None,
            remarks=(),
        )


def _only(job: JobStatus, direction: Direction) -> JobStatus:
    """Return a job with the figures of one direction, the flushes being those of writes."""
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
    bins = {each: of_one for each, of_one in job.bins.items() if each == direction}
    return replace(
        job, samples=samples, ops=round(ops), runtime_ms=job.runtimes_ms[direction], bins=bins, runtimes_ms={}
    )


def _remark(name: str) -> tuple[str, str]:
    return (
        "verify",
        f"{name} verifies after writing: its reads are a step of their own, and not what it was configured for",
    )

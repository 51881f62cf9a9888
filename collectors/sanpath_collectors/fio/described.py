"""What a job is configured to do, as far as fio says so and its figures do not contradict it. Pure.

fio prints the options of one job for a group of different jobs, no options before 2.14, and no engine where the job
takes the one of its system: psync, but on Windows the asynchronous windowsaio.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sanpath.model import Direction
from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.options import has_latency_target, positive_count, profile, rate_limited

_SETTLED_MS = 100
"""Precision of run times, in milliseconds."""
_STEADY_MS = 1000
"""Before it, the I/Os that a ramp left outstanding count."""
_MORE_IN_FLIGHT = 2.0
"""Ratio of outstanding I/Os, measured to configured, from which the configuration is not that of the job. A mean
cannot exceed the configured number."""
_FREE_PERCENT = 85.0
"""Use of a core up to which a process is not what keeps I/Os back."""
_NEARLY_ALL = 0.8
"""Ratio of the configured I/Os in flight that counts as having reached them."""
_AT_CEILING_PERCENT = 30.0
"""Share of the I/Os at the highest level from which that level is taken for a ceiling."""
_ASYNCHRONOUS = "an asynchronous engine"
Remark = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a job has done.

    `runtime_ms`: since its start; `summed_ms`: of all its processes, 0 where fio does not report it. `in_flight`:
    mean number of outstanding I/Os, from throughput and latency; None: no latency. `directions`: those with I/O.
    """

    runtime_ms: int
    summed_ms: int
    in_flight: float | None
    directions: Collection[Direction]


def described(
    name: str, options: Mapping[str, str], processes: int, version: str | None, figures: Figures, *, grouped: bool
) -> tuple[LoadProfile, bool, list[Remark]]:
    """The profile of a job, whether its entry stands for different jobs, and what is to be said about that.

    `options`: empty where fio prints none. `processes`: of the job. `grouped`: the entry may be a sum.
    """
    if not options:
        return LoadProfile(engine="fio", engine_version=version), False, []
    unknown = LoadProfile(engine="fio", engine_version=version, rate_limited=rate_limited(options))
    found = profile(tuple(options.items()), processes, version)
    if grouped and (contradiction := _contradiction(options, found, processes, figures)):
        text = f"{name} stands for {contradiction}: how many I/Os are outstanding is not known"
        return unknown, True, [("mixed-jobs", text)]
    measured = figures.in_flight if figures.runtime_ms >= _STEADY_MS else None
    if measured is None or found.in_flight is None or measured < _MORE_IN_FLIGHT * found.in_flight:
        adapted = found.in_flight is None and has_latency_target(options)
        return found, False, [adapted_depth(name)] if adapted else []
    if "ioengine" not in options and measured <= processes * positive_count(options.get("iodepth"), 1) * 1.1:
        return profile((*options.items(), ("ioengine", _ASYNCHRONOUS)), processes, version), False, []
    text = f"{name} had {measured:,.0f} I/Os outstanding, and its options say {found.in_flight:,.0f}"
    return (
        replace(found, in_flight=None, asked_in_flight=None, synchronous=None),
        False,
        [("more-in-flight", f"{text}: how many it was to have is not known")],
    )


def adapted_depth(name: str) -> Remark:
    """Return the remark on a job with a latency target."""
    text = f"{name} has a latency_target, to which fio adapts its queue depth"
    return "latency-target", f"{text}: how many I/Os are outstanding is not known"


def is_depth_unreached(
    profile: LoadProfile,
    processes: int,
    levels: Mapping[int, float],
    cpu_percent: float | None,
    measured: float | None,
) -> bool:
    """Whether a job never had as many I/Os outstanding as it was asked for, although its processor was free.

    Its engine, or the system, then admits no more: many I/Os are started at the highest depth reached, and about as
    many are in flight. With a requested rate, which not every form of the output tells, only a few are.

    `levels`: depth → share of the I/Os, in per cent, that were started at this depth or more, up to the next one.
    `measured`: I/Os in flight by throughput and latency.
    """
    if measured is None or measured > _NEARLY_ALL * (profile.in_flight or 0.0):
        return False
    depth = (profile.in_flight or 0.0) / max(1, processes)
    reached = max((level for level, share in levels.items() if share > 0), default=0)
    asked = max((level for level in levels if level <= depth), default=0)
    is_ceiling = 0 < reached < asked and levels[reached] >= _AT_CEILING_PERCENT and measured >= reached / 2
    return is_ceiling and not profile.rate_limited and (cpu_percent or 0.0) < _FREE_PERCENT


def depth_not_reached(name: str, profile: LoadProfile, processes: int, levels: Mapping[int, float]) -> Remark:
    """Return the remark on a job whose queue depth is not reached."""
    reached = max(level for level, share in levels.items() if share > 0)
    depth = (profile.in_flight or 0.0) / max(1, processes)
    text = f"{name} was asked for {depth:,.0f} outstanding I/Os and never had more than {2 * reached - 1:,}"
    return "depth-not-reached", f"{text}: its engine, or the system, admits no more"


def all_taken_for_reads(name: str) -> Remark:
    """Return the remark on a job whose reads and writes are not told apart (unified_rw_reporting)."""
    return "unified", f"{name} reports reads and writes together: all are taken for reads"


def _contradiction(options: Mapping[str, str], found: LoadProfile, processes: int, figures: Figures) -> str:
    """Return what a group really is if it cannot be this many processes with these options; "": it can."""
    if "verify" in options:
        return ""
    if figures.runtime_ms >= _SETTLED_MS and figures.summed_ms > figures.runtime_ms * (processes + 0.5):
        count = round(figures.summed_ms / figures.runtime_ms)
        return f"{count} processes, and fio reports the options of {processes} of them"
    for direction, without in (("read", 0.0), ("write", 1.0)):
        if not figures.summed_ms and found.read_ratio == without and direction in figures.directions:
            return f"different jobs, and fio reports the options of one that does not {direction}"
    return ""

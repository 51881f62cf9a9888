"""The load profile of a job, from the options that fio prints, unless its figures contradict them. Pure.

For a group of different jobs, fio prints the options of only one of them. Before 2.14 it prints no options. It does
not print the default engine, which is psync, but the asynchronous windowsaio on Windows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sanpath.model import Direction
from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.jobs.latency import Latency
from sanpath_collectors.fio.jobs.options import (
    has_latency_target,
    is_rate_limited,
    positive_count,
    profile_from_options,
)

_MIN_RUNTIME_MS = 100
"""Shortest run time that is compared: run times are only this precise."""
_MIN_STEADY_MS = 1000
"""Shortest run time for which I/Os in flight are compared: I/Os that a ramp left outstanding matter before."""
_MAX_IN_FLIGHT_RATIO = 2.0
"""Ratio of measured to configured outstanding I/Os above which the options cannot be those of the job: a mean cannot
exceed the configured number."""
_MAX_FREE_CPU_PERCENT = 85.0
"""Use of a core, in per cent, up to which the processor does not limit the number of outstanding I/Os."""
_MIN_REACHED_RATIO = 0.8
"""Ratio of measured to configured I/Os in flight from which the configured depth counts as reached."""
_MIN_CEILING_PERCENT = 30.0
"""Share of the I/Os, in per cent, at the highest depth level from which this level is taken for a ceiling."""
_MIN_SUBMISSION_RATIO = 0.9
"""Share of submissions in the latency from which they are the I/O: sanpath's own choice."""
_ASYNCHRONOUS = "an asynchronous engine"
Remark = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured figures of a job.

    `runtime_ms`: run time since its start. `summed_ms`: sum of the run times of its processes; 0: not reported.
    `in_flight`: mean number of outstanding I/Os, from throughput and latency; None: no latency. `directions`: those
    with I/O.
    """

    runtime_ms: int
    summed_ms: int
    in_flight: float | None
    directions: Collection[Direction]


def profile_of_job(
    name: str, options: Mapping[str, str], processes: int, version: str | None, figures: Figures, *, grouped: bool
) -> tuple[LoadProfile, bool, list[Remark]]:
    """The profile of a job, whether its entry is the sum of different jobs, and remarks.

    `options`: empty if fio prints none. `processes`: number of the job's processes. `grouped`: the entry may be a sum
    of several jobs.
    """
    if not options:
        return LoadProfile(engine="fio", engine_version=version), False, []
    unknown = LoadProfile(engine="fio", engine_version=version, rate_limited=is_rate_limited(options))
    configured = profile_from_options(tuple(options.items()), processes, version)
    if grouped and (contradiction := _find_contradiction(options, configured, processes, figures)):
        text = f"{name} stands for {contradiction}: how many I/Os are outstanding is not known"
        return unknown, True, [("mixed-jobs", text)]
    measured = figures.in_flight if figures.runtime_ms >= _MIN_STEADY_MS else None
    if measured is None or configured.in_flight is None or measured < _MAX_IN_FLIGHT_RATIO * configured.in_flight:
        adapted = configured.in_flight is None and has_latency_target(options)
        return configured, False, [latency_target_remark(name)] if adapted else []
    if "ioengine" not in options and measured <= processes * positive_count(options.get("iodepth"), 1) * 1.1:
        return profile_from_options((*options.items(), ("ioengine", _ASYNCHRONOUS)), processes, version), False, []
    text = f"{name} had {measured:,.0f} I/Os outstanding, and its options say {configured.in_flight:,.0f}"
    return (
        replace(configured, in_flight=None, asked_in_flight=None, synchronous=None),
        False,
        [("more-in-flight", f"{text}: how many it was to have is not known")],
    )


def latency_target_remark(name: str) -> Remark:
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
    """Whether a job never reached its configured number of outstanding I/Os, although its processor was not busy.

    In that case its engine or the system admits no more: many I/Os are started at the highest depth reached, and
    about that many are in flight. A requested rate, which some output formats do not show, looks different: only a
    few I/Os are in flight.

    `levels`: depth → share of the I/Os, in per cent, that were started at this depth or more, up to the next level.
    `measured`: mean number of I/Os in flight, from throughput and latency.
    """
    if measured is None or measured > _MIN_REACHED_RATIO * (profile.in_flight or 0.0):
        return False
    depth = (profile.in_flight or 0.0) / max(1, processes)
    reached = max((level for level, share in levels.items() if share > 0), default=0)
    asked = max((level for level in levels if level <= depth), default=0)
    is_ceiling = 0 < reached < asked and levels[reached] >= _MIN_CEILING_PERCENT and measured >= reached / 2
    return is_ceiling and not profile.rate_limited and (cpu_percent or 0.0) < _MAX_FREE_CPU_PERCENT


def is_submission_the_io(profile: LoadProfile, latencies: Iterable[Latency]) -> bool:
    """Whether the processes of a job, each with one I/O outstanding, spend it in the call that submits the I/O, as
    buffered writes do. A process is then busy with its I/O: only more processes have more outstanding."""
    timed = [
        latency for latency in latencies if latency.ops and latency.completion_ns is not None and latency.mean_ns
    ]
    total = sum((latency.mean_ns or 0.0) * latency.ops for latency in timed)
    completing = sum((latency.completion_ns or 0.0) * latency.ops for latency in timed)
    one_each = profile.threads is not None and profile.in_flight == profile.threads
    return one_each and completing < (1 - _MIN_SUBMISSION_RATIO) * total


def depth_not_reached_remark(name: str, profile: LoadProfile, processes: int, levels: Mapping[int, float]) -> Remark:
    """Return the remark on a job whose queue depth is not reached."""
    reached = max(level for level, share in levels.items() if share > 0)
    depth = (profile.in_flight or 0.0) / max(1, processes)
    text = f"{name} was asked for {depth:,.0f} outstanding I/Os and never had more than {2 * reached - 1:,}"
    return "depth-not-reached", f"{text}: its engine, or the system, admits no more"


def unified_remark(name: str) -> Remark:
    """Return the remark on a job that does not report reads and writes separately (unified_rw_reporting)."""
    return "unified", f"{name} reports reads and writes together: all are taken for reads"


def _find_contradiction(options: Mapping[str, str], configured: LoadProfile, processes: int, figures: Figures) -> str:
    """Return what an entry must be if it cannot be this many processes with these options. "": no contradiction."""
    if "verify" in options:
        return ""
    if figures.runtime_ms >= _MIN_RUNTIME_MS and figures.summed_ms > figures.runtime_ms * (processes + 0.5):
        count = round(figures.summed_ms / figures.runtime_ms)
        return f"{count} processes, and fio reports the options of {processes} of them"
    for direction, without in (("read", 0.0), ("write", 1.0)):
        if not figures.summed_ms and configured.read_ratio == without and direction in figures.directions:
            return f"different jobs, and fio reports the options of one that does not {direction}"
    return ""

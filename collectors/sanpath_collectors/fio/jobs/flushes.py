"""The flushes that a job waits for, where fio prints no latencies of them: before 3.5, or in a cut copy. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.jobs.job_profile import Remark
from sanpath_collectors.fio.jobs.options import parse_duration_seconds, positive_count
from sanpath_collectors.fio.jobs.status import Number

_OPTIONS = ("fsync", "fdatasync")
"""Options whose value N means a flush after each N writes (fio HOWTO)."""
_MAX_WORK_NS, _MAX_WORK_NS_PER_BYTE = 50_000, 1.0
"""More processor time than fio needs for an I/O, and for each byte of it that it fills anew: sanpath's own choice."""
_MIN_UNTIMED_NS = 1e6
"""Shortest time that is left for each write from which it can only be a flush, if the processor times are not known:
a flush to a drive without protection against power loss takes longer. sanpath's own choice."""
_REACHED_RATIO = 0.99
"""Share of its `runtime` from which a job was ended by it."""


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """Times of a job's processes. `runtime_ms`: run time of the job. `summed_ms`: sum of the run times of its
    processes; 0: not reported. `user_percent`, `system_percent`: their shares of this sum on a processor; None: not
    known."""

    runtime_ms: int
    summed_ms: int
    user_percent: float | None
    system_percent: float | None

    def sum_ms(self, options: Mapping[str, str], processes: int) -> int | None:
        """The sum of the run times of the processes. None: not known, because processes that are bound by their size
        end one after the other."""
        if self.summed_ms:
            return self.summed_ms
        asked_ms = 1000 * (parse_duration_seconds(options.get("runtime")) or 0)
        is_ended_by_time = 0 < _REACHED_RATIO * asked_ms <= self.runtime_ms
        end_together = processes == 1 or options.get("time_based", "0") != "0" or is_ended_by_time
        return self.runtime_ms * processes if end_together else None


def flushes_between(
    options: Mapping[str, str], profile: LoadProfile, writes: Number, waited_ns: float | None, times: ProcessTimes
) -> dict[str, Number]:
    """Number of a job's flushes, and the sum of their latencies in nanoseconds. Empty: it does not flush, or they do
    not follow from the rest.

    A process without a rate that keeps one I/O outstanding does nothing but its own work (user time), its I/Os and
    its flushes: what the others leave of its run time, it waits for flushes. System time is part of the I/Os and the
    flushes. If it is more than what is left, the process may wait for nothing. A process that verifies also reads
    after its writes. `waited_ns`: sum of the latencies of its I/Os; None: not known. If a copy lacks the times on the
    processor, as much as an I/O can need is taken for them, and only a long rest is one of flushes.
    """
    every = next((positive_count(options[name], 0) for name in _OPTIONS if options.get(name, "0") != "0"), 0)
    number = int(writes or 0) // every if every else 0
    has_one_each = bool(profile.threads) and profile.in_flight == profile.threads
    if not number or not has_one_each or profile.rate_limited is not False or options.get("verify", "0") != "0":
        return {}
    sum_ms, user, system = times.sum_ms(options, profile.threads or 0), times.user_percent, times.system_percent
    if waited_ns is None or sum_ms is None:
        return {}
    if user is None or system is None:
        if profile.block_bytes is None:
            return {}
        own_ns = (writes or 0) * (_MAX_WORK_NS + _MAX_WORK_NS_PER_BYTE * profile.block_bytes)
        least_ns = (writes or 0) * _MIN_UNTIMED_NS
    else:
        own_ns, least_ns = 1e6 * sum_ms * user / 100, 1e6 * sum_ms * system / 100
    flushed_ns = 1e6 * sum_ms - own_ns - waited_ns
    if flushed_ns <= least_ns:
        return {}
    return {"ops_flush_total": number, "latency_seconds_flush_total": round(flushed_ns)}


def flushes_between_remark(name: str) -> Remark:
    """Return the remark on flushes whose latencies are not printed."""
    text = f"{name} has no latencies of its flushes: the time that its I/Os and its own work leave is taken for them"
    return "flushes-between", text

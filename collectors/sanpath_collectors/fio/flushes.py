"""The flushes that a job waits for, where fio prints no latencies of them: before 3.5, or in a cut copy. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import LoadProfile
from sanpath_collectors.fio.job_profile import Remark
from sanpath_collectors.fio.options import positive_count
from sanpath_collectors.fio.status import Number

_OPTIONS = ("fsync", "fdatasync")
"""Options whose value N means a flush after each N writes (fio HOWTO)."""


def flushes_between(
    options: Mapping[str, str], profile: LoadProfile, writes: Number, waited_ns: float | None, runtime_ms: int
) -> dict[str, Number]:
    """Number of a job's flushes, and the sum of their latencies in nanoseconds. Empty: it does not flush, or they do
    not follow from the rest.

    A process without a rate that keeps one I/O outstanding does nothing but its I/Os and its flushes: what its I/Os
    leave of the run time, it waits for flushes. The processor time between them counts as well, a few microseconds.
    `waited_ns`: sum of the latencies of its I/Os; None: not known.
    """
    every = next((positive_count(options[name], 0) for name in _OPTIONS if options.get(name, "0") != "0"), 0)
    number = int(writes or 0) // every if every else 0
    has_one_each = profile.threads is not None and profile.in_flight == profile.threads
    if not number or waited_ns is None or not has_one_each or profile.rate_limited is not False:
        return {}
    flushed_ns = 1e6 * runtime_ms * (profile.threads or 0) - waited_ns
    return {"ops_flush_total": number, "latency_seconds_flush_total": round(flushed_ns)} if flushed_ns > 0 else {}


def flushes_between_remark(name: str) -> Remark:
    """Return the remark on flushes whose latencies are not printed."""
    text = f"{name} has no latencies of its flushes: the time that its I/Os leave is taken for them"
    return "flushes-between", text

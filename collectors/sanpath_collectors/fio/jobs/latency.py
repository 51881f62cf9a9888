"""Selects the latencies of the load among those that fio prints. Pure.

fio measures the time from submission to completion of an I/O (lat), and its two parts (slat, clat). Mean and maximum
are read from lat. fio's percentiles are those of clat, unless lat_percentiles=1 is set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.model import Direction
from sanpath_collectors.fio.jobs.status import MAX_COUNT, Number

PERCENTS = (50, 95, 99)
MAX_WAIT_MS = 150_000
"""An I/O waits for a lost session for two minutes by default (open-iscsi: replacement_timeout)."""
_MAX_SUBMISSION_RATIO = 0.2
"""Largest share of submission in the latency up to which percentiles of the completion are used as those of the
latency. They are too low by at most this share."""
_MIN_DIFFERENCE_NS = 50_000
"""Smaller differences between the two are ignored: a busy machine needs this long between two clock readings, which
matters for I/O in memory."""
_ROUNDING_RATIO = 0.05
"""A percentile may exceed the maximum by this ratio: fio rounds percentiles by 1.6 % (FIO_IO_U_PLAT_BITS is 6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Latencies of one direction as fio prints them, in nanoseconds. None, or no percentile: not printed.

    `mean_ns`, `max_ns`: from submission to completion. `completion_ns`: mean of the completion alone. `percentiles`:
    per cent → value; `of_completion`: they are those of the completion alone. `ops`: number of measured I/Os.
    `runtime_ms`: run time of the job including its ramp.
    """

    mean_ns: float | None
    max_ns: float | None
    completion_ns: float | None
    percentiles: Mapping[int, float] = field(default_factory=dict)
    of_completion: bool = True
    ops: int
    runtime_ms: int

    @property
    def is_credible(self) -> bool:
        """Whether no latency is longer than the run time. Some versions print the time since the machine was started.

        The run time may be exceeded by a wait, because a status that waits for an I/O is printed late.
        """
        longest_ns = 1e6 * (self.runtime_ms + MAX_WAIT_MS)
        latencies = [self.mean_ns or 0.0, self.max_ns or 0.0]
        return all(math.isfinite(ns) and ns <= longest_ns for ns in latencies) and latencies[0] * self.ops < MAX_COUNT

    @property
    def has_distribution(self) -> bool:
        """Whether the printed percentiles and the distribution can be used as those of the whole latency."""
        mean, completion = self.mean_ns, self.completion_ns
        if not self.is_credible:
            return False
        if self.of_completion and None not in (mean, completion):
            longer, shorter = max(mean or 0, completion or 0), min(mean or 0, completion or 0)
            if longer - shorter > max(_MIN_DIFFERENCE_NS, _MAX_SUBMISSION_RATIO * longer):
                return False
        return self.max_ns is None or max(self.percentiles.values(), default=0) <= (1 + _ROUNDING_RATIO) * self.max_ns

    def samples(self, direction: Direction) -> dict[str, Number]:
        """Values of tables.LOAD. None: not known."""
        mean_ns, max_ns = (self.mean_ns, self.max_ns) if self.is_credible else (None, None)
        percentiles = self.percentiles if self.has_distribution else {}
        return {
            f"latency_seconds_{direction}_total": None if mean_ns is None else round(mean_ns * self.ops),
            f"latency_seconds_max_{direction}": max_ns,
            **{f"latency_seconds_p{percent}_{direction}": percentiles.get(percent) for percent in PERCENTS},
        }


def latency_remarks(name: str, latencies: Iterable[Latency]) -> Sequence[tuple[str, str]]:
    """Return the remarks on the latencies of a job, as (code, text)."""
    printed = [latency for latency in latencies if latency.ops]
    if not all(latency.is_credible for latency in printed):
        text = f"{name} reports latencies that are longer than it ran"
        return [("impossible-latency", f"{text}: its latency is not known")]
    if any(any(latency.percentiles.values()) and not latency.has_distribution for latency in printed):
        text = f"{name} reports percentiles of the completion, and not of the whole latency with its submission"
        return [("completion-percentiles", f"{text}: they are not known; the option lat_percentiles=1 gives them")]
    return []

"""Whether a few slow I/Os hold most of the latency, as where I/Os are lost, or whether all of them take long."""

from __future__ import annotations

from math import log

from sanpath.facts.load.loads import LoadFacts
from sanpath.units import percent

_USUAL = 0.1
"""Mean share of the time that the slowest few of the I/Os hold if none is lost (exponential tail)."""
_MOST = 3.0


def tail_weight(load: LoadFacts) -> tuple[float, str]:
    """Return the log-odds that a few slow I/Os hold the latency, at least 0, and what says so.

    The slowest hundredth takes at least the mean less 99 hundredths of p99, for no other I/O takes longer than p99.
    """
    tails = [
        (1 - part, 1 - part * percentile / load.latency_seconds)
        for part, percentile in ((0.95, load.p95), (0.99, load.p99))
        if percentile
    ]
    slowest, share = max(tails, key=lambda tail: tail[1], default=(0.0, 0.0))
    words = f"the slowest {percent(slowest)} of the I/Os take {percent(share)} of the time"
    return min(_MOST, max(0.0, share / _USUAL + log(_USUAL))), words

"""Whether a few slow I/Os hold most of the latency, as where I/Os are lost, or whether all of them take long."""

from __future__ import annotations

from sanpath.facts.load.loads import LoadFacts
from sanpath.units import percent
from sanpath.verdict.evidence.likelihoods import beyond_usual

_USUAL = 0.1
"""Mean share of the time that the slowest few of the I/Os hold if none is lost (exponential tail)."""
_MOST = 3.0


def tail_weight(load: LoadFacts) -> tuple[float, str]:
    """Return the log-odds that a few slow I/Os hold the latency, at least 0, and what says so. Slow writes matter as
    far as they, and not the flushes after them, take the time."""
    slowest, share = max(load.tail_shares, key=lambda tail: tail[1], default=(0.0, 0.0))
    share *= load.latency_seconds / load.cycle_seconds
    words = f"the slowest {percent(slowest)} of the I/Os take {percent(share)} of the time"
    return max(0.0, beyond_usual(share, _USUAL, _MOST)), words

"""Whether most of the latency is due to a few slow I/Os, as when I/Os are lost, or all I/Os take long."""

from __future__ import annotations

from sanpath.facts.load.loads import LoadFacts
from sanpath.units import percent
from sanpath.verdict.evidence.likelihoods import excess_weight

_USUAL_TAIL_SHARE = 0.1
"""Mean share of the time that the slowest few I/Os take if none is lost (exponential tail)."""
_MAX_WEIGHT = 3.0
"""Largest weight for the claim: sanpath's own choice, 20 to 1, since other causes also have a tail."""
_MIN_TIMEOUT_SECONDS = 0.2
"""Linux retransmits a TCP segment after this time at the earliest (TCP_RTO_MIN); a SCSI command is retried after
seconds. A cache that answers most I/Os also makes a tail, but of much faster I/Os."""


def tail_weight(load: LoadFacts) -> tuple[float, str]:
    """Return the log-odds that a few lost I/Os cause the latency, at least 0, and the reading in words.

    An I/O that waited for a time-out took at least that long: the further the slowest I/O stays below the shortest
    time-out, the less this counts. Slow writes matter only as far as they, and not the flushes after them, take the
    time.
    """
    slowest, share = max(load.tail_shares, key=lambda tail: tail[1], default=(0.0, 0.0))
    share *= load.latency_seconds / load.cycle_seconds
    words = f"the slowest {percent(slowest)} of the I/Os take {percent(share)} of the time"
    may_be_lost = 1.0
    if load.slowest_seconds is not None:
        may_be_lost = min(1.0, (load.slowest_seconds / _MIN_TIMEOUT_SECONDS) ** 2)
    return max(0.0, excess_weight(share, _USUAL_TAIL_SHARE, _MAX_WEIGHT)) * may_be_lost, words

"""Whether a few slow I/Os hold most of the latency, as where I/Os are lost, or whether all of them take long."""

from __future__ import annotations

from sanpath.facts.load.loads import LoadFacts
from sanpath.units import percent
from sanpath.verdict.evidence.likelihoods import beyond_usual

_USUAL = 0.1
"""Mean share of the time that the slowest few of the I/Os hold if none is lost (exponential tail)."""
_MOST = 3.0
"""The most that it counts for the claim: sanpath's own choice, 20 to 1, since other causes have a tail as well."""
_SHORTEST_TIMEOUT_SECONDS = 0.2
"""Linux sends a TCP segment again after so long at the least (TCP_RTO_MIN); a SCSI command is repeated after seconds.
A cache that answers most of the I/Os makes a tail as well, of I/Os that take much less."""


def tail_weight(load: LoadFacts) -> tuple[float, str]:
    """Return the log-odds that a few I/Os which were lost hold the latency, at least 0, and what says so.

    An I/O that waited for a time-out took at least as long as that: the further the slowest I/O stays below the
    shortest time-out, the less this counts. Slow writes matter as far as they, and not the flushes after them, take
    the time."""
    slowest, share = max(load.tail_shares, key=lambda tail: tail[1], default=(0.0, 0.0))
    share *= load.latency_seconds / load.cycle_seconds
    words = f"the slowest {percent(slowest)} of the I/Os take {percent(share)} of the time"
    may_be_lost = 1.0
    if load.slowest_seconds is not None:
        may_be_lost = min(1.0, (load.slowest_seconds / _SHORTEST_TIMEOUT_SECONDS) ** 2)
    return max(0.0, beyond_usual(share, _USUAL, _MOST)) * may_be_lost, words

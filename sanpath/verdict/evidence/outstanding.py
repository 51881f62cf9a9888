"""Whether so many outstanding I/Os, or such a busy device, fit a load that is its own limit."""

from __future__ import annotations

from math import exp, log, log1p

from sanpath.facts.table import number
from sanpath.verdict.places.table import PlaceTable

_FILL_HALF = 32.0
"""Outstanding I/Os that saturate half of what is tested: a disk takes a few, a flash drive some dozens, an array
hundreds. Other steps tell more."""
_FAST_SECONDS, _SLOWEST_RATIO = 1e-3, 8.0
"""Seconds that an I/O takes from flash behind a network, and the largest ratio to it that counts: so many fewer I/Os
saturate what serves each in a longer time (drives, of which an I/O needs one alone)."""
_LEAST_IDLE, _EVEN_PACE = 0.02, 0.2
"""Idle share of a device that counts as none, and the share of the loads that ask for no more whose I/Os start so
evenly that one is outstanding at any time: sanpath's own choice."""


def saturates_many(table: PlaceTable, outstanding: float) -> float:
    """Log-likelihood ratio that nothing below a load is saturated, by its outstanding I/Os. 0: they are few, or other
    steps or the array tell more."""
    is_shown = table.towards_fewer or table.towards_more or table.array is not None
    if is_shown or outstanding < _FILL_HALF / 2:
        return 0.0
    # What serves many at once, such as flash, takes less time for each.
    served = outstanding * min(_SLOWEST_RATIO, max(1.0, table.seconds(table.gaps) / _FAST_SECONDS))
    return -log1p(served / _FILL_HALF)


def never_idle(table: PlaceTable) -> tuple[float, float]:
    """Log-likelihood ratio that a load asks for no more, by how seldom its device is idle, and the share of the time
    in which that is busy. (0, 0): it is not known.

    I/Os that start independently of each other leave it idle for e^-N of the time, N being how many are outstanding
    in the mean (M/G/infinity queue); if they never overlap, for 1 - N.
    """
    rows = [row for row in table.rows("device") if row["busy_ratio"] is not None and row["in_flight"]]
    if not rows:
        return 0.0, 0.0
    most = max(rows, key=lambda row: number(row, "in_flight"))
    busy, expected = min(1.0, number(most, "busy_ratio")), exp(-number(most, "in_flight"))
    less = min(1.0, (1 - busy + _LEAST_IDLE) / (expected + _LEAST_IDLE))
    return log((1 - _EVEN_PACE) * less**2 + _EVEN_PACE), busy

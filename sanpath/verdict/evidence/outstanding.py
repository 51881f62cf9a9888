"""Whether the outstanding I/Os, and the utilisation of the device, fit a load that is its own limit."""

from __future__ import annotations

from math import exp, log, log1p

from sanpath.facts.table import number
from sanpath.verdict.places.table import PlaceTable

_HALF_SATURATED_IN_FLIGHT = 32.0
"""Outstanding I/Os that saturate half of all tested devices: a disk needs a few, a flash drive some dozens, an array
hundreds. Other steps are better evidence."""
_FAST_SECONDS, _SLOWEST_RATIO = 1e-3, 8.0
"""Seconds that an I/O from flash behind a network takes, and the largest ratio to that time that counts. A device
that serves each I/O more slowly by some factor is saturated by fewer I/Os by the same factor (each I/O needs one
drive)."""
_MIN_IDLE_RATIO, _EVEN_PACE_SHARE = 0.02, 0.2
"""Idle share of a device that counts as none; and the share of demand-limited loads that start I/Os so evenly that
one is always outstanding. sanpath's own choices."""


def saturation_weight(table: PlaceTable, outstanding: float) -> float:
    """Log-likelihood ratio that nothing below the load is saturated, given its outstanding I/Os. 0: there are few, or
    other steps or the array are better evidence."""
    is_shown = table.towards_fewer or table.towards_more or table.array is not None
    if is_shown or outstanding < _HALF_SATURATED_IN_FLIGHT / 2:
        return 0.0
    # A device that serves many at once, such as flash, takes less time for each.
    served = outstanding * min(_SLOWEST_RATIO, max(1.0, table.seconds(table.gaps) / _FAST_SECONDS))
    return -log1p(served / _HALF_SATURATED_IN_FLIGHT)


def sent_together(table: PlaceTable) -> float:
    """Outstanding I/Os that may be below the load. If the engine serves its I/Os one after another, only one I/O of
    each process is below the load; the others wait in the process."""
    total, row = table.facts.in_flight_in(table.load.step), table.facts.row_of(table.load)
    return min(total, number(row, "threads") or total) if row["engine_serialises"] else total


def idle_weight(table: PlaceTable) -> tuple[float, float]:
    """Log-likelihood ratio that a load requests no more, given how rarely its device is idle; and the share of the
    time that the device is busy. (0, 0): not known.

    I/Os that start independently leave the device idle for e^-N of the time, with N outstanding on average
    (M/G/infinity queue); if they never overlap, for 1 - N.
    """
    rows = [row for row in table.rows("device") if row["busy_ratio"] is not None and row["in_flight"]]
    if not rows:
        return 0.0, 0.0
    most = max(rows, key=lambda row: number(row, "in_flight"))
    busy, expected = min(1.0, number(most, "busy_ratio")), exp(-number(most, "in_flight"))
    less = min(1.0, (1 - busy + _MIN_IDLE_RATIO) / (expected + _MIN_IDLE_RATIO))
    return log((1 - _EVEN_PACE_SHARE) * less**2 + _EVEN_PACE_SHARE), busy

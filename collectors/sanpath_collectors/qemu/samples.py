"""Turns the statistics of one poll into rows. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sanpath.plugin import json_object, json_objects
from sanpath_collectors.qemu.qmp import integer
from sanpath_collectors.qemu.tables import IN_FLIGHT, PERCENTILES, STATISTICS, THREAD

_PERCENTILE = 0.99

Bins = Mapping[str, Sequence[int]]
"""Name of a histogram → its counts."""
Row = Mapping[str, int | float | None]


def histograms(statistics: Mapping[str, Any]) -> dict[str, tuple[list[int], list[int]]]:
    """Return name of a histogram → (boundaries in nanoseconds, counts): {} unless a person has enabled them."""
    result = {}
    for name in PERCENTILES.values():
        histogram = json_object(statistics.get(name))
        boundaries, bins = _integers(histogram.get("boundaries")), _integers(histogram.get("bins"))
        if boundaries and len(bins) == len(boundaries) + 1:
            result[name] = (boundaries, bins)
    return result


def _integers(values: object) -> list[int]:
    """Return a list of integers that are not negative; [] for anything else."""
    if not isinstance(values, list) or any(integer(value) is None for value in values):
        return []
    return values


def percentile(boundaries: Sequence[int], bins: Sequence[int], earlier: Sequence[int] | None) -> int | None:
    """Return the boundary below which 99 of 100 I/Os since the last poll are, in nanoseconds.

    None: no I/O since then, the histogram was set anew, or it is not bounded by any boundary.

    >>> percentile([100, 1000], [90, 20, 0], [0, 0, 0]), percentile([100, 1000], [0, 0, 5], [0, 0, 0])
    (1000, None)
    """
    if earlier is None or len(earlier) != len(bins):
        return None
    counts = [now - before for now, before in zip(bins, earlier, strict=True)]
    total = sum(counts)
    if min(counts) < 0 or not total:
        return None
    passed = 0
    for boundary, count in zip(boundaries, counts, strict=False):
        passed += count
        if passed >= _PERCENTILE * total:
            return boundary
    return None


def row(statistics: Mapping[str, Any], earlier: Bins, thread: tuple[int, int] | None) -> Row:
    """Return the row of a disk. `earlier`: histograms of the last poll. `thread`: time its threads ran and waited."""
    values: dict[str, int | float | None] = {
        metric: integer(statistics[name]) for metric, name in STATISTICS.items() if name in statistics
    }
    measured = histograms(statistics)
    for metric, name in PERCENTILES.items():
        if name in measured:
            values[metric] = percentile(*measured[name], earlier.get(name))
    intervals = json_objects(statistics.get("timed_stats"))
    if intervals:
        shortest = min(intervals, key=lambda interval: integer(interval.get("interval_length")) or 0)
        for metric, name in IN_FLIGHT.items():
            depth = shortest.get(name)
            values[metric] = float(depth) if isinstance(depth, int | float) and depth >= 0 else None
    if thread is not None:
        values |= dict(zip(THREAD, thread, strict=True))
    return values

"""Totals and percentiles of a timespan as samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.model import DIRECTIONS
from sanpath.plugin import Rows, Totals
from sanpath_collectors.diskspd.outcome import Load, Percentiles
from sanpath_collectors.diskspd.tables import LOAD

_PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "max": 100.0}


def rows(loads: Sequence[Load], totals: Sequence[Totals], seen: int, percentiles: Mapping[str, Percentiles]) -> Rows:
    """One row a load. `percentiles`: path → told; none before the end of the timespan."""
    values: dict[str, list[int | float | None]] = {column.metric: [] for column in LOAD.columns}
    for load, total in zip(loads, totals, strict=True):
        row = {**total.values, "in_flight_configured": load.profile.in_flight}
        for direction in DIRECTIONS:
            told = dict(percentiles.get(load.path, {}).get(direction, ()))
            for name, percent in _PERCENTILES.items():
                seconds = told.get(percent)
                row[f"latency_seconds_{name}_{direction}"] = None if seconds is None else round(seconds * 1e9)
        for metric, column in values.items():
            column.append(row[metric])
    return Rows(LOAD, [load.local_id for load in loads], [seen] * len(loads), dict(values))


def buckets(percentiles: Sequence[tuple[float, float]]) -> list[tuple[float | None, float]]:
    """Percentiles → what lies between them. Those of one latency are one bucket."""
    shares: dict[float | None, float] = {}
    before = slowest = 0.0
    for percent, seconds in percentiles:
        slowest = max(slowest, seconds)
        shares[slowest] = shares.get(slowest, 0.0) + max(0.0, percent - before) / 100
        before = max(before, percent)
    if before < 100:
        shares[None] = 1 - before / 100
    return list(shares.items())

"""Totals and percentiles of a timespan as samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.model import DIRECTIONS
from sanpath.plugin import Rows, Totals, rows_of
from sanpath_collectors.diskspd.outcome import Load, Percentiles, SpanOutcome
from sanpath_collectors.diskspd.tables import HOST, LOAD

_PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "max": 100.0}


def load_rows(
    loads: Sequence[Load], totals: Sequence[Totals], seen_us: int, percentiles: Mapping[str, Percentiles]
) -> Rows:
    """One row for each load. `percentiles`: path → percentiles; empty before the end of the timespan."""
    values: dict[str, dict[str, int | float | None]] = {}
    for load, total in zip(loads, totals, strict=True):
        row = values[load.local_id] = {**total.values, "in_flight_configured": load.profile.in_flight}
        for direction in DIRECTIONS:
            seconds_by_percent = dict(percentiles.get(load.path, {}).get(direction, ()))
            for name, percent in _PERCENTILES.items():
                seconds = seconds_by_percent.get(percent)
                row[f"latency_seconds_{name}_{direction}"] = None if seconds is None else round(seconds * 1e9)
    return rows_of(LOAD, values, seen_us)


def host_rows(span: SpanOutcome, host: str, seen_us: int) -> Rows | None:
    """Utilisation of the host's processors in the timespan that ends at `seen_us`; None: not in the result."""
    if span.busy_ratio is None or not span.core_ratios:
        return None
    values: dict[str, list[int | float | None]] = {
        "cpu_busy_ratio": [span.busy_ratio],
        "cpu_busiest_core_ratio": [max(span.core_ratios)],
    }
    return Rows(HOST, [host], [seen_us], dict(values), covers_seconds=[span.seconds or 0.0])


def percentile_buckets(percentiles: Sequence[tuple[float, float]]) -> list[tuple[float | None, float]]:
    """Buckets between percentiles: (upper bound in seconds, None: no bound; share of the I/Os).

    Percentiles of the same latency share a bucket.
    """
    shares: dict[float | None, float] = {}
    previous_percent = slowest = 0.0
    for percent, seconds in percentiles:
        slowest = max(slowest, seconds)
        shares[slowest] = shares.get(slowest, 0.0) + max(0.0, percent - previous_percent) / 100
        previous_percent = max(previous_percent, percent)
    if previous_percent < 100:
        shares[None] = 1 - previous_percent / 100
    return list(shares.items())

"""Tables of fio's statuses and logs, and their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.model import DIRECTIONS
from sanpath.plugin import LOAD_COUNTERS, LOAD_PERCENTILES, Column, Rows, Table
from sanpath_collectors.fio.jobs.status import JobStatus, Number

_NS = 1e-9
_MS = 1e-3
_SECTOR_BYTES = 512.0

_OTHER_COUNTERS = (
    Column("ops_flush_total", 64),
    Column("latency_seconds_flush_total", 64, _NS),
    Column("ops_failed_total", 64),
)
LOAD = Table(
    "load",
    (
        *LOAD_COUNTERS,
        *_OTHER_COUNTERS,
        *LOAD_PERCENTILES,
        Column("in_flight_configured"),
        Column("cpu_ratio", 0, 0.01),
        *(Column(f"throughput_{what}_ratio_{d}") for d in DIRECTIONS for what in ("deviation", "max")),
    ),
    plane="load",
)

LOG = Table(
    "load",
    (
        *(Column(f"latency_seconds_mean_{direction}", 0, _NS) for direction in ("read", "write")),
        *(Column(f"submission_seconds_mean_{direction}", 0, _NS) for direction in ("read", "write")),
        *(Column(f"completion_seconds_mean_{direction}", 0, _NS) for direction in ("read", "write")),
    ),
    rollup="average",
    plane="load",
)
"""Means over the windows of a log."""

LUN = Table(
    "lun",
    (
        Column("ops_read_total", 64),
        Column("ops_write_total", 64),
        Column("latency_seconds_read_total", 64, _MS),
        Column("latency_seconds_write_total", 64, _MS),
        Column("in_flight_seconds_total", 64, _MS),
        *(Column(f"bytes_{direction}_total", 64, _SECTOR_BYTES) for direction in DIRECTIONS),
    ),
    plane="guest_block",
)


def rows(
    table: Table,
    samples: Sequence[tuple[str, int, Mapping[str, int | float | None]]],
    device_times: Sequence[int] | None = None,
) -> Rows:
    """Rows of a table from (local id, time in microseconds, metric → value). `device_times`: fio's, microseconds."""
    metrics = [column.metric for column in table.columns]
    by_row = [map(values.get, metrics) for _, _, values in samples]
    return Rows(
        table,
        [entity for entity, _, _ in samples],
        [seen_us for _, seen_us, _ in samples],
        dict(zip(metrics, map(list, zip(*by_row, strict=True)), strict=True)),
        device_time=device_times,
    )


def zeros(job: JobStatus) -> Mapping[str, Number]:
    """Values of LOAD at the begin of a job's counters."""
    counters: dict[str, Number] = {column.metric: 0 for column in (*LOAD_COUNTERS, *_OTHER_COUNTERS)}
    return counters | {"in_flight_configured": job.in_flight}

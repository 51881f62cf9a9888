"""Tables of a batch of esxtop."""

from __future__ import annotations

from sanpath.plugin import Column, Table

NANOSECONDS = 1e9
"""Counters of seconds are stored in nanoseconds."""


def _table(kind: str, *metrics: str, plane: str | None = None) -> Table:
    """A table of averages over the interval before a row, as esxtop reports them."""
    columns = (
        Column(m, 64, 1 / NANOSECONDS if "seconds" in m else 1.0) if m.endswith("_total") else Column(m)
        for m in metrics
    )
    return Table(kind, tuple(columns), "average", plane)


TRAFFIC = tuple(f"{quantity}_{d}_total" for quantity in ("ops", "bytes") for d in ("read", "write"))
LATENCY_SUMS = tuple(f"latency_seconds_{d}_total" for d in ("read", "write"))
LATENCIES = ("device", "kernel", "queue", "guest")
"""The latencies of a command: DAVG, KAVG, QAVG and GAVG."""

_MEANS = tuple(f"{latency}_seconds_mean" for latency in LATENCIES)
_QUEUE = ("in_flight", "queued", "queue_depth", "aborts_total", "resets_total")

LUN = _table(
    "lun",
    *(*TRAFFIC, *LATENCY_SUMS, *_MEANS, *(f"{mean}_{d}" for mean in _MEANS for d in ("read", "write")), *_QUEUE),
    plane="device",
)
HBA = _table("hba", *TRAFFIC, *_MEANS, *_QUEUE, plane="device")
PATH = _table("path", *TRAFFIC, "device_seconds_mean", plane="device")
VDISK = _table("vdisk", *TRAFFIC, *LATENCY_SUMS, plane="vscsi")
HOST = _table("host", "cpu_busy_ratio", "cpu_busiest_core_ratio", "cpu_busy_seconds_total", "cpu_seconds_total")

TABLES = (LUN, HBA, PATH, VDISK, HOST)

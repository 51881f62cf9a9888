"""The tables of a Prometheus server: one for each entity kind, the same for all exporters.

Exporters report floating-point numbers in various units. Each profile has the factors to the base unit, so that a
metric is always recorded in the same form: counters as integers, and counters of seconds as nanoseconds. A counter
that wraps in the device is continued beyond its width.
"""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table

_NANOSECONDS = 1e-9
_DIRECTIONS = ("read", "write")

_BLOCK = tuple(f"{quantity}_{d}_total" for quantity in ("ops", "bytes", "latency_seconds") for d in _DIRECTIONS)
_PORT = tuple(f"{quantity}_{d}_total" for quantity in ("bytes", "errors", "discards") for d in ("rx", "tx"))
_ARRAY = tuple(
    f"{quantity}_{d}"
    for quantity in (
        "ops_per_second",
        "bytes_per_second",
        "service_seconds",
        "response_seconds",
        "queue_seconds",
        "san_seconds",
        "qos_limit_seconds",
    )
    for d in _DIRECTIONS
)

_METRICS: Mapping[str, tuple[str, ...]] = {
    "lun": (
        *_BLOCK,
        "ops_merged_read_total",
        "ops_merged_write_total",
        "in_flight",
        "busy_seconds_total",
        "in_flight_seconds_total",
        "ops_discard_total",
        "latency_seconds_discard_total",
        "ops_flush_total",
        "latency_seconds_flush_total",
        *(
            f"{plane_part}_seconds_mean{direction}"
            for plane_part in ("device", "kernel", "queue", "guest")
            for direction in ("", "_read", "_write")
        ),
        "queue_depth",
    ),
    "host": (
        *_ARRAY,
        "cpu_busy_ratio",
        "cpu_busy_seconds_total",
        "cpu_seconds_total",
        "interrupts_total",
        "context_switches_total",
    ),
    "hba": (
        *_PORT,
        "link_up",
        "link_speed_bits_per_second",
        "link_failures_total",
        "loss_of_sync_total",
        "loss_of_signal_total",
        "invalid_words_total",
        "invalid_crc_total",
    ),
    "controller": (
        "cpu_busy_ratio",
        "cpu_busy_seconds_total",
        "cpu_seconds_total",
        "tcp_segments_tx_total",
        "tcp_retransmits_total",
        "cache_hit_ratio",
        "write_cache_used_ratio",
        "media_busy_ratio",
        *(f"{quantity}_{d}_total" for quantity in ("ops", "latency_seconds") for d in _DIRECTIONS),
    ),
    "switch_port": (
        *_PORT,
        "link_up",
        "link_speed_bits_per_second",
        "frames_rx_total",
        "frames_tx_total",
        "credit_stall_seconds_tx_total",
        "credit_stall_seconds_rx_total",
        "discards_timeout_total",
        "crc_errors_total",
        "encoding_errors_total",
        "link_resets_rx_total",
        "link_resets_tx_total",
        "link_failures_total",
        "sync_losses_total",
        "signal_losses_total",
        "credit_losses_total",
    ),
    "array": (*_ARRAY, *_BLOCK),
    "volume": (*_ARRAY, *_BLOCK),
    "cluster_node": ("resync_bytes_per_second_read",),
    "array_port": (
        "bytes_per_second_rx",
        "bytes_per_second_tx",
        "errors_per_second",
        "crc_errors_per_second",
        "link_failures_per_second",
        "sync_losses_per_second",
        "signal_losses_per_second",
        "invalid_words_per_second",
        "link_up",
    ),
}


def column(metric: str) -> Column:
    """Return the column in which a metric is recorded."""
    if not metric.endswith("_total"):
        return Column(metric)
    return Column(metric, 64, _NANOSECONDS if "_seconds_" in metric else 1.0)


def table(kind: str, plane: str | None = None, averaged: bool = False) -> Table:
    """Return the table of an entity kind, with the plane and the averaging of one exporter."""
    return Table(kind, tuple(map(column, _METRICS[kind])), "average" if averaged else "instant", plane)


TABLES = (
    table("lun", "guest_block"),
    table("lun", "windows_disk"),
    table("lun", "device", averaged=True),
    table("host"),
    table("host", "array"),
    table("hba"),
    table("switch_port"),
    table("array", "array"),
    table("volume", "array"),
    table("controller"),
    table("controller", "array"),
    table("cluster_node"),
    table("array_port"),
)

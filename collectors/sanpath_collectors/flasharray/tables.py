"""Tables of a poll of a FlashArray, and the REST 2 field of each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table

_MICROSECONDS = 1e-6

PERFORMANCE_FIELDS: Mapping[str, str] = {
    "ops_per_second_read": "reads_per_sec",
    "ops_per_second_write": "writes_per_sec",
    "bytes_per_second_read": "read_bytes_per_sec",
    "bytes_per_second_write": "write_bytes_per_sec",
    "service_seconds_read": "service_usec_per_read_op",
    "service_seconds_write": "service_usec_per_write_op",
    "queue_seconds_read": "queue_usec_per_read_op",
    "queue_seconds_write": "queue_usec_per_write_op",
    "san_seconds_read": "san_usec_per_read_op",
    "san_seconds_write": "san_usec_per_write_op",
    "qos_limit_seconds_read": "qos_rate_limit_usec_per_read_op",
    "qos_limit_seconds_write": "qos_rate_limit_usec_per_write_op",
}
"""Only the components of the latency: the meaning of usec_per_read_op depends on the release (see release.py)."""

ARRAY_SPACE_METRICS = ("data_reduction_ratio", "used_bytes")
SPACE_METRICS = (*ARRAY_SPACE_METRICS, "written_bytes")

_PORT_FIELDS = {
    "bytes_per_second_rx": "received_bytes_per_sec",
    "bytes_per_second_tx": "transmitted_bytes_per_sec",
    "errors_per_second": "total_errors_per_sec",
    "crc_errors_per_second": "received_crc_errors_per_sec",
}

FC_FIELDS = _PORT_FIELDS | {
    "frames_per_second_rx": "received_frames_per_sec",
    "frames_per_second_tx": "transmitted_frames_per_sec",
    "link_failures_per_second": "received_link_failures_per_sec",
    "sync_losses_per_second": "received_loss_of_sync_per_sec",
    "signal_losses_per_second": "received_loss_of_signal_per_sec",
    "invalid_words_per_second": "transmitted_invalid_words_per_sec",
}

ETH_FIELDS = _PORT_FIELDS | {
    "frames_per_second_rx": "received_packets_per_sec",
    "frames_per_second_tx": "transmitted_packets_per_sec",
    "discards_per_second_rx": "flow_control_received_discarded_packets_per_sec",
    "discards_per_second_tx": "flow_control_transmitted_discarded_packets_per_sec",
    "pause_frames_per_second_rx": "flow_control_received_pause_frames_per_sec",
    "pause_frames_per_second_tx": "flow_control_transmitted_pause_frames_per_sec",
}
"""Discards and pause frames since REST 2.36."""

BALANCE_FIELDS: Mapping[str, str] = {
    "ops_count": "op_count",
    "busiest_path_ratio": "fraction_relative_to_max",
}


def performance_table(kind: str, *gauges: str) -> Table:
    """A table with throughput, the components of the latency (microseconds), and additional gauges."""
    metrics = (*PERFORMANCE_FIELDS, *gauges)
    scaled = (Column(metric, scale=_MICROSECONDS if "_seconds_" in metric else 1.0) for metric in metrics)
    return Table(kind, tuple(scaled), rollup="average", plane="array")


ARRAY = performance_table("array", *ARRAY_SPACE_METRICS)
VOLUME = performance_table("volume", *SPACE_METRICS)
HOST = performance_table("host")
ARRAY_PORT = Table("array_port", tuple(map(Column, FC_FIELDS | ETH_FIELDS)), rollup="average")
PATH = Table("path", tuple(map(Column, BALANCE_FIELDS)), rollup="average")

"""What a poll of a FlashArray yields, and which REST field each column is."""

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
"""The components only: usec_per_read_op holds the queue time from Purity 6.3.14 and 6.4.10 on, and not before."""

PORT_FIELDS: Mapping[str, str] = {
    "bytes_per_second_rx": "received_bytes_per_sec",
    "bytes_per_second_tx": "transmitted_bytes_per_sec",
    "errors_per_second": "total_errors_per_sec",
}

BALANCE_FIELDS: Mapping[str, str] = {
    "ops_count": "op_count",
    "busiest_path_ratio": "fraction_relative_to_max",
}


def _column(metric: str) -> Column:
    return Column(metric, scale=_MICROSECONDS if "_seconds_" in metric else 1.0)


def _performance(kind: str) -> Table:
    return Table(kind, tuple(map(_column, PERFORMANCE_FIELDS)), rollup="average", plane="array")


ARRAY = _performance("array")
VOLUME = _performance("volume")
HOST = _performance("host")
ARRAY_PORT = Table("array_port", tuple(map(Column, PORT_FIELDS)), rollup="average")
PATH = Table("path", tuple(map(Column, BALANCE_FIELDS)), rollup="average")

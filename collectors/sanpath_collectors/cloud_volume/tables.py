"""The table of a poll of the volumes of a cloud instance."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table

LOG_PAGE: Mapping[str, str] = {
    "total_read_ops": "ops_read_total",
    "total_write_ops": "ops_write_total",
    "total_read_bytes": "bytes_read_total",
    "total_write_bytes": "bytes_write_total",
    "total_read_time": "latency_seconds_read_total",
    "total_write_time": "latency_seconds_write_total",
    "ebs_volume_performance_exceeded_iops": "over_volume_ops_seconds_total",
    "ebs_volume_performance_exceeded_tp": "over_volume_bytes_seconds_total",
    "ec2_instance_performance_exceeded_iops": "over_host_ops_seconds_total",
    "ec2_instance_performance_exceeded_tp": "over_host_bytes_seconds_total",
    "volume_queue_length": "queued",
}
"""Field name in nvme-cli, in the order of the log page → metric of a volume. Times are microseconds."""

_MICROSECONDS = 1e-6
_GAUGES = ("queued",)

VOLUME = Table(
    "volume",
    tuple(
        Column(metric, 0 if metric in _GAUGES else 64, _MICROSECONDS if "seconds" in metric else 1.0)
        for metric in LOG_PAGE.values()
    ),
    plane="array",
)

"""Tables of a poll of a FlashArray over REST 1, and the fields that each version reports."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table
from sanpath_collectors.flasharray.tables import (
    ARRAY_SPACE_METRICS,
    PERFORMANCE_FIELDS,
    SPACE_METRICS,
    performance_table,
)

Version = tuple[int, int]

SAN_TIME_SINCE, QOS_LIMIT_SINCE, QUEUE_TIME_SINCE, PORTS_SINCE = (1, 11), (1, 14), (1, 16), (1, 17)
"""First REST 1 versions that report these (vendor's OpenAPI 1.7 to 1.19; QoS as in the vendor's Ansible modules)."""

_RESPONSE_FIELDS: Mapping[str, str] = {
    "response_seconds_read": "usec_per_read_op",
    "response_seconds_write": "usec_per_write_op",
}
"""Before 1.11 the total is "arrival-to-completion time for a host operation", which includes the transfer."""

_THROUGHPUT = tuple(metric for metric in PERFORMANCE_FIELDS if "_per_second_" in metric)
_ARRAY_TIMES = ("service_seconds_read", "service_seconds_write", "san_seconds_read", "san_seconds_write")


def fields_of(version: Version) -> Mapping[str, str]:
    """Metric → REST 2 name of the field, for the throughput and latency that this version reports.

    >>> "service_seconds_read" in fields_of((1, 9)), "queue_seconds_read" in fields_of((1, 15))
    (False, False)
    """
    if version >= QUEUE_TIME_SINCE:
        return PERFORMANCE_FIELDS
    metrics = (*_THROUGHPUT, *(_ARRAY_TIMES if version >= SAN_TIME_SINCE else ()))
    fields = {metric: PERFORMANCE_FIELDS[metric] for metric in metrics}
    return fields if version >= SAN_TIME_SINCE else {**fields, **_RESPONSE_FIELDS}


def _table(kind: str, *gauges: str) -> Table:
    return performance_table(kind, *_RESPONSE_FIELDS, *gauges)


ARRAY = _table("array", "queued", *ARRAY_SPACE_METRICS)
VOLUME = _table("volume", *SPACE_METRICS)
HOST = _table("host")
_PORT_METRICS = ("bytes_per_second_rx", "bytes_per_second_tx", "errors_per_second")
_FRAME_METRICS = ("frames_per_second_rx", "frames_per_second_tx")
ARRAY_PORT = Table("array_port", tuple(map(Column, (*_PORT_METRICS, *_FRAME_METRICS))), rollup="average")

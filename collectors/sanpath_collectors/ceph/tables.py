"""Tables of a poll, and the performance counters of an OSD for each column."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.plugin import Column, Table
from sanpath_collectors.linux_target.tables import CONTROLLER

_NANOSECONDS, _MICROSECONDS = 1e-9, 1e-6
DIRECTIONS: Mapping[str, str] = {"read": "op_r", "write": "op_w"}
"""Direction → prefix of its counters in `perf dump`, section osd."""

BYTES: Mapping[str, str] = {"read": "op_r_out_bytes", "write": "op_w_in_bytes"}
"""Direction → counter of its payload."""

OWN_WORK_TIMES: Mapping[str, str] = {"read": "op_r_process_latency", "write": "subop_w_latency"}
"""Direction → times of an OSD without those of its peers.

A client's write also waits for the replicas on other OSDs. An OSD's own writes as a replica need no peer.
"""


def _columns(*quantities: str) -> tuple[Column, ...]:
    metrics = [f"{quantity}_{direction}_total" for direction in DIRECTIONS for quantity in quantities]
    return tuple(Column(metric, 64, _NANOSECONDS if "_seconds_" in metric else 1.0) for metric in metrics)


ARRAY = Table("array", _columns("ops", "bytes", "latency_seconds", "queue_seconds"), plane="array")
"""Sums over all OSDs. Their clock starts when a client's message has arrived, and ends with the reply.

`latency_seconds`: from the start of an operation by a thread of the OSD, for a write including its replicas.
"""

VOLUME = Table("volume", _columns("ops", "bytes", "latency_seconds"), plane="array")
"""One row for each image, from the manager's queries to the OSDs: like ARRAY, but including the queue."""

OSD = Table(
    "controller",
    (
        *_columns("ops", "latency_seconds"),
        Column("cpu_busy_seconds_total", 64, _MICROSECONDS),
        Column("cpu_seconds_total", 64, _MICROSECONDS),
    ),
)
"""One row for each OSD. `cpu_…`: time in which its threads for operations (tp_osd_tp) ran or waited to run."""

HOST = Table("controller", tuple(column for column in CONTROLLER.columns if column.metric.startswith("tcp_")))
"""One row for the TCP connections of each host that has OSDs."""

CLUSTER = Table("cluster_node", (Column("resync_bytes_read_total", 64),))
"""One row for all OSDs: the data that they pushed to other OSDs by recovery and backfill."""

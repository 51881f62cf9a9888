"""The counters of Windows and their metrics. Names are English and folded, as in `Vocabulary`."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath_collectors.perfmon.plan import MetricSource
from sanpath_collectors.perfmon.tables import NANOSECONDS

_READS, _WRITES = "disk reads/sec", "disk writes/sec"

DISK = (
    MetricSource("ops_read_total", _READS),
    MetricSource("ops_write_total", _WRITES),
    MetricSource("bytes_read_total", "disk read bytes/sec"),
    MetricSource("bytes_write_total", "disk write bytes/sec"),
    MetricSource("latency_seconds_read_total", _READS, "avg. disk sec/read", NANOSECONDS),
    MetricSource("latency_seconds_write_total", _WRITES, "avg. disk sec/write", NANOSECONDS),
    # By Little's law, the mean number of outstanding reads is the sum of their latencies per second.
    MetricSource("latency_seconds_read_total", "avg. disk read queue length", None, NANOSECONDS),
    MetricSource("latency_seconds_write_total", "avg. disk write queue length", None, NANOSECONDS),
    MetricSource("in_flight_seconds_total", "avg. disk queue length", None, NANOSECONDS),
    MetricSource("in_flight", "current disk queue length", summed=False),
)
"""PhysicalDisk, or LogicalDisk if there is no PhysicalDisk."""

CLUSTER_VOLUME = (
    MetricSource("ops_read_total", "reads/sec"),
    MetricSource("ops_write_total", "writes/sec"),
    MetricSource("bytes_read_total", "read bytes/sec"),
    MetricSource("bytes_write_total", "write bytes/sec"),
    MetricSource("latency_seconds_read_total", "reads/sec", "avg. sec/read", NANOSECONDS),
    MetricSource("latency_seconds_write_total", "writes/sec", "avg. sec/write", NANOSECONDS),
    MetricSource("latency_seconds_read_total", "avg. read queue length", None, NANOSECONDS),
    MetricSource("latency_seconds_write_total", "avg. write queue length", None, NANOSECONDS),
)
"""Cluster CSVFS."""

HYBRID_DISK = (
    MetricSource("cache_hit_ops_read_total", "cache hit reads/sec"),
    MetricSource("cache_miss_ops_read_total", "cache miss reads/sec"),
    MetricSource("cache_hit_bytes_read_total", "cache hit read bytes/sec"),
    MetricSource("cache_miss_bytes_read_total", "cache miss read bytes/sec"),
    MetricSource("cache_bytes_write_total", "cache write bytes/sec"),
    MetricSource("cache_populate_bytes_total", "cache populate bytes/sec"),
    MetricSource("direct_bytes_write_total", "direct write bytes/sec"),
    MetricSource("destage_bytes_total", "destage bytes/sec"),
    MetricSource("ops_read_total", "disk reads/sec"),
    MetricSource("ops_write_total", "disk writes/sec"),
    MetricSource("bytes_read_total", "disk read bytes/sec"),
    MetricSource("bytes_write_total", "disk write bytes/sec"),
)
"""Cluster Storage Hybrid Disks: a capacity device with the cache in front of it."""

CACHE_STORE = (
    MetricSource("cache_update_bytes_total", "update bytes/sec"),
    MetricSource("destage_bytes_total", "destage bytes/sec"),
    MetricSource("cache_page_remaps_total", "page remap/sec"),
    MetricSource("cache_pages", "cache pages", summed=False),
    MetricSource("cache_dirty_pages", "cache pages dirty", summed=False),
    MetricSource("cache_used_ratio", "cache usage %", factor=0.01, summed=False),
)
"""Cluster Storage Cache Stores: a cache device."""


def _storage_bus(place: str) -> tuple[MetricSource, ...]:
    prefix = f"{place}: "
    return (
        MetricSource(f"ops_{place}_read_total", f"{prefix}read/sec"),
        MetricSource(f"ops_{place}_write_total", f"{prefix}writes/sec"),
        MetricSource(f"bytes_{place}_read_total", f"{prefix}read - bytes/sec"),
        MetricSource(f"bytes_{place}_write_total", f"{prefix}write - bytes/sec"),
        MetricSource(f"bytes_{place}_write_total", f"{prefix}writes - bytes/sec"),
        MetricSource(
            f"latency_seconds_{place}_read_total", f"{prefix}read/sec", f"{prefix}read latency", NANOSECONDS
        ),
        MetricSource(
            f"latency_seconds_{place}_write_total", f"{prefix}writes/sec", f"{prefix}write latency", NANOSECONDS
        ),
    )


CLUSTER_NODE = (
    *_storage_bus("local"),
    *_storage_bus("remote"),
    MetricSource("smb_direct_bytes_sent_total", "bytes sent/sec"),
    MetricSource("smb_direct_bytes_received_total", "bytes received/sec"),
    MetricSource("smb_direct_bytes_rdma_read_total", "bytes rdma read/sec"),
    MetricSource("smb_direct_bytes_rdma_written_total", "bytes rdma written/sec"),
)
"""Cluster Disk Counters and SMB Direct Connection, _Total of each."""

RDMA = (
    MetricSource("bytes_rx_total", "rdma inbound bytes/sec"),
    MetricSource("bytes_tx_total", "rdma outbound bytes/sec"),
)
"""RDMA Activity."""

NETWORK = (
    MetricSource("bytes_rx_total", "bytes received/sec"),
    MetricSource("bytes_tx_total", "bytes sent/sec"),
    MetricSource("link_speed_bits_per_second", "current bandwidth", summed=False),
)
"""Network Interface."""

PROCESSORS = (
    MetricSource("cpu_busy_ratio", "busy", factor=0.01, summed=False),
    MetricSource("cpu_busiest_core_ratio", "busiest core", factor=0.01, summed=False),
    MetricSource("cpu_busy_seconds_total", "all cores", factor=0.01 * NANOSECONDS),
    MetricSource("cpu_seconds_total", "cores", factor=NANOSECONDS),
)
"""Values derived from the counters of single processors."""

HOST = (
    *PROCESSORS,
    MetricSource("interrupts_total", "interrupts/sec"),
    MetricSource("context_switches_total", "context switches/sec"),
)
"""Values derived from Processor Information or Processor, and System."""

_PROCESSOR = frozenset(("% processor time", "interrupts/sec"))


def _counters(*tables: tuple[MetricSource, ...]) -> frozenset[str]:
    return frozenset(counter for uses in tables for use in uses for counter in use.counters)


USED_COUNTERS: Mapping[str, frozenset[str]] = {
    "physicaldisk": _counters(DISK),
    "logicaldisk": _counters(DISK),
    "cluster csvfs": _counters(CLUSTER_VOLUME),
    "cluster storage hybrid disks": _counters(HYBRID_DISK),
    "cluster storage cache stores": _counters(CACHE_STORE),
    "cluster disk counters": _counters(CLUSTER_NODE),
    "smb direct connection": _counters(CLUSTER_NODE),
    "rdma activity": _counters(RDMA),
    "network interface": _counters(NETWORK),
    "processor": _PROCESSOR,
    "processor information": _PROCESSOR,
    "system": frozenset(("context switches/sec",)),
}
"""Object → the counters that are read."""

REQUIRED_COUNTERS = {
    "ops_read_total": "Disk Reads/sec",
    "ops_write_total": "Disk Writes/sec",
    "bytes_read_total": "Disk Read Bytes/sec",
    "bytes_write_total": "Disk Write Bytes/sec",
    "latency_seconds_read_total": "Avg. Disk sec/Read",
    "latency_seconds_write_total": "Avg. Disk sec/Write",
}
"""Metric of a disk that a diagnosis needs → its counter."""

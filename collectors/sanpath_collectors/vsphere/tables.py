"""The tables of a poll, and the performance counters of vSphere for their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sanpath.plugin import Column, Table

SAMPLE_SECONDS = 20
"""An ESXi host samples every 20 s and retains one hour (vSphere Monitoring, Data Collection Intervals)."""

UNITS: Mapping[str, float] = {
    "number": 1.0,
    "kiloBytesPerSecond": 1024.0,
    "megaBytesPerSecond": 1024.0 * 1024.0,
    "second": 1.0,
    "millisecond": 1e-3,
    "microsecond": 1e-6,
    "percent": 1e-4,
}
"""Key of a counter's unit (PerformanceManagerUnit) → factor to base units; percent counters are in 0.01 %."""

_MS, _NS = 1e-3, 1e-9

ValueType = Literal["count", "rate", "gauge"]


@dataclass(frozen=True, slots=True)
class Use:
    """The source of a metric: a counter of vSphere by its name, group.name.rollup.

    `value_type`: a "count" of events in the interval, or their "rate" per second; both are integrated to a counter
    metric. `times`: the counter by which the value is multiplied: for a mean, the rate of its events.
    """

    metric: str
    counter: str
    value_type: ValueType = "gauge"
    times: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A counter group: its table, the managed objects that have it, and its metrics.

    `instances`: of the managed object's devices: "*" all, "" their sum.
    """

    table: Table
    object_kind: Literal["HostSystem", "VirtualMachine"]
    uses: tuple[Use, ...]
    instances: Literal["*", ""] = "*"


def _throughput(group: str, operations: tuple[str, str], value_type: ValueType) -> tuple[Use, ...]:
    return (
        Use("ops_read_total", f"{group}.{operations[0]}", value_type),
        Use("ops_write_total", f"{group}.{operations[1]}", value_type),
        Use("bytes_read_total", f"{group}.read.average", "rate"),
        Use("bytes_write_total", f"{group}.write.average", "rate"),
    )


_COUNTED = ("numberRead.summation", "numberWrite.summation")
_AVERAGED = ("numberReadAveraged.average", "numberWriteAveraged.average")
_DIRECTIONS = (("read", "Read"), ("write", "Write"))
_COUNTER_PREFIXES = {"device": "device", "kernel": "kernel", "queue": "queue", "guest": "total"}
"""Latency in metrics → prefix in counters: DAVG, KAVG, QAVG and GAVG of esxtop."""


def _latencies(group: str) -> tuple[Use, ...]:
    return tuple(Use(f"guest_seconds_mean_{d}", f"{group}.total{name}Latency.average") for d, name in _DIRECTIONS)


def _faults(group: str) -> tuple[Use, ...]:
    return (
        Use("aborts_total", f"{group}.commandsAborted.summation", "count"),
        Use("resets_total", f"{group}.busResets.summation", "count"),
    )


_LUN = (
    *_throughput("disk", _COUNTED, "count"),
    *(Use(f"{latency}_seconds_mean", f"disk.{name}Latency.average") for latency, name in _COUNTER_PREFIXES.items()),
    *(
        Use(f"{latency}_seconds_mean_{d}", f"disk.{name}{direction}Latency.average")
        for latency, name in _COUNTER_PREFIXES.items()
        for d, direction in _DIRECTIONS
    ),
    Use("queue_depth", "disk.maxQueueDepth.average"),
    *_faults("disk"),
    Use("reservation_conflicts_total", "disk.scsiReservationConflicts.summation", "count"),
)
_DATASTORE = (
    Use("vm_seconds_mean", "datastore.datastoreVMObservedLatency.latest"),
    Use("size_normalized_seconds_mean", "datastore.sizeNormalizedDatastoreLatency.average"),
    Use("sioc_active_ratio", "datastore.siocActiveTimePercentage.average"),
    Use("sioc_queue_depth", "datastore.datastoreMaxQueueDepth.latest"),
)
_HBA = (
    *_throughput("storageAdapter", _AVERAGED, "rate"),
    *_latencies("storageAdapter"),
    Use("queue_seconds_mean", "storageAdapter.queueLatency.average"),
    Use("in_flight", "storageAdapter.outstandingIOs.average"),
    Use("queued", "storageAdapter.queued.average"),
    Use("queue_depth", "storageAdapter.queueDepth.average"),
)
_PATH = (*_throughput("storagePath", _AVERAGED, "rate"), *_latencies("storagePath"), *_faults("storagePath"))
_VDISK = (
    *_throughput("virtualDisk", _AVERAGED, "rate"),
    *(
        Use(
            f"latency_seconds_{d}_total",
            f"virtualDisk.{d}LatencyUS.latest",
            "rate",
            f"virtualDisk.number{name}Averaged.average",
        )
        for d, name in _DIRECTIONS
    ),
    *(Use(f"latency_seconds_mean_{d}", f"virtualDisk.total{name}Latency.average") for d, name in _DIRECTIONS),
    *(Use(f"in_flight_{d}", f"virtualDisk.{d}OIO.latest") for d, _ in _DIRECTIONS),
)
_HOST = (Use("cpu_busy_ratio", "cpu.usage.average"),)

_MICROSECONDS = ("vm_seconds_mean", "size_normalized_seconds_mean")
_PERCENT = ("sioc_active_ratio", "cpu_busy_ratio")


def _column(use: Use) -> Column:
    """Return the column of a metric. Means are truncated to milliseconds, except those of datastores."""
    if use.value_type != "gauge":
        return Column(use.metric, 64, _NS if "_seconds_" in use.metric else 1.0)
    if use.metric in _MICROSECONDS:
        return Column(use.metric, scale=1e-6)
    if use.metric in _PERCENT:
        return Column(use.metric, scale=1e-4)
    return Column(use.metric, scale=_MS, resolution=_MS) if "_seconds_" in use.metric else Column(use.metric)


def _table(kind: str, uses: tuple[Use, ...], plane: str | None = None) -> Table:
    return Table(kind, tuple(map(_column, uses)), "average", plane)


LUN = _table("lun", (*_LUN, *_DATASTORE), "device")
HBA = _table("hba", _HBA, "kernel")
PATH = _table("path", _PATH, "kernel")
VDISK = _table("vdisk", _VDISK, "vscsi")
HOST = _table("host", _HOST)
PATH_STATE = Table("path", (Column("path_usable"),), plane="kernel")

GROUPS: Mapping[str, Group] = {
    "disk": Group(LUN, "HostSystem", _LUN),
    "datastore": Group(LUN, "HostSystem", _DATASTORE),
    "storageAdapter": Group(HBA, "HostSystem", _HBA),
    "storagePath": Group(PATH, "HostSystem", _PATH),
    "cpu": Group(HOST, "HostSystem", _HOST, ""),
    "virtualDisk": Group(VDISK, "VirtualMachine", _VDISK),
}
"""Name of vSphere's counter group → group."""

CONSEQUENCES: Mapping[str, str] = {
    "disk": "the I/O of a LUN, and where it waits, is unknown",
    "datastore": "latencies below a millisecond, and whether SIOC throttles, are unknown",
    "storageAdapter": "the queue of an adapter is unknown",
    "storagePath": "whether all paths are used is unknown",
    "cpu": "whether the host's processors limit is unknown",
    "virtualDisk": "the I/O of a virtual disk is unknown",
}
"""Name of a counter group → facts that are unknown without it."""

VSAN_SECONDS = 300
"""Interval of the means of vSAN's performance service."""
_VSAN_MEANS = ("ops_per_second", "bytes_per_second", "latency_seconds_mean")
_VSAN = tuple(
    Column(f"{mean}_{d}", scale=1e-6 if "_seconds_" in mean else 1.0)
    for mean in _VSAN_MEANS
    for d in ("read", "write")
)
VSAN_NODE = Table(
    "cluster_node",
    (
        *_VSAN,
        Column("in_flight"),
        Column("congestion"),
        Column("client_cache_hit_ratio", scale=0.01),
        Column("resync_bytes_per_second_read"),
        Column("resync_ops_per_second_read"),
        Column("resync_seconds_mean_read", scale=1e-6),
    ),
    "average",
)
VSAN_MEDIA = Table(
    "media",
    (
        *_VSAN,
        Column("in_flight"),
        Column("congestion"),
        Column("write_buffer_free_ratio", scale=0.01),
        Column("read_cache_hit_ratio", scale=0.01),
        Column("destage_bytes_per_second"),
        Column("resync_bytes_per_second_read"),
        Column("resync_bytes_per_second_write"),
    ),
    "average",
)

TABLES = (LUN, HBA, PATH, PATH_STATE, VDISK, HOST, VSAN_NODE, VSAN_MEDIA)

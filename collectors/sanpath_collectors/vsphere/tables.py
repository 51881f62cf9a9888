"""What a poll yields, and which of vSphere's performance counters each column is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sanpath.plugin import Column, Table

SAMPLE_SECONDS = 20
"""An ESXi host samples itself every 20 s, and keeps an hour of it (vSphere Monitoring, Data Collection Intervals)."""

UNITS: Mapping[str, float] = {
    "number": 1.0,
    "kiloBytesPerSecond": 1024.0,
    "megaBytesPerSecond": 1024.0 * 1024.0,
    "second": 1.0,
    "millisecond": 1e-3,
    "microsecond": 1e-6,
    "percent": 1e-4,
}
"""A counter's unit by its key (PerformanceManagerUnit) in base units; a percent counter has hundredths of them."""

_MS, _NS = 1e-3, 1e-9

How = Literal["count", "rate", "gauge"]


@dataclass(frozen=True, slots=True)
class Use:
    """A metric and the counter that tells it: group.name.rollup.

    `how`: "count" of what happened in the interval and "rate" a second of it are summed up to a counter. `times`: a
    mean that is multiplied by the rate of what it is the mean of.
    """

    metric: str
    counter: str
    how: How = "gauge"
    times: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """What is asked of one kind of managed object about one kind of thing. `instances`: "*" all, "" the sum."""

    table: Table
    of: Literal["HostSystem", "VirtualMachine"]
    uses: tuple[Use, ...]
    instances: Literal["*", ""] = "*"


def _moved(group: str, operations: tuple[str, str], how: How) -> tuple[Use, ...]:
    return (
        Use("ops_read_total", f"{group}.{operations[0]}", how),
        Use("ops_write_total", f"{group}.{operations[1]}", how),
        Use("bytes_read_total", f"{group}.read.average", "rate"),
        Use("bytes_write_total", f"{group}.write.average", "rate"),
    )


_COUNTED = ("numberRead.summation", "numberWrite.summation")
_AVERAGED = ("numberReadAveraged.average", "numberWriteAveraged.average")
_DIRECTIONS = (("read", "Read"), ("write", "Write"))
_PARTS = {"device": "device", "kernel": "kernel", "queue": "queue", "guest": "total"}
"""DAVG, KAVG, QAVG and GAVG → how a counter of it begins."""


def _latencies(group: str) -> tuple[Use, ...]:
    return tuple(Use(f"guest_seconds_mean_{d}", f"{group}.total{name}Latency.average") for d, name in _DIRECTIONS)


def _faults(group: str) -> tuple[Use, ...]:
    return (
        Use("aborts_total", f"{group}.commandsAborted.summation", "count"),
        Use("resets_total", f"{group}.busResets.summation", "count"),
    )


_LUN = (
    *_moved("disk", _COUNTED, "count"),
    *(Use(f"{part}_seconds_mean", f"disk.{name}Latency.average") for part, name in _PARTS.items()),
    *(
        Use(f"{part}_seconds_mean_{d}", f"disk.{name}{direction}Latency.average")
        for part, name in _PARTS.items()
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
    *_moved("storageAdapter", _AVERAGED, "rate"),
    *_latencies("storageAdapter"),
    Use("queue_seconds_mean", "storageAdapter.queueLatency.average"),
    Use("in_flight", "storageAdapter.outstandingIOs.average"),
    Use("queued", "storageAdapter.queued.average"),
    Use("queue_depth", "storageAdapter.queueDepth.average"),
)
_PATH = (*_moved("storagePath", _AVERAGED, "rate"), *_latencies("storagePath"), *_faults("storagePath"))
_VDISK = (
    *_moved("virtualDisk", _AVERAGED, "rate"),
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
    """Means are whole milliseconds, cut off, but for those of datastores."""
    if use.how != "gauge":
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
"""By the name of vSphere's counter group."""

CONSEQUENCES: Mapping[str, str] = {
    "disk": "what a LUN does, and where its I/Os wait, is unknown",
    "datastore": "latencies below a millisecond, and whether SIOC throttles, are unknown",
    "storageAdapter": "the queue of an adapter is unknown",
    "storagePath": "whether all paths are used is unknown",
    "cpu": "whether the host's processors limit is unknown",
    "virtualDisk": "what a virtual disk does is unknown",
}
"""What stays unknown without the counters of a group."""

VSAN_SECONDS = 300
"""vSAN's performance service keeps means of five minutes."""
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

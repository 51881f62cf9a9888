r"""Builds the plan for a batch of esxtop: which of its thousands of columns are read, and their metrics. No I/O.

    "(PDH-CSV 4.0) (UTC)(0)","\\esx7\Memory\Memory Overcommit (1 Minute Avg)",...
    "\\esx7\Physical Disk SCSI Device(naa.624a93706c1b16ce1c034d1c000aab1a)\Average Driver MilliSec/Command",...
    "\\esx7\Physical Disk Adapter(vmhba2)\Reads/sec","\\esx7\Virtual Disk(sqlvm1:scsi0:1)\Average MilliSec/Read",...
    "11/20/2026 08:00:05","0.00","0.41",...

The layout is PDH CSV. Names are English on every host. MBytes are 2^20 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.esxtop import tables
from sanpath_collectors.esxtop.tables import LATENCIES, NANOSECONDS
from sanpath_collectors.perfmon.objects import PROCESSORS
from sanpath_collectors.perfmon.pdh import CounterPath
from sanpath_collectors.perfmon.plan import Counters, Instances, MetricSource, Plan

_MEGABYTE = 1024.0 * 1024.0
_MS = 1e-3
_COUNTER_WORDS = {"device": "driver", "kernel": "kernel", "queue": "queue", "guest": "guest"}

_THROUGHPUT = (
    MetricSource("ops_read_total", "reads/sec"),
    MetricSource("ops_write_total", "writes/sec"),
    MetricSource("bytes_read_total", "mbytes read/sec", factor=_MEGABYTE),
    MetricSource("bytes_write_total", "mbytes written/sec", factor=_MEGABYTE),
)
_MEANS = tuple(
    MetricSource(
        f"{latency}_seconds_mean",
        f"average {_COUNTER_WORDS[latency]} millisec/command",
        "commands/sec",
        _MS,
        summed=False,
    )
    for latency in LATENCIES
)
_QUEUE = (
    MetricSource("in_flight", "active commands", summed=False),
    MetricSource("queued", "queued commands", summed=False),
    MetricSource("queue_depth", "device q depth", summed=False),
    MetricSource("queue_depth", "adapter q depth", summed=False),
    MetricSource("aborts_total", "aborts/sec"),
    MetricSource("resets_total", "resets/sec"),
)
_DIRECTIONS = (("read", "reads/sec"), ("write", "writes/sec"))

LUN = (
    *_THROUGHPUT,
    *_MEANS,
    *_QUEUE,
    *(
        MetricSource(
            f"{latency}_seconds_mean_{d}", f"average {_COUNTER_WORDS[latency]} millisec/{d}", rate, _MS, summed=False
        )
        for latency in LATENCIES
        for d, rate in _DIRECTIONS
    ),
    *(
        MetricSource(f"latency_seconds_{d}_total", rate, f"average driver millisec/{d}", _MS * NANOSECONDS)
        for d, rate in _DIRECTIONS
    ),
)
HBA = (*_THROUGHPUT, *_MEANS, *_QUEUE)
PATH = (*_THROUGHPUT, _MEANS[0])
VDISK = (
    *_THROUGHPUT,
    *(
        MetricSource(f"latency_seconds_{d}_total", rate, f"average millisec/{d}", _MS * NANOSECONDS)
        for d, rate in _DIRECTIONS
    ),
)

_BUSY = "% util time"
_COUNTERS_BY_OBJECT: Mapping[str, frozenset[str]] = {
    name: frozenset(counter for use in uses for counter in use.counters)
    for name, uses in (
        ("physical disk scsi device", LUN),
        ("physical disk adapter", HBA),
        ("physical disk path", PATH),
        ("virtual disk", VDISK),
    )
} | {"physical cpu": frozenset((_BUSY,))}

_DEVICE_NAME = re.compile(r"(naa\.[0-9a-f]+|eui\.[0-9a-f]+|(?:t10|mpx|vml|uuid)\.\S+)", re.IGNORECASE)
_VIRTUAL_DISK_NAME = re.compile(r"(.+):((?:scsi|nvme|sata|ide)\d{1,3}:\d{1,3})")
_PATH_NAME = re.compile(r"(?:(naa\.[0-9a-f]+|eui\.[0-9a-f]+)\W)?.*?((vmhba\d{1,4}):C\d+:T\d+:L\d+).*", re.IGNORECASE)
_ADAPTER_NAME = re.compile(r"vm\w+")

ESXTOP_NAMES = ("\\Memory\\Memory Overcommit (", "\\Physical Cpu", "\\Physical Disk SCSI Device(", "\\Group Cpu(")
"""Parts of names that only headers of esxtop contain. The name of the memory counter comes first in a header."""


def build_plan(names: Iterable[str], host: str, host_name: str | None = None) -> Plan:
    """Return the plan for a batch.

    `names`: names of all columns, beginning with that of the time. `host`: name of the machine if the column names
    contain none. `host_name`: overrides the machine's name in the batch, if the batch has only one machine.
    """
    result = Plan()
    machines = result.find_columns(names, host, host_name, _used_counter)
    for machine, objects in machines.items():
        entity = SourceEntity("host", machine, machine, {"name": (machine,)}, {"os": "VMware ESXi"})
        result.items.append((entity,))
        _add_devices(result, machine, objects.get("physical disk scsi device", {}))
        _add_adapters(result, machine, objects.get("physical disk adapter", {}))
        _add_paths(result, machine, objects.get("physical disk path", {}))
        _add_virtual_disks(result, machine, objects.get("virtual disk", {}))
        _add_processors(result, machine, objects.get("physical cpu", {}))
    if not any(series.table is tables.LUN for series in result.series):
        result.warnings.append(("devices-missing", "it contains no disk devices: esxtop -b -a writes them"))
    return result


def _used_counter(path: CounterPath) -> tuple[str, str] | None:
    object_name, counter = path.object.lower(), path.counter.strip().lower()
    return (object_name, counter) if counter in _COUNTERS_BY_OBJECT.get(object_name, ()) else None


def _add_devices(result: Plan, machine: str, instances: Instances) -> None:
    devices: dict[str, Counters] = {}
    for instance, counters in instances.items():
        if _DEVICE_NAME.fullmatch(instance):
            device = instance.lower() if instance.lower().startswith(("naa.", "eui.")) else instance
            devices[f"{machine}/{device}"] = counters
    result.items.append(item for entity in devices for item in _device_items(machine, entity))
    result.add_series(tables.LUN, LUN, devices)


def _device_items(machine: str, entity: str) -> Iterator[SourceEntity | SourceLink]:
    device = entity.removeprefix(f"{machine}/")
    ids = {"device": (device,)}
    if device.startswith(("naa.", "eui.")):
        ids[device[:3]] = (device,)
    yield SourceEntity("lun", entity, entity, ids)
    yield SourceLink("attached_to", ("lun", entity), ("host", machine), "esxtop device")


def _add_adapters(result: Plan, machine: str, instances: Instances) -> None:
    adapters = {
        f"{machine}/{name}": counters for name, counters in instances.items() if _ADAPTER_NAME.fullmatch(name)
    }
    result.items.append(item for entity in adapters for item in _adapter_items(machine, entity))
    result.add_series(tables.HBA, HBA, adapters)


def _adapter_items(machine: str, entity: str) -> Iterator[SourceEntity | SourceLink]:
    yield SourceEntity("hba", entity, entity, {"name": (entity,)})
    yield SourceLink("attached_to", ("hba", entity), ("host", machine), "esxtop adapter")


def _add_paths(result: Plan, machine: str, instances: Instances) -> None:
    paths: dict[str, Counters] = {}
    for instance, counters in instances.items():
        if match := _PATH_NAME.fullmatch(instance):
            paths.setdefault(f"{machine}/{match[2]}", counters)
    matches = filter(None, map(_PATH_NAME.fullmatch, instances))
    result.items.append(item for match in matches for item in _path_items(machine, match[2], match[3], match[1]))
    result.add_series(tables.PATH, PATH, paths)


def _path_items(machine: str, name: str, adapter: str, device: str | None) -> Iterator[SourceEntity | SourceLink]:
    path = f"{machine}/{name}"
    yield SourceEntity("path", path, path)
    yield SourceLink("attached_to", ("path", path), ("hba", f"{machine}/{adapter}"), "esxtop path")
    if device is not None:
        yield SourceLink("member_of", ("path", path), ("lun", f"{machine}/{device.lower()}"), "esxtop path")


def _add_virtual_disks(result: Plan, machine: str, instances: Instances) -> None:
    """Add the virtual disks, without instances that are sums of a virtual machine."""
    disks: dict[str, Counters] = {}
    for instance, counters in instances.items():
        if match := _VIRTUAL_DISK_NAME.fullmatch(instance):
            disks[f"{match[1]}/{match[2]}"] = counters
    vms = dict.fromkeys(disk.rpartition("/")[0] for disk in disks)
    result.items.append(item for vm in vms for item in _vm_items(machine, vm))
    result.items.append(item for disk in disks for item in _virtual_disk_items(disk))
    result.add_series(tables.VDISK, VDISK, disks)


def _vm_items(machine: str, vm: str) -> Iterator[SourceEntity | SourceLink]:
    yield SourceEntity("vm", vm, vm, {"name": (vm,)})
    yield SourceLink("runs_on", ("vm", vm), ("host", machine), "esxtop")


def _virtual_disk_items(disk: str) -> Iterator[SourceEntity | SourceLink]:
    yield SourceEntity("vdisk", disk, disk, {"name": (disk,)})
    yield SourceLink("attached_to", ("vdisk", disk), ("vm", disk.rpartition("/")[0]), "esxtop virtual disk")


def _add_processors(result: Plan, machine: str, instances: Instances) -> None:
    cores = [counters[_BUSY] for name, counters in instances.items() if name.isdigit()]
    total = instances.get("_Total", {}).get(_BUSY)
    result.add_series(tables.HOST, PROCESSORS, {machine: result.add_cores(cores, total)})

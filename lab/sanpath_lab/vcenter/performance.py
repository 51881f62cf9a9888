"""Performance counters of the simulated vCenter: the counters of its host, as QueryPerf returns them in csv form.

Latencies are integer milliseconds, rounded down, except those in microseconds, as on a real host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sanpath_lab.physics.hypervisor_counters import SAMPLE_SECONDS, PathTotals, Sample, total
from sanpath_lab.scenario import Direction, Scenario
from sanpath_lab.vcenter.inventory import HOST, MACHINE, VIRTUAL_DISK, VMFS_UUID, long_path_name
from sanpath_lab.vcenter.types import vim

_KIB = 1024
FIRST_KEY = 455
"""Ids of counters differ between releases; nothing may rely on them."""

Pick = Callable[[PathTotals, PathTotals], float]
"""A value of the totals of reads and of writes in an interval."""
Series = tuple[str, str, Callable[[Sample], int]]
"""Counter, instance and its value of a sample."""


@dataclass(frozen=True, slots=True)
class _Counter:
    unit: str
    value: Pick


def _mean(seconds: str, unit: float) -> Pick:
    """Of all commands in `unit` of a second; `seconds` names the sum."""

    def value(read: PathTotals, write: PathTotals) -> float:
        both = total((read, write))
        return getattr(both, seconds) / both.ops / unit if both.ops else 0.0

    return value


def _pick_direction(direction: Direction, pick: Pick) -> Pick:
    none = PathTotals()
    if direction == "read":
        return lambda read, _: pick(read, none)
    return lambda _, write: pick(none, write)


def _rate(pick: Pick) -> Pick:
    return lambda read, write: pick(read, write) / SAMPLE_SECONDS


def _operations(read: PathTotals, write: PathTotals) -> float:
    return read.ops + write.ops


def _kibibytes(read: PathTotals, write: PathTotals) -> float:
    return (read.bytes + write.bytes) / _KIB


def _in_flight(read: PathTotals, write: PathTotals) -> float:
    return read.guest_seconds + write.guest_seconds


def _at_device(read: PathTotals, write: PathTotals) -> float:
    return read.device_seconds + write.device_seconds


def _aborted(read: PathTotals, write: PathTotals) -> float:
    return read.aborted + write.aborted


def _nothing(_read: PathTotals, _write: PathTotals) -> float:
    return 0.0


_DIRECTIONS: tuple[tuple[Direction, str], ...] = (("read", "Read"), ("write", "Write"))
_LATENCY_FIELDS = {
    "device": "device_seconds",
    "kernel": "queue_seconds",
    "queue": "queue_seconds",
    "total": "guest_seconds",
}
_MS, _US = 1e-3, 1e-6


def _moved(group: str) -> Iterator[tuple[str, _Counter]]:
    for direction, name in _DIRECTIONS:
        operations = _pick_direction(direction, _operations)
        yield f"{group}.number{name}Averaged.average", _Counter("number", _rate(operations))
        kibibytes = _rate(_pick_direction(direction, _kibibytes))
        yield f"{group}.{direction}.average", _Counter("kiloBytesPerSecond", kibibytes)
        latency = _pick_direction(
            direction, _mean("guest_seconds" if group == "virtualDisk" else "device_seconds", _MS)
        )
        yield f"{group}.total{name}Latency.average", _Counter("millisecond", latency)


def _disk() -> Iterator[tuple[str, _Counter]]:
    for selector, seconds in _LATENCY_FIELDS.items():
        yield f"disk.{selector}Latency.average", _Counter("millisecond", _mean(seconds, _MS))
        for direction, name in _DIRECTIONS:
            latency = _pick_direction(direction, _mean(seconds, _MS))
            yield f"disk.{selector}{name}Latency.average", _Counter("millisecond", latency)
    for direction, name in _DIRECTIONS:
        yield f"disk.number{name}.summation", _Counter("number", _pick_direction(direction, _operations))
        yield (
            f"disk.{direction}.average",
            _Counter("kiloBytesPerSecond", _rate(_pick_direction(direction, _kibibytes))),
        )
    yield "disk.commandsAborted.summation", _Counter("number", _aborted)
    for fault in ("busResets", "scsiReservationConflicts"):
        yield f"disk.{fault}.summation", _Counter("number", _nothing)


def _virtual_disk() -> Iterator[tuple[str, _Counter]]:
    for direction, _ in _DIRECTIONS:
        latency = _pick_direction(direction, _mean("guest_seconds", _US))
        yield f"virtualDisk.{direction}LatencyUS.latest", _Counter("microsecond", latency)
        yield f"virtualDisk.{direction}OIO.latest", _Counter("number", _rate(_pick_direction(direction, _in_flight)))


COUNTERS: Mapping[str, _Counter] = {
    **dict(_disk()),
    "disk.maxQueueDepth.average": _Counter("number", _nothing),
    "datastore.datastoreVMObservedLatency.latest": _Counter("microsecond", _mean("guest_seconds", _US)),
    "datastore.sizeNormalizedDatastoreLatency.average": _Counter("microsecond", _mean("guest_seconds", _US)),
    "datastore.siocActiveTimePercentage.average": _Counter("percent", _nothing),
    **dict(_moved("storageAdapter")),
    "storageAdapter.outstandingIOs.average": _Counter("number", _rate(_at_device)),
    "storageAdapter.queued.average": _Counter("number", _nothing),
    "storageAdapter.queueLatency.average": _Counter("millisecond", _nothing),
    **dict(_moved("storagePath")),
    "storagePath.commandsAborted.summation": _Counter("number", _aborted),
    "storagePath.busResets.summation": _Counter("number", _nothing),
    **dict(_moved("virtualDisk")),
    **dict(_virtual_disk()),
}
"""group.name.rollup → how it is made. A queue is only before a LUN here: adapters have none."""

KEYS: Mapping[str, int] = {name: FIRST_KEY + number for number, name in enumerate(COUNTERS)}
"""Counter → its id."""


def catalogue() -> list[Any]:
    """The property perfCounter."""
    return [_described(name, counter.unit) for name, counter in COUNTERS.items()]


def _described(name: str, unit: str) -> Any:
    group, called, rollup = name.split(".")
    words = {"label": called, "summary": called}
    return vim.PerformanceManager.CounterInfo(
        key=KEYS[name],
        groupInfo=vim.ElementDescription(key=group, **words),
        nameInfo=vim.ElementDescription(key=called, **words),
        unitInfo=vim.ElementDescription(key=unit, **words),
        rollupType=rollup,
        statsType="absolute",
    )


def series(scenario: Scenario, moid: str) -> list[Series]:
    """Return the series of a managed object."""
    if moid == MACHINE:
        return list(_group(scenario, "virtualDisk", {VIRTUAL_DISK: None}))
    if moid != HOST:
        return []
    hbas = {hba.name: hba.wwpn for hba in scenario.host.hbas}
    return [
        *_group(scenario, "disk", {scenario.volume.naa: None}),
        *_group(scenario, "datastore", {VMFS_UUID: None}),
        *_group(scenario, "storageAdapter", {name: (wwpn, None) for name, wwpn in hbas.items()}),
        *_group(
            scenario,
            "storagePath",
            {long_path_name(scenario, path): (hbas[path.hba], path.target) for path in scenario.paths},
        ),
    ]


PathSelector = tuple[str, str | None] | None
"""Initiator and target of the paths that belong to an instance; None: any."""


def _group(scenario: Scenario, group: str, instances: Mapping[str, PathSelector]) -> Iterator[Series]:
    for name, counter in COUNTERS.items():
        if name.startswith(f"{group}."):
            for instance, selector in instances.items():
                if name == "disk.maxQueueDepth.average":
                    yield name, instance, lambda _: scenario.host.lun_queue_depth
                else:
                    yield name, instance, _value(counter.value, selector)


def _value(pick: Pick, selector: PathSelector) -> Callable[[Sample], int]:
    def value(sample: Sample) -> int:
        reads, writes = (
            total(
                totals
                for nexus, totals in sample.totals_by_nexus.items()
                if nexus.direction == direction
                and (selector is None or (nexus.initiator == selector[0] and selector[1] in (None, nexus.target)))
            )
            for direction, _ in _DIRECTIONS
        )
        return int(pick(reads, writes))

    return value


def answer(scenario: Scenario, entity: Any, asked: set[int], samples: Sequence[Sample]) -> Any:
    """QueryPerf of one managed object in csv form. `asked`: ids of counters, all instances of each."""
    manager = vim.PerformanceManager
    values = [
        manager.MetricSeriesCSV(
            id=manager.MetricId(counterId=KEYS[name], instance=instance),
            value=",".join(str(value(sample)) for sample in samples),
        )
        for name, instance, value in series(scenario, entity._moId)
        if KEYS[name] in asked
    ]
    times = ",".join(f"{SAMPLE_SECONDS},{_time(sample.second)}" for sample in samples)
    return manager.EntityMetricCSV(entity=entity, sampleInfoCSV=times, value=values)


def _time(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"

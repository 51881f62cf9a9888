"""Facts of the planes of guest and host: the latency at each clock between the load and the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose

from sanpath.catalogue.load import planes as catalogue_planes
from sanpath.facts.host.under_test import as_number
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.identity import Topology
from sanpath.topology.paths import hosts_of, luns_of, machines_of

_RATE_TOLERANCE = 0.05
"""A device carries the load's I/O if their rates agree within this ratio."""
_SINGLE_WINDOW_TOLERANCE = 0.2
"""Additional tolerance if there is only one window, which covers another part of the step than the load's windows."""
_BLOCK_DEVICES = ("guest_block", "windows_disk", "host_block")
"""Planes at which an operating system counts the I/Os that it has sent to a device."""
_DIRECTIONS_RATIO = 10.0
"""At one clock, I/Os of one direction take at most this many times as long as those of the other: a read from flash
beside a write into a cache."""


def planes_of(topology: Topology, load: LoadFacts, planes: FactTable) -> list[FactRow]:
    """Return the observed planes on the path of the load's I/O, from the load down; one row for each plane.

    On the path is what carries the load's bytes: one device, or all devices of the load together. Where bytes are not
    counted, operations are compared, though I/Os may be split on their path. A device that several loads share shows
    nothing about any of them.
    """
    path = devices_of_load(topology, load)
    order = catalogue_planes()
    by_plane: dict[str, FactRow] = {}
    step_rows = planes.select(step=load.step, direction=load.direction)
    carrying = [row for row in step_rows if _carries(row, load)]
    for row in [
        *_finest(row for row in carrying if row["entity"] in path),
        *_luns_by_bytes(topology, load, path, carrying),
    ]:
        by_plane.setdefault(str(row["plane"]), row)
    for plane in {str(row["plane"]) for row in step_rows} - by_plane.keys():
        parallel = parallel_devices(topology, load, planes, plane)
        if len(parallel) > 1 and _carries(row := combined(parallel), load):
            by_plane[plane] = row
    return [by_plane[name] for name in sorted(by_plane, key=lambda name: order[name].order)]


def parallel_devices(topology: Topology, load: LoadFacts, planes: FactTable, plane: str) -> list[FactRow]:
    """Return one row for each device that the load may use at a plane; of several sources, that with the finest
    clock."""
    path = devices_of_load(topology, load)
    # Where no source reports the LUNs of the load, those of its machine, or of its host, may carry it together.
    path = path.union(*_unnamed_luns(topology, load, path))
    plane_rows = planes.select(step=load.step, direction=load.direction, plane=plane)
    return _finest(row for row in plane_rows if row["entity"] in path)


def _finest(rows: Iterable[FactRow]) -> list[FactRow]:
    """Return one row for each device and plane.

    Of several sources it is the one with the finest clock, then the one with the lowest latency: a higher latency
    includes a queue above the plane."""
    finest: dict[tuple[str, str], FactRow] = {}
    for row in sorted(rows, key=lambda row: (number(row, "resolution_seconds"), number(row, "latency_seconds"))):
        finest.setdefault((str(row["entity"]), str(row["plane"])), row)
    return list(finest.values())


def combined(rows: Sequence[FactRow]) -> FactRow:
    """Combine parallel devices into one row: rates and I/Os in flight are added, latency is a mean over the I/Os.

    The row has the name of the device with the most I/Os in flight. Its bytes and its queue depth are None if any
    device's are not known."""
    operations = sum(number(row, "ops_per_second") for row in rows)
    flying = sum(number(row, "in_flight_measured") for row in rows)
    byte_rates, depths = [row["bytes_per_second"] for row in rows], [row["queue_depth"] for row in rows]
    largest = max(rows, key=lambda row: number(row, "in_flight_measured"))
    return {
        **largest,
        "windows": min(int(number(row, "windows")) for row in rows),
        "ops_per_second": operations,
        "bytes_per_second": None if None in byte_rates else sum(number(row, "bytes_per_second") for row in rows),
        "in_flight_measured": flying,
        "latency_seconds": flying / operations,
        "resolution_seconds": max(number(row, "resolution_seconds") for row in rows),
        "queue_depth": None if None in depths else sum(number(row, "queue_depth") for row in rows),
    }


def _luns_by_bytes(topology: Topology, load: LoadFacts, path: set[str], carrying: Sequence[FactRow]) -> list[FactRow]:
    """Return rows of the LUN that carries the load's bytes in a guest, and of that in its host, where no source
    reports which LUN the load uses there.

    There are none where several LUNs carry as many bytes. A path carries the same as its multipath map: the map is
    the LUN."""
    found = []
    for luns in _unnamed_luns(topology, load, path):
        rows = [row for row in carrying if row["entity"] in luns]
        found += rows if len({row["entity"] for row in rows}) == 1 else []
    return found


def _unnamed_luns(topology: Topology, load: LoadFacts, path: set[str]) -> Iterator[set[str]]:
    """Yield the LUNs of the machines in which the load runs, and those of their hosts, each without the paths of
    multipath maps, and only if `path` contains none of them."""
    machines = {machine for root in load.roots for machine in machines_of(topology, root)}
    hosts = {host for root in load.roots for host in hosts_of(topology, root)} - machines
    paths_of_maps = {link.from_entity for link in topology.links if link.relation == "member_of"}
    for level in (machines, hosts):
        luns = {lun for machine in level for lun in topology.related(machine, "attached_to", "lun")}
        if not luns & path:
            yield luns - paths_of_maps


def plane_rows(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]], clocks: Mapping[str, Mapping[str, str | None]]
) -> Iterator[FactRow]:
    """Yield one row for each block device or virtual disk, plane, step and direction with I/O.

    `clocks`: entity kind → source → plane of its latencies. A block device of a hypervisor lies below the virtual
    disks of its guests, whatever its source calls it."""
    of_hypervisors = _hypervisor_luns(topology)
    for kind in ("lun", "vdisk"):
        for sample in samples.get(kind, ()):
            entity = topology.known_as.get((sample.source, kind, sample.entity), f"{kind}:{sample.entity}")
            for direction in DIRECTIONS:
                operations = sample.rate(f"ops_{direction}_total")
                if not operations:
                    continue
                clock = clocks[kind].get(sample.source)
                clock = "host_block" if clock == "guest_block" and entity in of_hypervisors else clock
                for plane, seconds, resolution in _latencies(sample, direction, clock):
                    yield {
                        "entity": entity,
                        "step": sample.step,
                        "direction": direction,
                        "windows": sample.windows,
                        "plane": plane,
                        "ops_per_second": operations,
                        "bytes_per_second": sample.rate(f"bytes_{direction}_total"),
                        "latency_seconds": seconds,
                        "resolution_seconds": resolution,
                        "in_flight_measured": operations * seconds,
                        "queue_depth": _queue_depth(topology, entity, plane, sample),
                    }


def _hypervisor_luns(topology: Topology) -> set[str]:
    """Return the block devices of hosts that run loads in virtual machines with virtual disks, and no load
    themselves."""
    loads = [load.id for load in topology.of_kind("load")]
    guests = {machine for load in loads for machine in machines_of(topology, load) if machine.startswith("vm:")}
    guests = {guest for guest in guests if topology.related(guest, "attached_to", "vdisk")}
    hosts = {host for guest in guests for host in topology.related(guest, "runs_on", "host")}
    hosts -= {machine for load in loads for machine in machines_of(topology, load)}
    return {lun for host in hosts for lun in topology.related(host, "attached_to", "lun")}


def _queue_depth(topology: Topology, entity: str, plane: str, sample: StepSamples) -> float | None:
    """Return the queue depth: how many I/Os a plane admits at once.

    A block device admits as many as it has slots, or requests where those are fewer: what finds no free request waits
    above the clock of the device. With several hardware queues it may admit more. None: not reported."""
    if plane == "device":
        return sample.means.get("queue_depth")
    attributes = topology.entities[entity].attributes if entity in topology.entities else {}
    limits = [as_number(attributes.get(name)) for name in ("queue_depth", "nr_requests")]
    known = [limit for limit in limits if limit is not None]
    return min(known, default=None) if plane in _BLOCK_DEVICES else None


def _latencies(sample: StepSamples, direction: Direction, plane: str | None) -> Iterator[tuple[str, float, float]]:
    """Yield (plane, mean latency, its tolerance in both directions), seconds, of one device by one source."""
    operations = sample.rate(f"ops_{direction}_total")
    wait = sample.rate(f"latency_seconds_{direction}_total")
    if operations and wait is not None:
        yield plane or "guest_block", wait / operations, 0.0
    elif (mean := _mean(sample, "latency", direction)) is not None:
        yield plane or "guest_block", *mean
    device_mean = _mean(sample, "device", direction)
    if device_mean is not None:
        yield "device", *device_mean
        kernel_mean = _mean(sample, "kernel", direction)
        if kernel_mean is not None:
            yield "kernel", device_mean[0] + kernel_mean[0], device_mean[1] + kernel_mean[1]


def _mean(sample: StepSamples, quantity: str, direction: Direction) -> tuple[float, float] | None:
    """Return a mean that the source reports: the centre of its possible range, and half that range.

    None: not reported."""
    for name in (f"{quantity}_seconds_mean_{direction}", f"{quantity}_seconds_mean"):
        seconds = sample.means.get(name)
        if seconds is not None:
            resolution = sample.resolutions.get(name, 0.0)
            least, most = (1.0, 1.0) if name.endswith(direction) else _of_both(sample, direction)
            return ((least + most) * seconds + most * resolution) / 2, (
                (most - least) * seconds + most * resolution
            ) / 2
    return None


def _of_both(sample: StepSamples, direction: Direction) -> tuple[float, float]:
    """The least and the most that one direction's mean may be, as a ratio to the mean over both."""
    rates = {each: sample.rate(f"ops_{each}_total") or 0.0 for each in DIRECTIONS}
    share = rates[direction] / sum(rates.values())
    return 1 / (share + (1 - share) * _DIRECTIONS_RATIO), 1 / (share + (1 - share) / _DIRECTIONS_RATIO)


def devices_of_load(topology: Topology, load: LoadFacts) -> set[str]:
    """Return the block devices and virtual disks that the load's I/O may use."""
    devices: set[str] = set()
    for root in load.roots:
        devices |= set(luns_of(topology, root))
        disks = [
            disk
            for machine in machines_of(topology, root)
            for disk in topology.related(machine, "attached_to", "vdisk")
        ]
        devices |= {*disks, *(lun for disk in disks for lun in topology.related(disk, "backed_by", "lun"))}
    return devices


def _carries(row: FactRow, load: LoadFacts) -> bool:
    windows = int(number(row, "windows"))
    tolerance = max(_RATE_TOLERANCE + _SINGLE_WINDOW_TOLERANCE / max(1, windows), load.sampling_error(windows))
    if row["bytes_per_second"] and load.bytes_per_second:
        return isclose(number(row, "bytes_per_second"), load.bytes_per_second, rel_tol=tolerance)
    return isclose(number(row, "ops_per_second"), load.ops_per_second, rel_tol=tolerance)

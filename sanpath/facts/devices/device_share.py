"""The share of a load's I/Os that reaches its target devices, or any device. A cache, or memory, answers the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from sanpath.catalogue.values import FIO_PAST_THE_BLOCK_LAYER
from sanpath.facts.host.port_utilisation import port_use
from sanpath.facts.host.tested_machines import UnderTest, as_number, in_flight
from sanpath.facts.load.host_loads import level_by_name
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.model import DIRECTIONS, Direction
from sanpath.topology.topology import Topology

_MAX_MERGED = 512.0
"""I/Os that become one request: 320 of 4 KiB are 1280 KiB (Linux: the default of max_sectors_kb)."""
_CARRIES_ALL_DIFFERENCE = 0.1
"""Relative difference up to which a device carries all I/Os of a load, and no others."""
_HELD_DIFFERENCE = 0.1
"""Relative difference up to which a device holds as many I/Os as the load: two clocks."""
_JOURNAL_BYTES, _JOURNAL_WRITES = 64 * 1024.0, 4.0
"""What a file system may write to its journal for each flush: ext4 a descriptor, blocks of metadata and a commit, XFS
a log buffer of 32 KiB (mount option logbsize), btrfs the nodes of a log tree of 16 KiB each."""
UNSPLIT_BYTES = 128 * 1024
"""I/Os up to this size are one request: the smallest limit of common drives (NVMe: MDTS)."""


def device_share(topology: Topology, load: LoadFacts, tested: UnderTest | None) -> float | None:
    """Return the devices' bytes over the load's, or their I/Os if no bytes are counted. `tested`: the step of the
    load. None: the load names no device, or one does not count the load's I/Os.

    I/Os of sequential loads are merged and large ones split, so their share is only known if it is far below any
    merging.
    """
    devices = {device for root in load.roots for device in topology.related(root, "targets", "lun")}
    by_device = {device: tested.samples_of(device) for device in devices} if tested is not None else {}
    if not by_device or _passes_by(topology, load) or not all(map(_counts, by_device.values())):
        return None
    moved = _total_rate(topology, by_device, "bytes", load.direction, load.bytes_per_second)
    if moved is not None and load.bytes_per_second:
        return _without_journal(load, moved, load.bytes_per_second, _JOURNAL_BYTES)
    done = _total_rate(topology, by_device, "ops", load.direction, load.ops_per_second)
    share = _without_journal(load, done, load.ops_per_second, _JOURNAL_WRITES) if done is not None else 1.0
    is_whole = share <= 1 or (load.operation_bytes or 0.0) <= UNSPLIT_BYTES
    is_exact = (load.access.random_ratio == 1.0 and is_whole) or share < 1 / _MAX_MERGED
    return share if done is not None and is_exact else None


def others_outstanding(topology: Topology, load: LoadFacts, tested: UnderTest | None) -> bool:
    """Return whether others may have I/Os outstanding at the devices that a load names. If the devices hold no more
    I/Os than the load has outstanding, by their own count, whatever they do besides is done in the load's turn: a
    file system writes its journal while a synchronous write waits for it."""
    devices = {device for root in load.roots for device in topology.related(root, "targets", "lun")}
    held = [in_flight(tested.samples_of(device)) for device in devices] if tested is not None else []
    if tested is None or not held or None in held:
        return True
    own = sum(each.in_flight_measured for each in tested.loads) + load.flushes_in_flight
    return sum(filter(None, held)) > (1 + _HELD_DIFFERENCE) * own


def carried_ratio(topology: Topology, load: LoadFacts, tested: UnderTest | None) -> float | None:
    """Return the largest share of a load's bytes that may have left the memory of its machines: the bytes of all
    their block devices and ports in the load's direction, over the load's bytes. None: a machine has a device or a
    port that was not read, or none of either; or a device that the load names counts nothing.

    The path of an I/O need not be known for this: a file in memory, such as one that a mistyped device name makes
    below /dev, is on no device.
    """
    machines = tested.machines if tested is not None else ()
    if tested is None or not load.bytes_per_second or not machines or _passes_by(topology, load):
        return None
    named = {device for root in load.roots for device in topology.related(root, "targets", "lun")}
    if not all(_counts(tested.samples_of(device)) for device in named):
        return None
    moved = 0.0
    for machine in machines:
        disks = topology.related(machine, "attached_to", "lun")
        by_disk = [_rate(tested.samples_of(disk), "bytes", load.direction) for disk in disks]
        uses = [
            port_use(topology, port, tested.samples_of(port), load.operation_bytes, at_host=True)
            for port in topology.related(machine, "attached_to", "hba")
        ]
        # An I/O may leave the machine without a block device: to a file server.
        by_port = [as_number(use[f"bytes_per_second_{load.direction}"]) for use in uses]
        if not by_disk or not by_port or None in (*by_disk, *by_port) or _counts_elsewhere(topology, tested, disks):
            return None
        moved += sum(rate or 0.0 for rate in (*by_disk, *by_port))
    return moved / load.bytes_per_second


def _counts_elsewhere(topology: Topology, tested: UnderTest, disks: Sequence[str]) -> bool:
    """Whether one of these devices has paths that are not read: older kernels count the I/Os of an NVMe namespace
    only there."""
    with_paths = [disk for disk in disks if as_number(topology.entities[disk].attributes.get("paths"))]
    return any(not _counts(tested.samples_of(disk)) and not topology.members(disk, "lun") for disk in with_paths)


def _without_journal(load: LoadFacts, at_device: float, own: float, most: float) -> float:
    """Return the devices' rate over the load's, without what its flushes wrote to a journal: at most `most` for each
    of its writes."""
    if load.direction == "write" and load.flushes_in_flight:
        at_device = max(min(at_device, own), at_device - most * load.ops_per_second)
    return at_device / own


def _passes_by(topology: Topology, load: LoadFacts) -> bool:
    """Whether a job of a load passes its commands to a driver, and the kernel does not count them."""
    jobs = [topology.entities[job].attributes for job in load.jobs if job in topology.entities]
    return any(job.get("ioengine") in FIO_PAST_THE_BLOCK_LAYER for job in jobs)


def _counts(samples: Sequence[StepSamples]) -> bool:
    """Whether a device has counted anything at all: some do not count, such as the multipath heads of NVMe in older
    kernels."""
    return any(_rate(samples, quantity, direction) for quantity in ("bytes", "ops") for direction in DIRECTIONS)


def _total_rate(
    topology: Topology,
    by_device: Mapping[str, Sequence[StepSamples]],
    quantity: str,
    direction: Direction,
    own: float,
) -> float | None:
    """A rate of all devices. None: no source counts one of them. `own`: that of the load.

    Stacked devices carry the same I/O, and so do mirrors. If one device carries the load alone, the busiest such
    device counts; otherwise the sum over one level of the stack.
    """
    rates = {device: _rate(samples, quantity, direction) for device, samples in by_device.items()}
    known = {device: rate for device, rate in rates.items() if rate is not None}
    if len(known) < len(rates):
        return None
    if any(isclose(rate, own, rel_tol=_CARRIES_ALL_DIFFERENCE) for rate in known.values()):
        return max(known.values())
    levels: dict[int, float] = {}
    for device, rate in known.items():
        level = level_by_name(topology, device)
        levels[level] = levels.get(level, 0.0) + rate
    return max(levels.values())


def _rate(samples: Sequence[StepSamples], quantity: str, direction: Direction) -> float | None:
    """A rate of a device, by the source that saw most. None: no source counts it."""
    gauge, counter = f"{quantity}_per_second_{direction}", f"{quantity}_{direction}_total"
    rates = [rate for sample in samples if (rate := gauge_or_rates(sample, gauge, counter)) is not None]
    return max(rates, default=None)

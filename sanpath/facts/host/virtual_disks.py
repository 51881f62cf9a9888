"""Facts of virtual disks under test: their controller, its queue, the thread that serves them, configured limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose

from sanpath.facts.host.disk_limits import Rates, disk_rates, limit_facts, load_rates, summed
from sanpath.facts.host.tested_machines import (
    UnderTest,
    as_number,
    as_text,
    both_directions,
    in_flight,
    platform,
    rate,
)
from sanpath.facts.table import FactRow
from sanpath.model import Scalar
from sanpath.topology.topology import Topology

_BUSY = 0.05
"""From this share of the load's I/Os on, a virtual disk is part of the test."""
_SAME_RATE = 0.05
"""Relative difference up to which a disk carries the load: both are measured over windows of their own."""

QUEUES: Mapping[str, tuple[int, int]] = {"pvscsi": (64, 256), "lsi_logic": (32, 128), "lsi_logic_sas": (32, 128)}
"""Default queue depths of a guest's driver: of one disk, and of all disks of a virtual controller together (VMware KB
343323, formerly 2053145)."""

_PARAVIRTUAL = "pvscsi"
"""Type of VMware's paravirtual controller, whose driver lets the guest set the depth of its queues."""
_DEPTH_EXCEEDED = 1.05
"""Ratio of I/Os in flight to a depth from which the depth of a queue is another one."""

_QUEUE_OF_ONE_DISK = "virtio_blk"
"""Type of controller whose queues belong to one disk. A request takes one descriptor (VIRTIO_F_INDIRECT_DESC)."""


def exceeds(in_flight: float | None, depth: float | None) -> bool:
    """Return whether more I/Os are in flight than a queue of this depth admits: its depth is then another one.

    >>> exceeds(127, 64), exceeds(64.5, 64), exceeds(None, 64)
    (True, False, False)
    """
    return in_flight is not None and depth is not None and in_flight > _DEPTH_EXCEEDED * depth


def virtual_disk_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each virtual disk that carries the test, and each throttle group of such disks, and step."""
    for step in steps:
        rates: dict[str, Rates] = {}
        rows: list[FactRow] = []
        for machine in step.machines:
            attached = topology.related(machine, "attached_to", "vdisk")
            named = _named_disks(topology, step, attached) or _carriers(step, attached)
            for disk in named or attached:
                disk_rate = _rates(step, disk, named, attached)
                operations = disk_rate.total_ops
                if operations is None and disk not in named:
                    continue
                if operations is not None and operations < _BUSY * step.load.ops_per_second:
                    continue
                rates[disk] = disk_rate
                rows.append(_disk_row(topology, step, machine, disk, attached, disk_rate))
        # A group has the columns of a disk; columns that do not apply to a group are not known.
        rows += [{**dict.fromkeys(rows[0]), **row} for row in _group_rows(topology, step, rates)]
        for row in rows:
            yield {**row, "test_ratio": _test_ratio(topology, str(row["entity"]), rates)}


def _test_ratio(topology: Topology, entity: str, rates: Mapping[str, Rates]) -> float | None:
    """Return the share of the test's operations that pass a disk, or a throttle group by its disks. None: not known.

    `rates`: those of the disks under test.
    """
    members = {entity, *topology.related(entity, "member_of", "vdisk")} & rates.keys()
    if len(members) == len(rates):
        return 1.0
    total = sum(rate.total_ops or 0.0 for rate in rates.values())
    return sum(rates[disk].total_ops or 0.0 for disk in members) / total if total else None


def _named_disks(topology: Topology, step: UnderTest, attached: Sequence[str]) -> list[str]:
    """Return the virtual disks that the load is known to use: named as its target, or below its block devices."""
    loads = dict.fromkeys(load for direction in step.loads for load in (*direction.jobs, *direction.roots))
    luns = [lun for load in loads for lun in topology.related(load, "targets", "lun")]
    disks = [disk for load in loads for disk in topology.related(load, "targets", "vdisk")]
    disks += [disk for lun in luns for disk in topology.related(lun, "backed_by", "vdisk")]
    return [disk for disk in attached if disk in disks]


def _carriers(step: UnderTest, attached: Sequence[str]) -> list[str]:
    """Return the one disk that does as many I/Os as the load; [] where none or several do."""
    total = sum(load.ops_per_second for load in step.loads)
    rates = {disk: both_directions(step.samples_of(disk), "ops") for disk in attached}
    matching = [disk for disk, ops in rates.items() if ops is not None and isclose(ops, total, rel_tol=_SAME_RATE)]
    return matching if len(matching) == 1 else []


def _rates(step: UnderTest, disk: str, named: Sequence[str], attached: Sequence[str]) -> Rates:
    """Return the throughput of a disk. If only the load counts it, this is the throughput of the load, provided that
    the load uses no other disk."""
    counted = disk_rates(step, disk)
    is_only = [disk] in (list(named), list(attached))
    return load_rates(step) if counted.ops is None and is_only else counted


def _disk_row(
    topology: Topology, step: UnderTest, machine: str, disk: str, attached: Sequence[str], rates: Rates
) -> FactRow:
    samples, attributes = step.samples_of(disk), topology.entities[disk].attributes
    kind, controller = as_text(attributes.get("controller_type")), attributes.get("controller")
    queue, shared = QUEUES.get(kind or "", (None, None))
    flying = in_flight(samples)
    queue = None if exceeds(flying, queue) else queue
    limit = as_number(attributes.get("limit_ops_per_second"))
    adapter_in_flight = _adapter_in_flight(topology, step, attached, controller)
    shared = None if exceeds(adapter_in_flight, shared) else shared
    queues, size = as_number(attributes.get("queues")), as_number(attributes.get("queue_size"))
    slots = (queues or 1.0) * size if size is not None and kind == _QUEUE_OF_ONE_DISK else None
    limits = limit_facts(attributes, rates)
    if kind is not None and not any(name.startswith("limit_") for name in attributes):
        limits = {**limits, "limit_used_ratio": 0.0, "limit_burst_used": False}
    return {
        "entity": disk,
        "step": step.load.step,
        "direction": step.load.direction,
        "windows": min((sample.windows for sample in samples), default=step.load.windows),
        "vm": topology.entities[machine].label,
        "hypervisor": _hypervisor(topology, machine),
        "controller_type": kind,
        "paravirtual": None if kind is None else kind == _PARAVIRTUAL,
        "controller": as_text(controller),
        "queue_depth": None if queue is None else float(queue),
        "in_flight": flying,
        "queue_filled_ratio": flying / queue if flying is not None and queue else None,
        "adapter_in_flight": adapter_in_flight,
        "adapter_filled_ratio": adapter_in_flight / shared if adapter_in_flight is not None and shared else None,
        "virtqueue_slots": slots,
        "virtqueue_filled_ratio": flying / slots if flying is not None and slots else None,
        "ops_per_second": rates.total_ops,
        "bytes_per_second": rates.total_bytes,
        "limit_ops_per_second": limit if limit is not None or kind is None else 0.0,
        **limits,
        "limit_members": None,
        "limit_foreign_ratio": None,
        "failed_per_second": both_directions(samples, "ops_failed"),
        "cache": as_text(attributes.get("cache")),
        **_thread_facts(topology, step, disk, attached),
        "busiest_utilisation": step.busiest_utilisation,
        "links_counted": step.links_counted,
    }


def _hypervisor(topology: Topology, machine: str) -> str | None:
    name = as_text(topology.entities[machine].attributes.get("hypervisor"))
    if name is not None:
        return name.lower()
    hosts = topology.related(machine, "runs_on", "host")
    return "esxi" if "esxi" in [platform(topology, host) for host in hosts] else None


def _thread_facts(topology: Topology, step: UnderTest, disk: str, attached: Sequence[str]) -> FactRow:
    """Return the facts of the hypervisor's threads that serve a disk. Shares are of one core, averaged over the
    threads."""
    samples, attributes = step.samples_of(disk), topology.entities[disk].attributes
    thread, threads = as_text(attributes.get("io_thread")), as_number(attributes.get("io_threads")) or 1.0
    busy, waiting = (rate(samples, f"io_thread_{part}_seconds_total") for part in ("busy", "wait"))
    poll_ns = as_number(attributes.get("io_thread_poll_max_ns"))
    others = [other for other in attached if as_text(topology.entities[other].attributes.get("io_thread")) == thread]
    return {
        "io_thread": thread,
        "io_thread_busy_ratio": busy / threads if busy is not None else None,
        "io_thread_wait_ratio": waiting / threads if waiting is not None else None,
        "io_thread_poll_seconds": poll_ns * 1e-9 if poll_ns is not None else None,
        "io_thread_disks": float(len(others)) if thread is not None else None,
    }


def _group_rows(topology: Topology, step: UnderTest, rates: Mapping[str, Rates]) -> Iterator[FactRow]:
    """Yield one row for each throttle group of the disks under test. `rates`: those of the disks under test."""
    groups = dict.fromkeys(group for disk in rates for group in topology.related(disk, "member_of", "vdisk"))
    for group in groups:
        attributes = topology.entities[group].attributes
        if as_text(attributes.get("kind")) is None:
            continue
        members = topology.related(group, "member_of", "vdisk")
        vms = [vm for disk in members for vm in topology.related(disk, "attached_to", "vm")]
        own = [disk for disk in rates if disk in members]
        of_test = summed(rates[disk] for disk in own)
        together = summed(rates.get(disk) or disk_rates(step, disk) for disk in members)
        if of_test.ops is None and len(own) == len(rates):
            # Only the load counts these disks, and it uses no others.
            of_test = load_rates(step)
            together = of_test if len(own) == len(members) else Rates()
        total, test_total = together.total_ops, of_test.total_ops
        yield {
            "entity": group,
            "step": step.load.step,
            "direction": step.load.direction,
            "windows": min((s.windows for disk in own for s in step.samples_of(disk)), default=step.load.windows),
            "vm": next((topology.entities[vm].label for vm in vms), None),
            "hypervisor": next((_hypervisor(topology, vm) for vm in vms), None),
            "ops_per_second": total,
            "bytes_per_second": together.total_bytes,
            "limit_ops_per_second": as_number(attributes.get("limit_ops_per_second")) or 0.0,
            **limit_facts(attributes, together),
            "limit_members": float(len(members)),
            "limit_foreign_ratio": max(0.0, 1 - test_total / total) if total and test_total is not None else None,
            "busiest_utilisation": step.busiest_utilisation,
            "links_counted": step.links_counted,
        }


def _adapter_in_flight(topology: Topology, step: UnderTest, disks: Sequence[str], controller: Scalar) -> float | None:
    """Return the I/Os in flight of all disks of a virtual controller.

    None: the controller, or a disk's I/Os, not known."""
    if controller is None:
        return None
    controller_disks = [disk for disk in disks if topology.entities[disk].attributes.get("controller") == controller]
    flying = [in_flight(step.samples_of(disk)) for disk in controller_disks]
    return None if None in flying else sum(value or 0.0 for value in flying)

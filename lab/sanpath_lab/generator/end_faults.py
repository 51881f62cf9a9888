"""Faults of the load generator and of the host's queues, and loads that nothing limits."""

from __future__ import annotations

from math import ceil
from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator.baseline import Baseline, grow_in_flight, set_service_time

_KIB = 1024
_SLOWEST_SECONDS = 0.02
"""Longest service time of an I/O below the queue that limits it."""


def lun_queue(san: San, baseline: Baseline) -> dict[str, Any]:
    """The queue depth of the guest's disks is too low for the load. Nothing below them is saturated."""
    depths = [
        depth for depth in (1, 2, 4, 8, 16, 32) if depth * san.volumes <= _SLOWEST_SECONDS * baseline.target_ops
    ]
    san.queue_depth = san.random.choice(depths)
    slots = san.queue_depth * san.volumes
    set_service_time(san, slots / baseline.target_ops)
    grow_in_flight(san, baseline, slots * san.random.uniform(2.0, 6.0))
    return san.truth("bottleneck", "guest", *("lun:sqlvm1/sda", "lun:sqlvm1/sdb")[: san.volumes])


def vdisk_queue(san: San, baseline: Baseline) -> dict[str, Any]:
    """The virtual controller's driver gives a disk its default depth. Steps are long enough for an ESXi host, which
    samples itself every 20 s."""
    san.vcenter, san.queue_depth, san.volumes, san.measured_seconds = True, None, 1, 43.0
    san.controller, depth, most_steps = san.random.choice((("lsi_logic", 32, 2), ("pvscsi", 64, 1)))
    baseline.steps = min(baseline.steps, most_steps)
    baseline.target_ops = depth / san.random.uniform(0.8 * _SLOWEST_SECONDS, _SLOWEST_SECONDS)
    set_service_time(san, depth / baseline.target_ops)
    grow_in_flight(san, baseline, depth * san.random.uniform(2.0, 4.0))
    return san.truth("bottleneck", "guest", "lun:sqlvm1/sda", "vdisk:sqlvm1/scsi0:0")


def generator_cpu(san: San, baseline: Baseline) -> dict[str, Any]:
    """A process of the load generator saturates its core before anything else is saturated."""
    san.one_core_per_thread = True
    processes = san.random.choice((1, 1, 2))
    san.threads = tuple(sorted({max(1, processes - back) for back in range(baseline.steps)}))
    san.cpu_seconds_per_io = processes * san.jobs / baseline.target_ops
    set_service_time(san, san.random.uniform(3e-4, 1e-3))
    needed = baseline.target_ops * (san.service_seconds + san.tail_seconds) / processes / san.jobs
    san.outstanding = max(4, ceil(3 * needed), san.random.choice((8, 16, 32)))
    return san.truth("generator_limited", "load")


def concurrency(san: San, baseline: Baseline) -> dict[str, Any]:
    """Too few I/Os are in flight to fill anything."""
    ios_per_job = san.random.choice((1, 1, 2, 4))
    set_service_time(san, ios_per_job * san.jobs / baseline.target_ops)
    grow_in_flight(san, baseline, ios_per_job * san.jobs)
    return san.truth("concurrency_limited", "load")


def demand(san: San, baseline: Baseline) -> dict[str, Any]:
    """The load requests a rate below the capacity of slow hardware."""
    speed = san.random.choice((2, 4, 8))
    ends = san.random.choice((san.host_gigabit, san.array_gigabit))
    ends[:] = [speed, speed]
    san.block_bytes = san.random.choice((16, 32, 64)) * _KIB
    return healthy(san, baseline)


def healthy(san: San, baseline: Baseline) -> dict[str, Any]:
    """The load requests a rate and reaches it, with more I/Os allowed in flight than it needs."""
    san.rate = baseline.target_ops * 0.8
    set_service_time(san, san.random.uniform(3e-4, 2e-3))
    needed = san.rate * (san.service_seconds + san.tail_seconds)
    baseline.steps = min(baseline.steps, 2)
    grow_in_flight(san, baseline, 6 * needed + 4 * san.jobs)
    min_threads = ceil((3 * needed + 2) / san.outstanding / san.jobs)
    san.threads = tuple(sorted({max(min_threads, threads) for threads in san.threads}))
    return san.truth("healthy", "load", also=["demand_limited"])

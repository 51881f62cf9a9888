"""Faults of the load and of the host's queues, and loads that nothing limits."""

from __future__ import annotations

from math import ceil
from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator.grounds import Ground, grow, serve

_KIB = 1024
_SLOWEST_SECONDS = 0.02
"""What an I/O takes below the queue that holds it, at most."""


def lun_queue(san: San, ground: Ground) -> dict[str, Any]:
    """The guest's disks let too few I/Os through; everything below them has room."""
    fast = [depth for depth in (1, 2, 4, 8, 16, 32) if depth * san.volumes <= _SLOWEST_SECONDS * ground.ops]
    san.queue_depth = san.random.choice(fast)
    slots = san.queue_depth * san.volumes
    serve(san, slots / ground.ops)
    grow(san, ground, slots * san.random.uniform(2.0, 6.0))
    return san.truth("bottleneck", "guest", *("lun:sqlvm1/sda", "lun:sqlvm1/sdb")[: san.volumes])


def vdisk_queue(san: San, ground: Ground) -> dict[str, Any]:
    """The virtual controller's driver gives a disk its default depth. Steps are long enough for an ESXi host, which
    samples itself every 20 s."""
    san.vcenter, san.queue_depth, san.volumes, san.measured_seconds = True, None, 1, 43.0
    san.controller, depth = san.random.choice((("lsi_logic", 32), ("pvscsi", 64)))
    ground.steps = min(ground.steps, 2)
    ground.ops = san.random.uniform(1600, 2000) / ground.steps
    serve(san, depth / ground.ops)
    grow(san, ground, depth * san.random.uniform(2.0, 4.0))
    return san.truth("bottleneck", "guest", "lun:sqlvm1/sda", "vdisk:sqlvm1/scsi0:0")


def generator_cpu(san: San, ground: Ground) -> dict[str, Any]:
    """A process of the load has its core busy before anything else is."""
    san.one_core_per_thread = True
    processes = san.random.choice((1, 1, 2))
    san.threads = tuple(sorted({max(1, processes - back) for back in range(ground.steps)}))
    san.cpu_seconds_per_io = processes * san.jobs / ground.ops
    serve(san, san.random.uniform(3e-4, 1e-3))
    needed = ground.ops * (san.service_seconds + san.tail_seconds) / processes / san.jobs
    san.outstanding = max(4, ceil(3 * needed), san.random.choice((8, 16, 32)))
    return san.truth("generator_limited", "load")


def concurrency(san: San, ground: Ground) -> dict[str, Any]:
    """Too few I/Os are in flight to fill anything."""
    each = san.random.choice((1, 1, 2, 4))
    serve(san, each * san.jobs / ground.ops)
    grow(san, ground, each * san.jobs)
    return san.truth("concurrency_limited", "load")


def demand(san: San, ground: Ground) -> dict[str, Any]:
    """The load asks for a rate that is below what slow hardware gives."""
    speed = san.random.choice((2, 4, 8))
    ends = san.random.choice((san.host_gigabit, san.array_gigabit))
    ends[:] = [speed, speed]
    san.block_bytes = san.random.choice((16, 32, 64)) * _KIB
    return healthy(san, ground)


def healthy(san: San, ground: Ground) -> dict[str, Any]:
    """A rate was asked for and met, with I/Os to spare."""
    san.rate = ground.ops * 0.8
    serve(san, san.random.uniform(3e-4, 2e-3))
    needed = san.rate * (san.service_seconds + san.tail_seconds)
    ground.steps = min(ground.steps, 2)
    grow(san, ground, 6 * needed + 4 * san.jobs)
    least = ceil((3 * needed + 2) / san.outstanding / san.jobs)
    san.threads = tuple(sorted({max(least, threads) for threads in san.threads}))
    return san.truth("healthy", "load", also=["demand_limited"])

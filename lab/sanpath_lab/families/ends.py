"""Families with a limit at an end of the path: the load, a queue of the host, or the array."""

from __future__ import annotations

from sanpath_lab.families.case import Label
from sanpath_lab.families.san import San

_KIB = 1024
_ENOUGH = 4096
"""Queue depth that admits all I/Os of a load."""
_NONE = ("link-full", "array-service-grows", "configured-cap", "generator-cpu", "slow-drain-device")


def _rate(san: San) -> None:
    """Request a rate below the capacity, with more I/Os allowed in flight than it needs."""
    san.rate = san.random.uniform(800, 3000)
    san.threads, san.outstanding = (8, 16), san.random.choice((2, 4))


def healthy(san: San) -> Label:
    """The load requests a rate and reaches it."""
    _rate(san)
    return san.truth("healthy", "load", also=["demand_limited"], forbidden=_NONE), None


def demand_limited(san: San) -> Label:
    """The load requests a rate far below the capacity of slow hardware."""
    speed = san.random.choice((4, 8))
    san.host_gigabit = [speed, speed]
    san.block_bytes = 32 * _KIB
    _rate(san)
    return san.truth("demand_limited", "load", also=["healthy"], forbidden=_NONE), None


def concurrency(san: San) -> Label:
    """Too few I/Os are in flight to fill anything."""
    san.threads, san.outstanding = san.random.choice(((1, 2), (1, 2, 4))), 1
    san.service_seconds = san.random.uniform(6e-4, 1.5e-3)
    san.block_bytes = san.random.choice((8, 16, 64)) * _KIB
    return san.truth("concurrency_limited", "load", forbidden=_NONE), None


def generator_cpu(san: San) -> Label:
    """A process of the load has its core busy before anything else is."""
    san.one_core_per_thread = True
    san.cpu_seconds_per_io = san.random.uniform(2.5e-4, 6e-4)
    san.threads, san.outstanding = (1, 2), san.random.choice((16, 32))
    san.block_bytes = san.random.choice((4, 8, 16)) * _KIB
    return san.truth("generator_limited", "load", findings=["generator-cpu"], forbidden=_NONE[:3]), None


def zeros(san: San) -> Label:
    """The load writes zeros, which prove nothing of the media."""
    san.direction, san.zeros = "write", True
    _rate(san)
    return san.truth(
        "demand_limited", "load", also=["healthy"], findings=["test-writes-zeros"], forbidden=_NONE
    ), None


def lun_queue(san: San) -> Label:
    """The guest's disk lets too few I/Os through; everything below it has room."""
    san.queue_depth = san.random.choice((4, 8, 16))
    san.service_seconds = san.queue_depth / san.random.uniform(3000, 6000)
    san.tail_seconds = san.service_seconds * 0.1
    san.block_bytes = san.random.choice((8, 16, 32)) * _KIB
    san.threads, san.outstanding = (1, san.queue_depth, 2 * san.queue_depth), 2
    truth = san.truth("bottleneck", "guest", "lun:sqlvm1/sda", findings=["lun-queue-limits"], forbidden=_NONE[:3])
    return truth, {"queue_depth": _ENOUGH, "lun_queue_depth": _ENOUGH}


def queue_depth_twin(san: San) -> Label:
    """The published 4 Gb test with small blocks and fast links: its queue of 32 limits."""
    san.queue_depth, san.block_bytes = 32, 8 * _KIB
    san.service_seconds = san.random.uniform(5e-3, 8e-3)
    san.tail_seconds = san.service_seconds * 0.1
    san.threads, san.outstanding, san.path_policy = (2, 16, 64), 8, "most_recently_used"
    truth = san.truth("bottleneck", "guest", "lun:sqlvm1/sda", findings=["lun-queue-limits"], forbidden=_NONE[:3])
    return truth, {"queue_depth": _ENOUGH, "lun_queue_depth": _ENOUGH}


def queue_above_link(san: San) -> Label:
    """The published 4 Gb test: I/Os in its queue of 32 wait for the link, which limits."""
    san.queue_depth, san.block_bytes = 32, 64 * _KIB
    san.host_gigabit, san.path_policy = [4, 4], "most_recently_used"
    san.threads, san.outstanding = (2, 16, 64), 8
    truth = san.truth("bottleneck", "host", san.host_port(0), findings=["link-full"], forbidden=["lun-queue-limits"])
    return truth, {"host_gigabit": [8, 8]}


def vscsi_queue(san: San) -> Label:
    """The virtual controller's driver gives a disk its default depth, and everything below has room. Steps are long
    enough for an ESXi host, which samples itself every 20 s."""
    san.vcenter, san.queue_depth = True, None
    san.controller, depth = san.random.choice((("lsi_logic", 32), ("pvscsi", 64)))
    san.service_seconds = depth / san.random.uniform(2000, 3000)
    san.tail_seconds = san.service_seconds * 0.1
    san.block_bytes = san.random.choice((8, 16, 32)) * _KIB
    san.threads, san.outstanding, san.measured_seconds = (1, 8), depth // san.random.choice((2, 4)), 43.0
    disks = ("lun:sqlvm1/sda", "vdisk:sqlvm1/scsi0:0")
    label = {"findings": ["vscsi-queue-limits"], "forbidden": _NONE[:3]}
    return san.truth("bottleneck", "guest", *disks, **label), {"queue_depth": _ENOUGH, "lun_queue_depth": _ENOUGH}


def controller(san: San) -> Label:
    """The array's command processors are slow. I/Os wait for them; the media are as fast as before."""
    san.command_seconds = san.random.uniform(4e-4, 9e-4)
    san.block_bytes = san.random.choice((8, 16)) * _KIB
    san.threads, san.outstanding = (1, 8, 32), 2
    truth = san.truth("bottleneck", "array_front", "array:fa1", findings=["array-service-grows"], forbidden=_NONE[:1])
    return truth, None


def slow_media(san: San) -> Label:
    """The array's media serve a few I/Os at a time."""
    san.parallel_media = san.random.choice((4, 8, 16))
    san.service_seconds = san.parallel_media / san.random.uniform(1500, 4000)
    san.tail_seconds = san.service_seconds * 0.3
    san.block_bytes = san.random.choice((8, 16, 32)) * _KIB
    san.threads, san.outstanding = (1, san.parallel_media, 4 * san.parallel_media), 2
    truth = san.truth("bottleneck", "array_back", "array:fa1", findings=["array-service-grows"], forbidden=_NONE[:1])
    return truth, None


def noisy_volume(san: San) -> Label:
    """Other hosts saturate the media that they share with the test."""
    san.parallel_media = san.random.choice((8, 16))
    san.service_seconds = san.parallel_media / san.random.uniform(2500, 4000)
    san.tail_seconds = san.service_seconds * 0.3
    san.block_bytes = san.random.choice((8, 16)) * _KIB
    san.background(san.random.randint(0, 3))
    for _ in range(2):
        san.neighbour(
            san.random.randrange(2), block_bytes=16 * _KIB, outstanding=san.parallel_media, direction=san.direction
        )
    san.threads, san.outstanding = (1, 4, 8), 2
    truth = san.truth(
        "bottleneck", "array_back", "array:fa1", findings=["array-busy-with-others"], forbidden=_NONE[:1]
    )
    return truth, None


def qos(san: San) -> Label:
    """The volume has a configured QoS limit of bytes or operations a second."""
    iops = san.random.uniform(1000, 3000)
    san.block_bytes = san.random.choice((16, 32, 64)) * _KIB
    if san.random.random() < 0.5:
        san.iops_limit = round(iops)
    else:
        san.bandwidth_limit = round(iops * san.block_bytes)
    san.threads, san.outstanding = (1, 8, 16), 4
    label = {"findings": ["configured-cap"], "forbidden": ("link-full", "array-service-grows")}
    truth = san.truth("configured_cap", "array_front", "volume:fa1/vol01", **label)
    return truth, {"iops_limit": None, "bandwidth_limit": None}


def two_faults(san: San) -> Label:
    """A slow port of the host and a limit of the volume: the lower one limits, the other is no cause."""
    san.host_gigabit, san.path_policy = [4, 4], "most_recently_used"
    san.block_bytes, san.threads, san.outstanding = 64 * _KIB, (1, 8, 16), 4
    if san.random.random() < 0.5:
        san.bandwidth_limit = round(san.random.uniform(1.5e8, 3.2e8))
        truth = san.truth("configured_cap", "array_front", "volume:fa1/vol01", forbidden=["link-full"])
    else:
        san.bandwidth_limit = round(san.random.uniform(5.5e8, 8e8))
        truth = san.truth("bottleneck", "host", san.host_port(0), forbidden=["configured-cap"])
    return truth, None

"""Faults of the array: controllers, media, caches, QoS limits and other hosts that use it."""

from __future__ import annotations

from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator.baseline import Baseline, grow_in_flight, path_count, set_service_time

_KIB = 1024
_ARRAY = "array:fa1"


def _saturate(san: San, baseline: Baseline, seconds: float) -> None:
    """Keep more I/Os in flight than the drawn rate needs at a service time of `seconds`."""
    grow_in_flight(san, baseline, baseline.target_ops * seconds * san.random.uniform(2.5, 6.0) + 4 * san.jobs)


def controller(san: San, baseline: Baseline) -> dict[str, Any]:
    """The array's command processors are slow. I/Os wait for them; the media are as fast as before."""
    san.command_seconds = path_count(san) / baseline.target_ops
    seconds = san.random.uniform(3e-4, 1.5e-3)
    set_service_time(san, seconds)
    _saturate(san, baseline, seconds + 2 * san.command_seconds)
    return san.truth("bottleneck", "array_front", _ARRAY)


def media(san: San, baseline: Baseline) -> dict[str, Any]:
    """The array's media serve only a few I/Os at a time."""
    san.parallel_media = san.random.choice((1, 2, 4, 8, 16))
    seconds = san.parallel_media / baseline.target_ops
    if san.random.random() < 0.5:
        # The wait for the media is then a wait for a server, which the array counts as queue time.
        san.parallel_servers = san.parallel_media
    set_service_time(san, seconds)
    _saturate(san, baseline, seconds)
    return san.truth("bottleneck", "array_back", _ARRAY)


def write_cache(san: San, baseline: Baseline) -> dict[str, Any]:
    """The load writes faster than the array destages its cache. In a mixed closed loop, reads wait for the writes."""
    san.write_ratio = san.random.choice((None, None, 0.5, 0.7))
    san.direction = "write"
    san.block_bytes = san.random.choice((8, 16, 32, 64)) * _KIB
    writes = san.write_ratio or 1.0
    rate = baseline.target_ops * writes * san.block_bytes
    san.write_cache = {
        "capacity_bytes": max(4 * san.block_bytes, round(rate * san.random.uniform(0.1, 0.5))),
        "destage_bytes_per_second": rate,
    }
    seconds = san.random.uniform(3e-4, 1.5e-3)
    set_service_time(san, seconds)
    _saturate(san, baseline, 2 * seconds)
    return san.truth("bottleneck", "array_back", _ARRAY)


def qos(san: San, baseline: Baseline) -> dict[str, Any]:
    """The volume has a configured QoS limit of bytes or operations a second."""
    ops_per_volume = baseline.target_ops / san.volumes
    if san.random.random() < 0.5:
        san.iops_limit = round(ops_per_volume)
    else:
        san.bandwidth_limit = round(ops_per_volume * san.block_bytes)
    seconds = san.random.uniform(3e-4, 1.5e-3)
    set_service_time(san, seconds)
    _saturate(san, baseline, 1.5 * seconds)
    return san.truth("configured_cap", "array_front", *("volume:fa1/vol01", "volume:fa1/vol02")[: san.volumes])


def qos_shared(san: San, baseline: Baseline) -> dict[str, Any]:
    """Another host uses part of the QoS limit of a shared volume."""
    san.volumes = 1
    truth = qos(san, baseline)
    fabric, outstanding = san.random.randrange(san.fabrics), max(2, round(san.outstanding * san.threads[-1] / 2))
    san.neighbour(fabric, block_bytes=san.block_bytes, outstanding=outstanding, direction=san.direction, volume=1)
    return truth


def neighbour_media(san: San, baseline: Baseline) -> dict[str, Any]:
    """Other hosts saturate the media that they share with the test."""
    san.parallel_media = san.random.choice((4, 8, 16))
    seconds = san.parallel_media / baseline.max_ops
    set_service_time(san, seconds)
    baseline.target_ops = baseline.max_ops * 0.5
    _saturate(san, baseline, seconds)
    for _ in range(san.random.choice((1, 2))):
        fabric = san.random.randrange(san.fabrics)
        san.neighbour(fabric, block_bytes=16 * _KIB, outstanding=san.parallel_media, direction=san.direction)
    return san.truth("bottleneck", "array_back", _ARRAY)


def entry(san: San, baseline: Baseline) -> dict[str, Any]:
    """The array admits commands one at a time before its own clock starts, so the latency that it reports is low."""
    san.entry_seconds = 1 / baseline.target_ops
    seconds = san.random.uniform(2e-4, 8e-4)
    set_service_time(san, seconds)
    _saturate(san, baseline, seconds + san.entry_seconds)
    return san.truth("bottleneck", "array_front", _ARRAY, *(san.array_port(f) for f in range(san.fabrics)))

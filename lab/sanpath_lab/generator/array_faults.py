"""Faults of the array: controllers, media, caches, limits, and who else uses it."""

from __future__ import annotations

from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator.grounds import Ground, grow, paths, serve

_KIB = 1024
_ARRAY = "array:fa1"


def _saturate(san: San, ground: Ground, seconds: float) -> None:
    """More in flight than what takes so long for an I/O can serve at the drawn rate."""
    grow(san, ground, ground.ops * seconds * san.random.uniform(2.5, 6.0) + 4 * san.jobs)


def controller(san: San, ground: Ground) -> dict[str, Any]:
    """The array's command processors take long for every command; I/Os wait for them, and are served as fast."""
    san.command_seconds = paths(san) / ground.ops
    seconds = san.random.uniform(3e-4, 1.5e-3)
    serve(san, seconds)
    _saturate(san, ground, seconds + 2 * san.command_seconds)
    return san.truth("bottleneck", "array_front", _ARRAY)


def media(san: San, ground: Ground) -> dict[str, Any]:
    """The array's media serve a few I/Os at a time."""
    san.parallel_media = san.random.choice((1, 2, 4, 8, 16))
    seconds = san.parallel_media / ground.ops
    if san.random.random() < 0.5:
        # Then the wait for the media is one for a server, which the array calls queue time.
        san.parallel_servers = san.parallel_media
    serve(san, seconds)
    _saturate(san, ground, seconds)
    return san.truth("bottleneck", "array_back", _ARRAY)


def write_cache(san: San, ground: Ground) -> dict[str, Any]:
    """The load writes faster than the array empties its cache; where reads are mixed in, a closed loop makes them
    wait for the writes."""
    san.write_ratio = san.random.choice((None, None, 0.5, 0.7))
    san.direction = "write"
    san.block_bytes = san.random.choice((8, 16, 32, 64)) * _KIB
    writes = san.write_ratio or 1.0
    rate = ground.ops * writes * san.block_bytes
    san.write_cache = {
        "capacity_bytes": max(4 * san.block_bytes, round(rate * san.random.uniform(0.1, 0.5))),
        "destage_bytes_per_second": rate,
    }
    seconds = san.random.uniform(3e-4, 1.5e-3)
    serve(san, seconds)
    _saturate(san, ground, 2 * seconds)
    return san.truth("bottleneck", "array_back", _ARRAY)


def qos(san: San, ground: Ground) -> dict[str, Any]:
    """The volume has a limit that somebody set, of bytes or of operations."""
    each = ground.ops / san.volumes
    if san.random.random() < 0.5:
        san.iops_limit = round(each)
    else:
        san.bandwidth_limit = round(each * san.block_bytes)
    seconds = san.random.uniform(3e-4, 1.5e-3)
    serve(san, seconds)
    _saturate(san, ground, 1.5 * seconds)
    return san.truth("configured_cap", "array_front", *("volume:fa1/vol01", "volume:fa1/vol02")[: san.volumes])


def qos_shared(san: San, ground: Ground) -> dict[str, Any]:
    """Another host uses a part of what the limit of the shared volume allows."""
    san.volumes = 1
    truth = qos(san, ground)
    fabric, outstanding = san.random.randrange(san.fabrics), max(2, round(san.outstanding * san.threads[-1] / 2))
    san.neighbour(fabric, block_bytes=san.block_bytes, outstanding=outstanding, direction=san.direction, volume=1)
    return truth


def neighbour_media(san: San, ground: Ground) -> dict[str, Any]:
    """Other hosts keep the media that the test shares with them busy."""
    san.parallel_media = san.random.choice((4, 8, 16))
    seconds = san.parallel_media / ground.most
    serve(san, seconds)
    ground.ops = ground.most * 0.5
    _saturate(san, ground, seconds)
    for _ in range(san.random.choice((1, 2))):
        fabric = san.random.randrange(san.fabrics)
        san.neighbour(fabric, block_bytes=16 * _KIB, outstanding=san.parallel_media, direction=san.direction)
    return san.truth("bottleneck", "array_back", _ARRAY)


def entry(san: San, ground: Ground) -> dict[str, Any]:
    """The array takes commands one at a time before its own clocks begin: what it says of its latency is fine."""
    san.entry_seconds = 1 / ground.ops
    seconds = san.random.uniform(2e-4, 8e-4)
    serve(san, seconds)
    _saturate(san, ground, seconds + san.entry_seconds)
    return san.truth("bottleneck", "array_front", _ARRAY, *(san.array_port(f) for f in range(san.fabrics)))

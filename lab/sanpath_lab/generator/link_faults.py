"""Faults of links: too slow, shared, damaged, held up, or not used as they could be."""

from __future__ import annotations

from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator.grounds import FC_BYTES, Ground, fabrics, grow, paths, serve

_KIB = 1024


def _fill(san: San, ground: Ground, ways: int, speeds: tuple[int, ...] = (1, 2, 4, 8)) -> int:
    """A speed for so many links that take the test together, and a load that fills them: the block fits the speed,
    so that the I/Os are few enough."""
    sizes = (16, 32, 64, 128, 256, 512)
    fits = [
        (speed, size)
        for speed in speeds
        for size in sizes
        if 0.3 * ground.most <= ways * FC_BYTES[speed] / (size * _KIB) <= ground.most
    ]
    speed, size = san.random.choice(fits)
    san.block_bytes = size * _KIB
    ground.ops = ways * FC_BYTES[speed] / san.block_bytes
    serve(san, san.random.uniform(3e-4, 2e-3))
    # Both directions of a link are filled by so many of each; a queue above the link holds the rest.
    least = min(san.write_ratio, 1 - san.write_ratio) if san.write_ratio is not None else 1.0
    transfer = san.block_bytes / FC_BYTES[speed]
    needed = ground.ops * (san.service_seconds + san.tail_seconds + 2 * transfer) + 4 * ways
    grow(san, ground, san.random.uniform(2.0, 4.0) * needed / max(0.5, least))
    if san.random.random() < 0.3:
        san.queue_depth = round(max(16, 1.8 * needed / max(0.5, least) / san.volumes))
    return speed


def _array_ends(san: San, fabric: int) -> tuple[str, str]:
    """Both ends of the array's link: where no switch is read, it is named by the array's port."""
    return san.array_port(fabric), san.target_port(fabric)


def host_link(san: San, ground: Ground) -> dict[str, Any]:
    """The host's ports are slower than everything behind them."""
    san.host_gigabit = [_fill(san, ground, paths(san))] * 2
    return san.truth("bottleneck", "host", *(end for f in fabrics(san) for end in (san.host_port(f), san.hba(f))))


def array_link(san: San, ground: Ground) -> dict[str, Any]:
    """The array's ports are slower than everything in front of them."""
    san.array_gigabit = [_fill(san, ground, paths(san))] * 2
    return san.truth("bottleneck", "array_front", *(end for f in fabrics(san) for end in _array_ends(san, f)))


def isl(san: San, ground: Ground) -> dict[str, Any]:
    """The links between switches are slower than what they connect."""
    san.hops = san.random.choice((1, 2))
    san.isl_gigabit = [_fill(san, ground, paths(san))] * 2
    return san.truth("bottleneck", "fabric", *(port for f in fabrics(san) for port in san.isl_ports(f)))


def unequal_paths(san: San, ground: Ground) -> dict[str, Any]:
    """Round Robin gives a slow port of the host as much as a fast one: the slow one is full."""
    san.fabrics, san.path_policy = 2, "round_robin"
    slow, speed = san.random.randrange(2), _fill(san, ground, 2, (1, 2, 4))
    san.host_gigabit[slow], san.host_gigabit[1 - slow] = speed, san.random.choice((4 * speed, 16))
    return san.truth("bottleneck", "host", san.host_port(slow), san.hba(slow))


def path_turns(san: San, ground: Ground) -> dict[str, Any]:
    """Round Robin sends many I/Os down one path before it turns to the next: the paths take turns."""
    san.fabrics, san.path_policy, san.ios_per_path = 2, "round_robin", 1000
    san.host_gigabit = [_fill(san, ground, 1)] * 2
    luns = ("lun:sqlvm1/sda", "lun:sqlvm1/sdb")[: san.volumes]
    return san.truth("bottleneck", "host", san.host_port(0), san.host_port(1), *luns)


def retries(san: San, ground: Ground) -> dict[str, Any]:
    """A cable damages frames, and what they belonged to is done again after a time-out."""
    random = san.random
    san.timeout_seconds = random.choice((0.25, 0.5, 1.0))
    san.block_bytes = random.choice((16, 32, 64, 128)) * _KIB
    mean = random.uniform(2e-3, 8e-3)
    serve(san, mean)
    grow(san, ground, max(1, ground.most * mean * random.uniform(0.6, 0.9)))
    # So many of the I/Os that a mean one takes this many times as long as without.
    ratio = mean * random.uniform(0.5, 3.0) / san.timeout_seconds * paths(san)
    frames = san.block_bytes / 2048
    writes = 1.0 if san.direction == "write" else 0.0
    writes = writes if san.write_ratio is None else san.write_ratio
    at_host = random.random() < writes
    share = writes if at_host else 1 - writes
    san.damaged_frame_ratio["host" if at_host else "array"] = ratio / frames / share
    return san.truth("bottleneck", "fabric", san.host_port(0) if at_host else san.array_port(0))


def neighbour_port(san: San, ground: Ground) -> dict[str, Any]:
    """Another host fills the array port that the test uses as well."""
    san.path_policy, san.write_ratio = "most_recently_used", None
    ground.most *= 0.7
    speed = _fill(san, ground, 1)
    san.queue_depth = 254
    san.array_gigabit = [speed, speed]
    needed = ground.ops * (san.service_seconds + san.tail_seconds) + 8
    grow(san, ground, needed)
    for _ in range(san.random.choice((1, 2))):
        outstanding = round(san.random.uniform(0.5, 1.5) * needed) + 4
        san.neighbour(0, block_bytes=san.block_bytes, outstanding=outstanding, direction=san.direction, target=0)
    return san.truth("bottleneck", "array_front", *_array_ends(san, 0))


def slow_drain(san: San, ground: Ground) -> dict[str, Any]:
    """A host that is no part of the test takes its frames slowly and holds up what shares its switches."""
    san.hops, san.direction, san.write_ratio = san.random.choice((1, 2)), "read", None
    san.isl_gigabit = [16, 16]
    san.burst_frames, san.credits = 32, 80
    san.path_policy = "most_recently_used"
    san.block_bytes = 64 * _KIB
    serve(san, san.random.uniform(3e-4, 1e-3))
    ground.steps = min(ground.steps, 3)
    grow(san, ground, san.random.choice((16, 32, 64)))
    drains = san.random.uniform(0.03, 0.05)
    port = san.neighbour(
        0, block_bytes=san.block_bytes, outstanding=64, direction="read", target=1, drain_ratio=drains
    )
    culprit = san.neighbours[-1]["hba"]["wwpn"].replace(":", "")
    return san.truth("bottleneck", "fabric", port, culprit=f"hba:{culprit}")

"""Faults of links: too slow, shared, damaged, congested, or badly used by the path policy."""

from __future__ import annotations

from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator.baseline import (
    FC_BYTES,
    Baseline,
    grow_in_flight,
    path_count,
    set_service_time,
    used_fabrics,
)

_KIB = 1024


def _fill_links(san: San, baseline: Baseline, link_count: int, speeds: tuple[int, ...] = (1, 2, 4, 8)) -> int:
    """Draw a speed in gigabit for the links that carry the test together, and a load that fills them.

    The block size fits the speed, so that the I/Os are cheap enough to simulate.
    """
    sizes = (16, 32, 64, 128, 256, 512)
    choices = [
        (speed, size)
        for speed in speeds
        for size in sizes
        if 0.3 * baseline.max_ops <= link_count * FC_BYTES[speed] / (size * _KIB) <= baseline.max_ops
    ]
    speed, size = san.random.choice(choices)
    san.block_bytes = size * _KIB
    baseline.target_ops = link_count * FC_BYTES[speed] / san.block_bytes
    set_service_time(san, san.random.uniform(3e-4, 2e-3))
    # Each direction needs that many I/Os; a queue above the link may hold further I/Os back.
    smaller_share = min(san.write_ratio, 1 - san.write_ratio) if san.write_ratio is not None else 1.0
    transfer = san.block_bytes / FC_BYTES[speed]
    needed = baseline.target_ops * (san.service_seconds + san.tail_seconds + 2 * transfer) + 4 * link_count
    grow_in_flight(san, baseline, san.random.uniform(2.0, 4.0) * needed / max(0.5, smaller_share))
    if san.random.random() < 0.3:
        san.queue_depth = round(max(16, 1.8 * needed / max(0.5, smaller_share) / san.volumes))
    return speed


def _array_link_ends(san: San, fabric: int) -> tuple[str, str]:
    """Return both ends of the array's link, because it has the name of the array's port if no switch is read."""
    return san.array_port(fabric), san.target_port(fabric)


def host_link(san: San, baseline: Baseline) -> dict[str, Any]:
    """The host's ports are slower than everything behind them."""
    san.host_gigabit = [_fill_links(san, baseline, path_count(san))] * 2
    return san.truth(
        "bottleneck", "host", *(end for f in used_fabrics(san) for end in (san.host_port(f), san.hba(f)))
    )


def array_link(san: San, baseline: Baseline) -> dict[str, Any]:
    """The array's ports are slower than everything in front of them."""
    san.array_gigabit = [_fill_links(san, baseline, path_count(san))] * 2
    return san.truth(
        "bottleneck", "array_front", *(end for f in used_fabrics(san) for end in _array_link_ends(san, f))
    )


def isl(san: San, baseline: Baseline) -> dict[str, Any]:
    """The links between switches are slower than what they connect."""
    san.hops = san.random.choice((1, 2))
    san.isl_gigabit = [_fill_links(san, baseline, path_count(san))] * 2
    return san.truth("bottleneck", "fabric", *(port for f in used_fabrics(san) for port in san.isl_ports(f)))


def unequal_paths(san: San, baseline: Baseline) -> dict[str, Any]:
    """Round Robin sends as many I/Os to a slow port of the host as to a fast one, so the slow one is full."""
    san.fabrics, san.path_policy = 2, "round_robin"
    slow, speed = san.random.randrange(2), _fill_links(san, baseline, 2, (1, 2, 4))
    san.host_gigabit[slow], san.host_gigabit[1 - slow] = speed, san.random.choice((4 * speed, 16))
    return san.truth("bottleneck", "host", san.host_port(slow), san.hba(slow))


def path_turns(san: San, baseline: Baseline) -> dict[str, Any]:
    """Round Robin sends many I/Os down one path before it changes to the next, so only one path is busy at a time."""
    san.fabrics, san.path_policy, san.ios_per_path = 2, "round_robin", 1000
    san.host_gigabit = [_fill_links(san, baseline, 1)] * 2
    luns = ("lun:sqlvm1/sda", "lun:sqlvm1/sdb")[: san.volumes]
    ends = san.host_port(0), san.host_port(1), san.hba(0), san.hba(1)
    return san.truth("bottleneck", "host", *ends, *luns)


def retries(san: San, baseline: Baseline) -> dict[str, Any]:
    """A cable damages frames; their commands are repeated after a time-out."""
    random = san.random
    san.timeout_seconds = random.choice((0.25, 0.5, 1.0))
    san.block_bytes = random.choice((16, 32, 64, 128)) * _KIB
    mean = random.uniform(2e-3, 8e-3)
    set_service_time(san, mean)
    grow_in_flight(san, baseline, max(1, baseline.max_ops * mean * random.uniform(0.6, 0.9)))
    # The share of damaged commands that adds 0.5 to 3 times the mean service time to the mean latency.
    ratio = mean * random.uniform(0.5, 3.0) / san.timeout_seconds * path_count(san)
    frames = san.block_bytes / 2048
    writes = 1.0 if san.direction == "write" else 0.0
    writes = writes if san.write_ratio is None else san.write_ratio
    at_host = random.random() < writes
    share = writes if at_host else 1 - writes
    san.damaged_frame_ratio["host" if at_host else "array"] = ratio / frames / share
    return san.truth("bottleneck", "fabric", san.host_port(0) if at_host else san.array_port(0))


def neighbour_port(san: San, baseline: Baseline) -> dict[str, Any]:
    """Another host fills the array port that the test uses."""
    san.path_policy, san.write_ratio = "most_recently_used", None
    baseline.max_ops *= 0.7
    speed = _fill_links(san, baseline, 1)
    san.queue_depth = 254
    san.array_gigabit = [speed, speed]
    needed = baseline.target_ops * (san.service_seconds + san.tail_seconds) + 8
    grow_in_flight(san, baseline, needed)
    for _ in range(san.random.choice((1, 2))):
        outstanding = round(san.random.uniform(0.5, 1.5) * needed) + 4
        san.neighbour(0, block_bytes=san.block_bytes, outstanding=outstanding, direction=san.direction, target=0)
    return san.truth("bottleneck", "array_front", *_array_link_ends(san, 0))


def slow_drain(san: San, baseline: Baseline) -> dict[str, Any]:
    """A host outside the test drains its frames slowly and congests the traffic that shares its switches."""
    san.hops, san.direction, san.write_ratio = san.random.choice((1, 2)), "read", None
    san.isl_gigabit = [16, 16]
    san.burst_frames, san.credits = 32, 80
    san.path_policy = "most_recently_used"
    san.block_bytes = 64 * _KIB
    set_service_time(san, san.random.uniform(3e-4, 1e-3))
    baseline.steps = min(baseline.steps, 3)
    grow_in_flight(san, baseline, san.random.choice((16, 32, 64)))
    drain_ratio = san.random.uniform(0.03, 0.05)
    port = san.neighbour(
        0, block_bytes=san.block_bytes, outstanding=64, direction="read", target=1, drain_ratio=drain_ratio
    )
    culprit = san.neighbours[-1]["hba"]["wwpn"].replace(":", "")
    return san.truth("bottleneck", "fabric", port, culprit=f"hba:{culprit}")

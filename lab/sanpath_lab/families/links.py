"""Families with a limit or a fault at a link of the fabric."""

from __future__ import annotations

from sanpath_lab.families.case import Label
from sanpath_lab.families.san import FULL_SPEED, San

_KIB = 1024
CAUSES_ELSEWHERE = ("lun-queue-limits", "array-service-grows", "configured-cap", "generator-cpu", "path-serialised")
"""Rules that accuse an element that is no link."""


def fill(san: San, gigabit: int) -> None:
    """A load that fills a link of this speed, at few I/Os a second: the block grows with it."""
    san.block_bytes = san.random.choice((128, 192) if gigabit <= 4 else (256, 384)) * _KIB
    san.outstanding = 4


def slow_host_edge(san: San) -> Label:
    """The host's ports are slower than everything behind them."""
    speed = san.random.choice((4, 8))
    san.host_gigabit = [speed, speed]
    fill(san, speed)
    ports = (san.host_port(0), san.host_port(1))
    truth = san.truth("bottleneck", "host", *ports, findings=["link-full"], forbidden=CAUSES_ELSEWHERE)
    return truth, {"host_gigabit": [2 * speed, 2 * speed]}


def slow_array_edge(san: San) -> Label:
    """The array's ports are slower than everything in front of them."""
    speed = san.random.choice((4, 8))
    san.array_gigabit = [speed, speed]
    fill(san, speed)
    ports = (san.array_port(0), san.array_port(1))
    truth = san.truth("bottleneck", "array_front", *ports, findings=["link-full"], forbidden=CAUSES_ELSEWHERE)
    return truth, {"array_gigabit": [2 * speed, 2 * speed]}


def isl(san: San) -> Label:
    """The links between switches are slower than what they connect."""
    san.hops = san.random.choice((1, 2))
    san.background(san.random.randint(0, 5))
    speed = san.random.choice((4, 8))
    san.isl_gigabit = [speed, speed]
    fill(san, speed)
    ports = (*san.isl_ports(0), *san.isl_ports(1))
    truth = san.truth("bottleneck", "fabric", *ports, findings=["link-full"], forbidden=CAUSES_ELSEWHERE)
    return truth, {"isl_gigabit": [FULL_SPEED, FULL_SPEED]}


def single_path(san: San) -> Label:
    """Most Recently Used uses the first of two paths only, and its link is full."""
    speed = san.random.choice((4, 8))
    san.host_gigabit = [speed, speed]
    san.path_policy = "most_recently_used"
    fill(san, speed)
    findings = ["link-full", "single-path-in-use"]
    truth = san.truth("bottleneck", "host", san.host_port(0), findings=findings, forbidden=CAUSES_ELSEWHERE)
    return truth, {"host_gigabit": [2 * speed, 2 * speed]}


def unequal_paths(san: San) -> Label:
    """Round Robin sends as many I/Os to a slow port of the host as to a fast one, so the slow one is full."""
    slow = san.random.randrange(2)
    san.host_gigabit[slow], san.host_gigabit[1 - slow] = san.random.choice(((4, 8), (4, 16), (8, 16)))
    fill(san, san.host_gigabit[slow])
    truth = san.truth("bottleneck", "host", san.host_port(slow), findings=["link-full"], forbidden=CAUSES_ELSEWHERE)
    return truth, None


def path_slicing(san: San) -> Label:
    """Round Robin sends 1000 I/Os down one path before it changes to the next, so only one path is busy at a time."""
    speed = san.random.choice((4, 8))
    san.host_gigabit = [speed, speed]
    san.ios_per_path = 1000
    fill(san, speed)
    elements = (san.host_port(0), san.host_port(1), "lun:sqlvm1/sda")
    return san.truth("bottleneck", "host", *elements, findings=["path-serialised"]), {"ios_per_path": 1}


def noisy_port(san: San) -> Label:
    """Another host fills the array port that the test uses as well."""
    speed = san.random.choice((4, 8))
    san.array_gigabit = [speed, speed]
    san.path_policy = "most_recently_used"
    fill(san, speed)
    san.background(san.random.randint(0, 3))
    san.neighbour(0, block_bytes=san.block_bytes, outstanding=48, direction=san.direction, target=0, gigabit=16)
    san.threads, san.outstanding = (1, 4, 8), 2
    findings = ["link-full", "noisy-neighbour"]
    return san.truth("bottleneck", "array_front", san.array_port(0), findings=findings), None


def slow_drain(san: San) -> Label:
    """A host outside the test drains its frames slowly and congests the traffic that shares its switches."""
    san.hops, san.direction = san.random.choice((1, 2)), "read"
    san.isl_gigabit = [16, 16]
    san.burst_frames, san.credits = 32, 80
    san.path_policy = "most_recently_used"
    san.block_bytes = 64 * _KIB
    san.background(san.random.randint(0, 3))
    port = san.neighbour(
        0,
        block_bytes=64 * _KIB,
        outstanding=64,
        direction="read",
        drain_ratio=san.random.uniform(0.03, 0.08),
        target=1,
    )
    culprit = san.neighbours[-1]["hba"]["wwpn"].replace(":", "")
    victims = [f"switch_port:{p}" for p in san.isl_ports(0)]
    label = {"culprit": f"hba:{culprit}", "victims": victims, "findings": ["slow-drain-device", "congestion-victim"]}
    return san.truth("bottleneck", "fabric", port, **label), None


def damaged_frames(san: San) -> Label:
    """A cable damages frames, and their commands are repeated soon: the load reaches its requested rate."""
    san.rate, san.threads, san.outstanding = san.random.uniform(1500, 2500), (8, 16), 4
    san.timeout_seconds = 0.25
    san.damaged_frame_ratio["array" if san.direction == "read" else "host"] = san.random.uniform(2e-5, 8e-5)
    return san.truth("demand_limited", "fabric", also=["healthy"], findings=["link-errors"]), None


def busy_port_off_path(san: San) -> Label:
    """Another host fills its own slow link, which the test does not use. The test requests too little."""
    san.background(san.random.randint(0, 3))
    san.neighbour(1, block_bytes=128 * _KIB, outstanding=16, direction="write", gigabit=4, target=1)
    san.threads, san.outstanding, san.path_policy = (1, 2), 1, "most_recently_used"
    return san.truth("concurrency_limited", "load", forbidden=["link-full", "slow-drain-device"]), None

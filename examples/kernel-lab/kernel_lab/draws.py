"""Draws random cases: fault, its parameters and load, independently. A seed always gives the same case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from kernel_lab.cases import ARRAY, DEPTH, Case, Fabric, Load, Truth

_STEPS = ((2, 16, 64), (4, 32), (1, 8, 48), (32,))
_FEW = ((1, 2), (1, 2, 4), (2, 4))
_KIB = 1 << 10
_POLICIES = {"iscsi": ("round-robin 0", "service-time 0", "queue-length 0"), "nvme": ("round-robin", "numa")}


def draw(seed: int) -> Case:
    """Return the case of a seed, named draw-SEED."""
    random = Random(seed)  # noqa: S311 - a draw that can be repeated, no secret
    return random.choice(list(_FAULTS.values()))(f"draw-{seed}", random)


def _ports(name: str, random: Random) -> Case:
    """A slow port in one fabric or in both. Some I/Os may use the other direction."""
    rate, several, writes = random.randint(50, 120), random.random() < 0.5, random.random() < 0.3
    fabric = Fabric(target=rate) if writes else Fabric(host=rate)
    mix = 100 if writes else random.choice((0, 0, 20, 30))
    load = Load(random.choice(_STEPS), random.choice((32, 64, 128)) * _KIB, write_percent=mix)
    faster = Fabric(target=2 * rate) if writes else Fabric(host=2 * rate)
    drawn = _case(name, random, Truth(("bottleneck",), ("link:",)), load, (fabric,) * (1 + several))
    return replace(drawn, repair={"fabrics": (faster,) * (1 + several)})


def _media(name: str, random: Random) -> Case:
    """Media that serve few I/Os at a time, at a rate below what two emulated machines can reach."""
    at_a_time, service_ms = random.randint(1, 4), random.randint(6, 15)
    media = (f"completion_nsec={service_ms * 1_000_000}", f"hw_queue_depth={at_a_time}", "submit_queues=1")
    load = Load(random.choice(_STEPS), random.choice((4, 8, 16)) * _KIB, write_percent=random.choice((0, 0, 30, 50)))
    drawn = _case(name, random, Truth(("bottleneck",), ARRAY), load, media=media)
    return replace(drawn, repair={"media": (media[0], f"hw_queue_depth={2 * at_a_time}", media[2])})


def _cap(name: str, random: Random) -> Case:
    """A bandwidth limit of the media.

    null_blk shares it out every 50 ms: with less than some MB/s, large reads of udev take so long that paths fail.
    """
    load = Load(random.choice(_STEPS), 32 * _KIB, write_percent=random.choice((0, 0, 30)))
    megabytes = random.randint(8, 14)
    media = ("completion_nsec=300000", f"mbps={megabytes}")
    drawn = _case(name, random, Truth(("bottleneck", "configured_cap"), ARRAY), load, media=media)
    return replace(drawn, repair={"media": (media[0], f"mbps={2 * megabytes}")})


def _depth(name: str, random: Random) -> Case:
    """A shallow LUN queue in front of media without a limit of I/Os at a time."""
    depth, service_ms = random.randint(1, 3), random.randint(8, 15)
    load = Load(random.choice(_STEPS), 8 * _KIB)
    media = (f"completion_nsec={service_ms * 1_000_000}",)
    after = DEPTH.format(depth)
    drawn = _case(
        name, random, Truth(("bottleneck",), ("lun:",)), load, media=media, host_after=after, transport="iscsi"
    )
    return replace(drawn, repair={"host_after": DEPTH.format(2 * depth)})


def _little(name: str, random: Random) -> Case:
    """Too few I/Os in flight for slow media or a long distance."""
    load = Load(random.choice(_FEW), 8 * _KIB)
    given: dict[str, Any] = {"media": (f"completion_nsec={random.randint(5, 15) * 1_000_000}",)}
    if random.random() < 0.5:
        given = {"fabrics": (Fabric(emulation=f"delay {random.randint(5, 20)}ms"),) * 2}
    drawn = _case(name, random, Truth(("concurrency_limited",)), load, **given)
    return replace(drawn, repair={"load": replace(load, queue_depths=(4 * load.queue_depths[-1],))})


def _demand(name: str, random: Random) -> Case:
    """A requested rate that is reached."""
    load = Load((random.choice((8, 16)),), 8 * _KIB, rate_iops=random.randint(50, 150))
    return _case(name, random, Truth(("demand_limited", "healthy")), load)


_FAULTS: Mapping[str, Callable[[str, Random], Case]] = {
    "ports": _ports,
    "media": _media,
    "cap": _cap,
    "depth": _depth,
    "little": _little,
    "demand": _demand,
}


def _case(
    name: str,
    random: Random,
    truth: Truth,
    load: Load,
    fabrics: tuple[Fabric, ...] = (Fabric(), Fabric()),
    media: tuple[str, ...] = ("completion_nsec=300000",),
    host_after: str = "",
    transport: str | None = None,
) -> Case:
    carried = transport or random.choice(("iscsi", "nvme"))
    policy = random.choice(_POLICIES[carried])
    return Case(name, truth, carried, fabrics, media, policy, load=load, host_after=host_after)

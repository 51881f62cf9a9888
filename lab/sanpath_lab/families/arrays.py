"""Families of two arrays behind the same fabrics, which hosts have volumes on both of."""

from __future__ import annotations

from sanpath_lab.families.case import Label
from sanpath_lab.families.links import CAUSES_ELSEWHERE, fill
from sanpath_lab.families.san import San

_KIB = 1024
_SECOND_ARRAY = "array:fa2"


def two_arrays(san: San) -> Label:
    """One of two arrays, or its ports, are slow, and other hosts use it. If the test does not use that array, nothing
    limits the test."""
    array_is_slow, at_link = san.random.random() < 0.5, san.random.random() < 0.5
    speed = san.random.choice((4, 8))
    san.other_array = {}
    san.background(san.random.randint(0, 2))
    slow_media = {"parallel_media": san.random.choice((4, 8))}
    for fabric in range(2):
        san.neighbour(
            fabric,
            block_bytes=(64 if at_link else 16) * _KIB,
            outstanding=san.random.choice((8, 16)),
            direction=san.direction,
            array="fa2",
            target=0,
            think_seconds=0.01 if array_is_slow else 0.0,
        )
    if array_is_slow:
        return _slow_array_under_test(san, speed) if at_link else _behind(san, slow_media["parallel_media"])
    if at_link:
        san.other_gigabit = [speed, speed]
        # Writes that wait for such a port fill the links between switches, and would hold the test up as well.
        san.hops = 0 if san.direction == "write" else san.hops
    else:
        service = {"minimum_seconds": 4e-3, "tail_seconds": 1e-3}
        san.other_array = {**slow_media, "read": service, "write": service}
    san.threads, san.outstanding = san.random.choice(((1, 2), (1, 2, 4))), 1
    forbidden = ("link-full", "noisy-neighbour", *CAUSES_ELSEWHERE)
    cleared = {"cleared": [_SECOND_ARRAY, *_ports(san)], "forbidden": forbidden}
    return san.truth("concurrency_limited", "load", **cleared), None


def _slow_array_under_test(san: San, speed: int) -> Label:
    """The ports of the test's own array are slow."""
    san.array_gigabit = [speed, speed]
    fill(san, speed)
    ports = (san.array_port(0), san.array_port(1))
    label = {"findings": ["link-full"], "forbidden": CAUSES_ELSEWHERE, "cleared": [_SECOND_ARRAY, *_ports(san)]}
    return san.truth("bottleneck", "array_front", *ports, **label), {"array_gigabit": [2 * speed, 2 * speed]}


def _behind(san: San, media: int) -> Label:
    """The media of the test's own array are slow."""
    san.parallel_media = media
    san.service_seconds = media / san.random.uniform(1500, 4000)
    san.tail_seconds = san.service_seconds * 0.3
    fast = {"minimum_seconds": 5e-4, "tail_seconds": 1e-4}
    san.other_array = {"parallel_media": None, "read": fast, "write": fast}
    san.block_bytes = san.random.choice((8, 16, 32)) * _KIB
    san.threads, san.outstanding = (1, media, 4 * media), 2
    label = {
        "findings": ["array-service-grows"],
        "forbidden": ["link-full"],
        "cleared": [_SECOND_ARRAY, *_ports(san)],
    }
    return san.truth("bottleneck", "array_back", "array:fa1", **label), None


def _ports(san: San) -> list[str]:
    return [f"switch_port:{san.other_array_port(fabric, second)}" for fabric in range(2) for second in range(2)]

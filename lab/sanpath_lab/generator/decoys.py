"""Adds decoys to a drawn SAN: places that are busy, or look guilty, without limiting the test."""

from __future__ import annotations

from sanpath_lab.families.san import San
from sanpath_lab.generator.baseline import Baseline

_KIB = 1024


def add_decoys(san: San, baseline: Baseline, busy: bool) -> None:
    """Add other hosts with little or no I/O, and perhaps a place that looks guilty.

    `busy`: whether other hosts may saturate places that the test does not use.
    """
    random = san.random
    for _ in range(random.randint(0, 3)):
        _another_host(san)
    if random.random() < 0.25:
        _loose_cap(san, baseline)
    if busy and random.random() < 0.35:
        random.choice((_full_unrelated_link, _shared_port, _busy_second_array))(san)


def _another_host(san: San) -> None:
    """Add a host with little I/O or almost none."""
    random = san.random
    idle = random.random() < 0.3
    san.neighbour(
        random.randrange(san.fabrics),
        block_bytes=random.choice((8, 16, 64)) * _KIB,
        outstanding=1,
        think_seconds=5.0 if idle else random.uniform(0.02, 0.1),
        decoy=True,
    )


def _loose_cap(san: San, baseline: Baseline) -> None:
    """Set a QoS limit of the volumes that is far above the load."""
    if san.iops_limit is None and san.bandwidth_limit is None:
        san.iops_limit = round(san.random.uniform(3, 5) * baseline.max_ops)


def _full_unrelated_link(san: San) -> None:
    """Add a host that fills its own slow link, to an array port that the test does not use."""
    fabric, slow = san.random.randrange(san.fabrics), san.random.choice((1, 2))
    san.neighbour(fabric, block_bytes=256 * _KIB, outstanding=8, gigabit=slow, target=1, decoy=True)


def _shared_port(san: San) -> None:
    """Add a host with a little I/O on the array port of the test."""
    think = san.random.uniform(5e-3, 2e-2)
    san.neighbour(0, block_bytes=16 * _KIB, outstanding=2, think_seconds=think, target=0, decoy=True)


def _busy_second_array(san: San) -> None:
    """Add a saturated array behind the same switches. The test does not use it."""
    service = {"minimum_seconds": 8e-3, "tail_seconds": 2e-3}
    san.other_array = {"parallel_media": 4, "read": service, "write": service}
    fabric = san.random.randrange(san.fabrics)
    san.neighbour(
        fabric,
        block_bytes=16 * _KIB,
        outstanding=16,
        direction=san.direction,
        array="fa2",
        target=0,
        decoy=True,
    )

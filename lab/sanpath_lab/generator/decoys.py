"""Busy and innocent places of a drawn SAN: what a verdict must not be led astray by."""

from __future__ import annotations

from sanpath_lab.families.san import San
from sanpath_lab.generator.grounds import Ground

_KIB = 1024


def add_decoys(san: San, ground: Ground, busy: bool) -> None:
    """Other hosts with a little I/O each, or none, and perhaps something that looks guilty. `busy`: others may keep
    places of their own busy."""
    random = san.random
    for _ in range(random.randint(0, 3)):
        _another_host(san)
    if random.random() < 0.25:
        _loose_cap(san, ground)
    if busy and random.random() < 0.35:
        random.choice((_full_elsewhere, _shared_port, _slow_other_array))(san)


def _another_host(san: San) -> None:
    """A host that does little, or nothing to speak of."""
    random = san.random
    idle = random.random() < 0.3
    san.neighbour(
        random.randrange(san.fabrics),
        block_bytes=random.choice((8, 16, 64)) * _KIB,
        outstanding=1,
        think_seconds=5.0 if idle else random.uniform(0.02, 0.1),
    )


def _loose_cap(san: San, ground: Ground) -> None:
    """The volumes have a limit that is far from reached."""
    if san.iops_limit is None and san.bandwidth_limit is None:
        san.iops_limit = round(san.random.uniform(3, 5) * ground.most)


def _full_elsewhere(san: San) -> None:
    """A host fills its own slow link to an array port that the test does not use."""
    fabric, slow = san.random.randrange(san.fabrics), san.random.choice((1, 2))
    san.neighbour(fabric, block_bytes=256 * _KIB, outstanding=8, gigabit=slow, target=1)


def _shared_port(san: San) -> None:
    """A host uses the array port of the test as well, and little of it."""
    think = san.random.uniform(5e-3, 2e-2)
    san.neighbour(0, block_bytes=16 * _KIB, outstanding=2, think_seconds=think, target=0)


def _slow_other_array(san: San) -> None:
    """Another array behind the same switches is full; the test is not on it."""
    service = {"minimum_seconds": 8e-3, "tail_seconds": 2e-3}
    san.other_array = {"parallel_media": 4, "read": service, "write": service}
    fabric = san.random.randrange(san.fabrics)
    san.neighbour(fabric, block_bytes=16 * _KIB, outstanding=16, direction=san.direction, array="fa2", target=0)

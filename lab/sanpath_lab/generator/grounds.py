"""The ground of a draw: topology and load, with room everywhere for the throughput that its fault will allow."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from sanpath_lab.families.san import San
from sanpath_lab.generator.reading import Reading

_KIB = 1024
_IOS = 50_000
"""I/Os in a recording, about: what simulating them may cost."""
FC_BYTES = {1: 1.0e8, 2: 2.0e8, 4: 4.0e8, 8: 8.0e8, 16: 1.6e9}
"""What a link of so many gigabit moves of data a second, roughly: to draw sizes that fit, and for nothing else."""


@dataclass(slots=True)
class Ground:
    """What was drawn for the load. `ops`: the operations a second that the fault is to allow, about; `steps`: their
    number; `most`: most operations a second that are cheap enough to simulate."""

    steps: int
    ops: float
    most: float


def grounds(san: San, reading: Reading) -> Ground:
    """Draw topology and load into a SAN."""
    random = san.random
    san.fabrics = random.choice((1, 2, 2, 2))
    san.hops = random.choice((0, 0, 1, 2))
    san.neighbours = []
    if san.fabrics == 1 or random.random() < 0.25:
        san.path_policy = random.choice(("round_robin", "most_recently_used"))
    if random.random() < 0.35:
        san.write_ratio = random.choice((0.2, 0.3, 0.5, 0.7))
        san.direction = "write" if san.write_ratio > 0.5 else "read"
    san.jobs = random.choice((1, 1, 1, 2, 2, 3, 4))
    san.volumes = 2 if san.jobs % 2 == 0 and random.random() < 0.5 else 1
    san.block_bytes = random.choice((4, 8, 16, 32, 64)) * _KIB
    san.ramp_seconds, san.measured_seconds = 1.0, reading.measured_seconds
    steps = random.choice((1, 2, 3, 3, 4, 5))
    if reading.measured_seconds > 10:
        steps = min(steps, 2)
    most = min(2500.0, _IOS / (steps * (san.measured_seconds + 1)))
    return Ground(steps, random.uniform(0.35, 1.0) * most, most)


def serve(san: San, seconds: float) -> None:
    """The media take about so long for an I/O, on average."""
    tail = san.random.uniform(0.05, 0.3)
    san.service_seconds, san.tail_seconds = seconds * (1 - tail), seconds * tail


def grow(san: San, ground: Ground, in_flight: float) -> None:
    """Steps that grow to at least so many I/Os in flight, all jobs together."""
    random = san.random
    each = ceil(in_flight / san.jobs)
    san.outstanding = random.choice([n for n in (1, 2, 4, 8, 16) if n <= each])
    last = ceil(each / san.outstanding)
    if last == 1 and ground.steps > 1:
        san.outstanding, last = 1, each
    factor = random.choice((2, 2, 3, 4))
    threads = {max(1, round(last / factor**back)) for back in range(ground.steps)}
    san.threads = tuple(sorted(threads))


def paths(san: San) -> int:
    """Over how many fabrics the test's I/Os go."""
    return 1 if san.path_policy == "most_recently_used" else san.fabrics


def fabrics(san: San) -> range:
    """The fabrics that carry the test."""
    return range(paths(san))

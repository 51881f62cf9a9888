"""Draws topology and load of a case before its fault: nothing in them limits the throughput that the fault allows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from sanpath_lab.families.san import San
from sanpath_lab.generator.reading import Reading

_KIB = 1024
_MAX_IOS = 50_000
"""Approximate limit of I/Os in a recording, because each costs time to simulate."""
FC_BYTES = {1: 1.0e8, 2: 2.0e8, 4: 4.0e8, 8: 8.0e8, 16: 1.6e9}
"""Nominal speed in gigabit → approximate data bytes a second. Only used to draw block sizes that fit."""


@dataclass(slots=True)
class Baseline:
    """The drawn load.

    `steps`: number of steps. `target_ops`: operations a second that the fault should allow, approximately.
    `max_ops`: operations a second that are still cheap enough to simulate.
    """

    steps: int
    target_ops: float
    max_ops: float


def draw_baseline(san: San, reading: Reading) -> Baseline:
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
    max_ops = min(2500.0, _MAX_IOS / (steps * (san.measured_seconds + 1)))
    return Baseline(steps, random.uniform(0.35, 1.0) * max_ops, max_ops)


def set_service_time(san: San, seconds: float) -> None:
    """Set the mean service time of the media."""
    tail = san.random.uniform(0.05, 0.3)
    san.service_seconds, san.tail_seconds = seconds * (1 - tail), seconds * tail


def grow_in_flight(san: San, baseline: Baseline, in_flight: float) -> None:
    """Set steps that grow to at least `in_flight` I/Os, the sum over all jobs."""
    random = san.random
    ios_per_job = ceil(in_flight / san.jobs)
    san.outstanding = random.choice([n for n in (1, 2, 4, 8, 16) if n <= ios_per_job])
    last_threads = ceil(ios_per_job / san.outstanding)
    if last_threads == 1 and baseline.steps > 1:
        san.outstanding, last_threads = 1, ios_per_job
    factor = random.choice((2, 2, 3, 4))
    threads = {max(1, round(last_threads / factor**back)) for back in range(baseline.steps)}
    san.threads = tuple(sorted(threads))


def path_count(san: San) -> int:
    """Return the number of fabrics that carry the test's I/Os."""
    return 1 if san.path_policy == "most_recently_used" else san.fabrics


def used_fabrics(san: San) -> range:
    """Return the numbers of the fabrics that carry the test."""
    return range(path_count(san))

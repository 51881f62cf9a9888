"""The same bytes counted at two places: whether a host or a device moved the loads' bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts_of
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.model import DIRECTIONS, Direction, Step
from sanpath.topology.topology import Topology

_SMALL_RATIO = 0.1
"""A direction with a smaller share of the bytes need not be the same to within a ratio of its own."""

Traffic = Mapping[tuple[str, Direction], tuple[float, int]]
"""(step, direction) → bytes a second, and the windows that this is a mean over."""


def traffic_of(samples: Sequence[StepSamples]) -> Traffic:
    """Return the joint traffic of entities."""
    total: dict[tuple[str, Direction], tuple[float, int]] = {}
    for sample in samples:
        for direction in DIRECTIONS:
            moved = gauge_or_rates(sample, f"bytes_per_second_{direction}", f"bytes_{direction}_total")
            if moved is not None:
                others, windows = total.get((sample.step, direction), (0.0, sample.windows))
                total[sample.step, direction] = others + moved, min(windows, sample.windows)
    return total


def flows_of(
    topology: Topology, steps: Sequence[Step], load_samples: Sequence[StepSamples], loads: Sequence[str]
) -> Iterator[LoadFacts]:
    """Yield the facts of loads in each step and direction in which they did I/O."""
    by_step: dict[str, list[StepSamples]] = defaultdict(list)
    for sample in load_samples:
        by_step[sample.step].append(sample)
    for load in loads:
        for step in steps:
            for direction in DIRECTIONS:
                facts = load_facts_of(topology, step, direction, by_step.get(step.name, ()), load)
                if facts is not None:
                    yield facts


def moves_the_same(traffic: Traffic, flows: Sequence[LoadFacts]) -> bool:
    """Return whether the traffic equals the loads' in every step, within their sampling error."""
    by_step: dict[str, list[LoadFacts]] = defaultdict(list)
    for flow in flows:
        by_step[flow.step].append(flow)
    compared = False
    for step, of_step in by_step.items():
        total = sum(flow.bytes_per_second for flow in of_step)
        for direction in DIRECTIONS:
            if (step, direction) not in traffic or not total:
                continue
            moved, windows = traffic[step, direction]
            expected = sum(flow.bytes_per_second for flow in of_step if flow.direction == direction)
            tolerance = max(flow.same_traffic_tolerance(windows) for flow in of_step)
            if abs(moved - expected) > tolerance * max(expected, _SMALL_RATIO * total):
                return False
            compared = True
    return compared


def moves_less(traffic: Traffic, flows: Sequence[LoadFacts], ratio: float) -> bool:
    """Return whether the traffic is less than this ratio of the loads' in each step and direction. False: both were
    measured in no step."""
    done: dict[tuple[str, Direction], float] = defaultdict(float)
    for flow in flows:
        done[flow.step, flow.direction] += flow.bytes_per_second
    compared = [(traffic[key][0], byte_rate) for key, byte_rate in done.items() if key in traffic and byte_rate]
    return bool(compared) and all(moved < ratio * byte_rate for moved, byte_rate in compared)

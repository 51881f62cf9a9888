"""A load's activity at the beginning of a step, which is left out as an unmarked ramp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step
from sanpath.topology.topology import Topology


def beginnings(steps: Sequence[Step]) -> list[Step]:
    """Return the beginnings of the steps that have one, as steps of the same names."""
    return [replace(step, start=step.began, end=step.start) for step in steps if step.began is not None]


def with_beginnings(
    loads: Sequence[LoadFacts], topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]
) -> list[LoadFacts]:
    """Return the loads with their activity at the beginning of their steps. `samples`: those of `beginnings`."""
    before = {(each.step, each.direction): each for each in load_facts(topology, beginnings(steps), samples)}
    return [replace(load, beginning=before.get((load.step, load.direction))) for load in loads]

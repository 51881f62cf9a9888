"""Measurements of a recording's loads, for comparison with entered figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.facts.load.load_events import Histogram
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts_of
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import DIRECTIONS, Step
from sanpath.topology.paths import hosts_of_all, initiators_of, io_paths, targets_of
from sanpath.topology.topology import Topology

_LOAD_QUANTITIES = ("latency", "throughput", "io_size", "share_within")
_WITHIN = re.compile(r"ratio within ([0-9.e+-]+) ms")


@dataclass(frozen=True, slots=True)
class Measurements:
    """The loads of a recording. `samples`: those of the loads' jobs. `loads`: their totals by step and direction.
    `histograms`: (load, step, direction) → its latency distribution. `local_read_shares`:
    (step, node of a cluster) → the share of its reads that its local disks serve."""

    topology: Topology
    steps: Sequence[Step]
    samples: Sequence[StepSamples]
    loads: Sequence[LoadFacts]
    histograms: Mapping[tuple[str, str, str], Histogram]
    local_read_shares: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def of_load(
        self, entity: str, quantity: str, unit: str, step: str | None, direction: str | None
    ) -> tuple[float, float] | None:
        """Return the range, over the steps, of a quantity of a load or one of its jobs. None: it was not measured."""
        if quantity not in _LOAD_QUANTITIES or not entity.startswith("load:"):
            return None
        values: list[float] = []
        for measured_step in self.steps:
            if step not in (None, measured_step.name):
                continue
            if quantity == "share_within":
                histogram = self.histograms.get((entity.partition(":")[2], measured_step.name, direction or "read"))
                values += [share] if (share := _share_within(histogram, unit)) is not None else []
                continue
            directions = [each for each in DIRECTIONS if direction in (None, each)]
            every = (load_facts_of(self.topology, measured_step, each, self.samples, entity) for each in directions)
            if loads := [load for load in every if load is not None]:
                values.append(_value(quantity, unit, loads))
        return (min(values), max(values)) if values else None

    def of_node(self, entity: str, quantity: str, step: str | None) -> tuple[float, float] | None:
        """Return the range over the steps of a node's share of local reads. None: it was not measured, or is not the
        quantity."""
        if quantity != "local_read_share":
            return None
        values = [
            share for (name, node), share in self.local_read_shares.items() if node == entity and step in (None, name)
        ]
        return (min(values), max(values)) if values else None

    def achieved(self, entity: str) -> float | None:
        """Return the result that a load gives in its own report, in I/Os a second. None: it gives none."""
        load = self.topology.entities.get(entity)
        value = None if load is None else load.attributes.get("achieved_ops_per_second")
        return float(value) if isinstance(value, int | float) else None

    def highest_through(self, entity: str, unit: str, direction: str | None) -> float | None:
        """Return the highest throughput of a step at an entity that all I/Os of the load cross. None: it is not known
        whether they do."""
        return max((sum(rates) for rates in self._rates(entity, unit, direction)), default=None)

    def highest(self, direction: str | None) -> float | None:
        """Return the most bytes a second of one direction in any step. `direction` None: of the direction with the
        lower maximum."""
        directions = [each for each in DIRECTIONS if direction in (None, each)]
        highest = [
            max((load.bytes_per_second for load in self.loads if load.direction == each), default=None)
            for each in directions
        ]
        known = [value for value in highest if value]
        return min(known) if known else None

    def best_operations(self, latency_limit_seconds: float | None) -> float | None:
        """Return the most I/Os a second, both directions, of a step whose reads stay within a latency limit. A step
        without reads is judged by its writes. None: no step stays within it.
        """
        kept = []
        for step in self.steps:
            loads = [load for load in self.loads if load.step == step.name]
            judged = [load for load in loads if load.direction == "read"] or loads
            if loads and all(load.latency_seconds <= (latency_limit_seconds or float("inf")) for load in judged):
                kept.append(sum(load.ops_per_second for load in loads))
        return max(kept, default=None)

    def drive_operations(self, entity: str, miss_ratio: float, copies: float) -> float | None:
        """Return the most I/Os a second that reach the drives behind a cache: missed reads, and every copy of a
        write."""
        by_step = [
            sum(
                load.ops_per_second * (miss_ratio if load.direction == "read" else copies)
                for load in self.loads
                if load.step == step.name and entity in _crossed(self.topology, load)
            )
            for step in self.steps
        ]
        return max(by_step, default=None) or None

    def _rates(self, entity: str, unit: str, direction: str | None) -> Iterator[list[float]]:
        for step in self.steps:
            loads = [load for load in self.loads if load.step == step.name and direction in (None, load.direction)]
            crossing = [load for load in loads if entity in _crossed(self.topology, load)]
            if crossing:
                yield [float(getattr(load, unit)) for load in crossing]


def _value(quantity: str, unit: str, loads: Sequence[LoadFacts]) -> float:
    operations = sum(load.ops_per_second for load in loads)
    if quantity == "throughput":
        return sum(float(getattr(load, unit)) for load in loads)
    if quantity == "io_size":
        return sum(load.bytes_per_second for load in loads) / operations
    return sum(load.latency_seconds * load.ops_per_second for load in loads) / operations


def _share_within(histogram: Histogram | None, unit: str) -> float | None:
    """Return the share of I/Os within the time that a unit names, on a straight line between the bounds. None: it is
    not known."""
    match = _WITHIN.fullmatch(unit)
    if histogram is None or match is None:
        return None
    limit, lower, below = float(match[1]) / 1e3, 0.0, 0.0
    for upper, share in histogram:
        if upper is None or upper > limit:
            return below if upper is None else below + share * (limit - lower) / (upper - lower)
        lower, below = upper, below + share
    return below


def _crossed(topology: Topology, load: LoadFacts) -> set[str]:
    """Return the entities that all I/Os of a load cross: its volumes and arrays, its host, and a sole initiator."""
    ports, volumes = targets_of(topology, *load.roots)
    arrays = {array for end in (*ports, *volumes) for array in topology.related(end, "member_of", "array")}
    initiators = {path.hba for path in io_paths(topology, *load.roots)}
    initiators = initiators or {hba for root in load.roots for hba in initiators_of(topology, root)}
    hosts = set(hosts_of_all(topology, load.roots))
    return {
        *(volumes if len(volumes) == 1 else ()),
        *(arrays if len(arrays) == 1 else ()),
        *(initiators if len(initiators) == 1 else ()),
        *(hosts if len(hosts) == 1 else ()),
    }

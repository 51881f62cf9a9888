"""What would limit next, once a bottleneck is relieved, and the step that shows the latency without a queue."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.catalogue.capacity import Capacity, link_capacity
from sanpath.diagnosis.model import Next
from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts, flat_beyond
from sanpath.facts.table import FactRow, number
from sanpath.verdict.prediction.ceilings import Ceiling, ceilings, technology_of, unloaded_interval
from sanpath.verdict.prediction.change import Change
from sanpath.verdict.step_judgement import Judgement

_FREE = 0.5
"""Probability of a limit in a step from which that step does not show the latency without a queue."""


def next_limit(facts: Facts, load: LoadFacts, binding: Sequence[FactRow]) -> Next | None:
    """What limits once all links of `binding` are relieved together. None: their possible speed is unknown."""
    speeds = {str(row["entity"]): faster for row in binding if (faster := faster_link(row)) is not None}
    if load.operation_bytes is None or len(speeds) < len(binding):
        return None
    change = Change(speeds=speeds)
    first = min(ceilings(facts, load, change, unloaded_interval(facts, load, change, None)), key=order)
    # Clocks that overlap can make the segments longer than the total; the measured rate is still possible.
    high = max(first.ops_per_second[1], load.ops_per_second)
    return next_of(load, first.entity, first.change, high)


def next_of(load: LoadFacts, entity: str, change: str, high: float) -> Next:
    """The next limit, which lies between what the load reached and `high` operations a second."""
    low, in_flight = load.ops_per_second, load.in_flight_measured
    return Next(entity, change, (low, high), (in_flight / high, in_flight / low))


def faster_link(row: FactRow) -> Capacity | None:
    """The speed that both ends of the path support. None: unknown, or not faster than now."""
    capable = row["path_capable_bits_per_second"]
    current = number(row, "capacity_bytes_per_second")
    if not isinstance(capable, int | float) or not current:
        return None
    faster = link_capacity(technology_of(row), float(capable))
    return faster if faster is not None and faster.data_bytes_per_second > current else None


def calmest_judgement(facts: Facts, judgements: Sequence[Judgement], judged: Judgement) -> Judgement | None:
    """The step with the fewest of the same I/Os in flight. None: something was full in it already."""
    alike = [j for j in judgements if j.load.comparable(judged.load)]
    calm = min(alike, key=lambda j: j.load.in_flight_measured)
    if calm.limit_probability >= _FREE or flat_beyond(facts.loads, calm.load) is not None:
        return None
    return calm


def order(ceiling: Ceiling) -> tuple[float, str, str]:
    """Sorts ceilings, the lowest first."""
    return ceiling.ops_per_second[1], ceiling.entity, ceiling.change

"""Full queues above the storage: which one limits by itself, and which one only holds what something else makes wait.

A full queue limits when nothing below it has slowed down: throughput is then its slots over the latency without a
queue (R0). With the loaded latency the same division always gives the throughput, and every full queue would limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import device_of

_NEAR_R0 = 1.3
"""Latency below the queue up to this many times R0 has not begun to grow."""
_FILLED = 0.95
"""Share of its slots from which a queue is full."""


@dataclass(frozen=True, slots=True)
class FullQueue:
    """The queue of a block device. `slots`: the I/Os it lets through; `r0_seconds`: latency below it, from a step
    with `r0_in_flight` that did not fill it."""

    entity: str
    slots: float
    below_seconds: float
    r0_seconds: float
    r0_in_flight: float


def limiting_queue(facts: Facts, load: LoadFacts) -> FullQueue | None:
    """The queue that limits this load by itself. None: it is not full, what is below it has slowed down, or no step
    tells its size or the latency without a queue."""
    device = device_of(facts, load)
    if device is None:
        return None
    seen = [
        (other, row)
        for other in facts.loads
        if other.comparable(load)
        and (row := device_of(facts, other)) is not None
        and row["entity"] == device["entity"]
    ]
    if not any(other.in_flight_measured > 2 * _in_flight(row) for other, row in seen):
        return None
    slots = max(_in_flight(row) for _, row in seen)
    calm_load, calm = min(seen, key=lambda pair: pair[0].in_flight_measured)
    below, r0 = number(device, "latency_seconds"), number(calm, "latency_seconds")
    free_once = _in_flight(calm) <= slots / 2
    if not free_once or _in_flight(device) < _FILLED * slots or below > _NEAR_R0 * r0:
        return None
    return FullQueue(str(device["entity"]), slots, below, r0, calm_load.in_flight_measured)


def _in_flight(row: FactRow) -> float:
    return number(row, "in_flight_measured")

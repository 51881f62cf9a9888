"""The latency budget: the load's latency split over the planes that were observed, the rest explicit.

A part is measured by a clock of its own, or is the difference of two adjacent planes of the same I/O path. What lies
between two planes that no source observes is not given away: it is the unexplained rest, unless a saturated link lies
there. Transfer time that an array books as SAN time belongs to the fabric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sanpath.facts.compute import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time, response_time
from sanpath.facts.table import FactRow, number
from sanpath.verdict.model import BudgetPart, Interval, LatencyBudget
from sanpath.verdict.places.host_queues import HostQueue, below_queues, host_queues
from sanpath.verdict.places.segments import wire_seconds
from sanpath.verdict.step_judgement import Judgement

_HELD_UP = 2.0
"""A transfer that takes this many times what the wire needs waits for something."""


def latency_budget(facts: Facts, load: LoadFacts, judged: Judgement | None) -> LatencyBudget:
    """The budget of one step and direction. `judged`: what was found to limit it; waits are booked to that."""
    limiter = judged.limiter if judged is not None else None
    layer = judged.bottlenecks[0].layer if judged is not None and limiter is not None else None
    queues = host_queues(facts, load)
    row = array_side(facts.topology, load, facts.tables)
    array = array_time(load, row)
    parts: list[BudgetPart] = [_waited(queue, limiter) for queue in queues]
    below = below_queues(facts, load)
    if array is None and (response := response_time(load, row)) is not None:
        parts.append(_response_part(response, limiter, layer))
    inside = _array_parts(array, limiter, layer) if array is not None else []
    stalled = judged is not None and any(one.kind == "credit_stall" for one in judged.bottlenecks)
    parts += [*_fabric_parts(facts, load, array, below - _sum(inside), limiter, stalled), *inside]
    # What is left may be negative: planes that overlap, or clocks that differ. It is shown, not cut off.
    rest = load.latency_seconds - _sum(parts)
    lun = queues[0].entity if queues else str(array["entity"]) if array is not None else load.entity
    low, high = load.latency_interval or (load.latency_seconds, load.latency_seconds)
    off = max(load.latency_seconds - low, high - load.latency_seconds)
    off += queues[-1].resolution_seconds if queues else 0.0
    unexplained = rest - off, rest + off
    return LatencyBudget(load.step, load.direction, lun, load.latency_seconds, tuple(parts), unexplained)


def _array_parts(row: FactRow, limiter: str | None, layer: str | None) -> list[BudgetPart]:
    entity = str(row["entity"])
    waits_in = layer if layer is not None and limiter == entity else "array_back"
    what = "service and queue time, read by hand" if row["by_hand"] else "service time"
    part = _part("array", "array_back", entity, number(row, "service_seconds"), None, what, "measured")
    spread = number(row, "spread_seconds")
    parts = [replace(part, seconds=(part.seconds[0] - spread, part.seconds[1] + spread))]
    for fact, where, what in (
        ("queue_seconds", waits_in, "queue in the array"),
        ("qos_limit_seconds", "array_front", "QoS limit of the array"),
    ):
        if row[fact]:
            mine = limiter if limiter == entity else None
            parts.append(_part("array", where, entity, number(row, fact), mine, what, "measured"))
    return parts


def _response_part(row: FactRow, limiter: str | None, layer: str | None) -> BudgetPart:
    """What an array tells that does not tell transfer and its own time apart. The wait for a full link is in it."""
    entity, linked = str(row["entity"]), limiter is not None and limiter.startswith("link:")
    where = layer if layer is not None and (linked or limiter == entity) else "array_front"
    what = "from its arrival at the array to completion, transfer included; the array does not tell them apart"
    mine = limiter if linked or limiter == entity else None
    return _part("response", where, entity, number(row, "response_seconds"), mine, what, "measured")


def _fabric_parts(
    facts: Facts, load: LoadFacts, array: FactRow | None, left: float, limiter: str | None, stalled: bool
) -> list[BudgetPart]:
    """The transfer of a block, and what its frames wait for on the way: room on a full link, or transmit credit."""
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    busiest: Mapping[str, object] | None = max(rows, key=lambda row: number(row, "utilisation"), default=None)
    full = limiter if limiter is not None and limiter.startswith("link:") else None
    entity = full or (str(busiest["entity"]) if busiest else None)
    if entity is None or array is None:
        return []
    wire = wire_seconds(facts, load)
    if (san := array["san_seconds"]) is not None:
        spent, whose, how = float(san), "by the array's clock", "measured"
    elif full is not None:
        spent, whose, how = max(0.0, left), "between the load and the array's clock", "difference"
    elif wire is not None:
        spent, whose, how = min(wire, max(0.0, left)), "by its size and the speed of the link", "measured"
    else:
        return []
    # Without a full link a few microseconds more than the wire needs are the array's rounding.
    held_up = wire is not None and (full is not None or spent > _HELD_UP * wire)
    transfer = min(wire, spent) if wire is not None and held_up else spent
    parts = [_part("wire", "fabric", entity, transfer, None, f"transfer of a block, {whose}", how)]
    if spent > transfer:
        held = "waits for transmit credit" if stalled else "waits for the full link"
        what = f"{held}, {whose}" if full else f"transfer beyond what the wire needs, {whose}"
        parts.append(_part("wire", "fabric", entity, spent - transfer, full, what, how))
    return parts


def _waited(queue: HostQueue, limiter: str | None) -> BudgetPart:
    # Less than one I/O there is no queue: it is the way through system calls, file system and interrupts.
    waits = queue.offered - queue.admitted >= 1 and queue.wait_seconds > queue.error_seconds
    where = f"waits in the {queue.layer}'s queue above" if waits else f"passes in the {queue.layer} above"
    part = _part(
        queue.above, queue.layer, queue.entity, queue.wait_seconds, limiter, f"{where} {queue.entity}", "difference"
    )
    return replace(part, seconds=(queue.wait_seconds - queue.error_seconds, queue.wait_seconds + queue.error_seconds))


def _part(
    plane: str, layer: str, entity: str, seconds: float, limiter: str | None, what: str, how: str
) -> BudgetPart:
    interval: Interval = (seconds, seconds)
    return BudgetPart(
        plane, layer, entity, interval, limiter, what, "measured" if how == "measured" else "difference"
    )


def _sum(parts: Sequence[BudgetPart]) -> float:
    return sum((part.seconds[0] + part.seconds[1]) / 2 for part in parts)

"""The latency budget: the load's latency split over the planes that were observed, the rest explicit.

A part is measured by a clock of its own, or is the difference of two adjacent planes of the same I/O path. What lies
between two planes that no source observes is not given away: it is the unexplained rest, unless a saturated link lies
there. Transfer time that an array books as SAN time belongs to the fabric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import array_side, array_time
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import machine_of
from sanpath.verdict.model import BudgetPart, Interval, LatencyBudget

_SAME = 0.05
"""A block device carries the load's I/O when their rates agree within this."""


def latency_budget(facts: Facts, load: LoadFacts, limiter: str | None) -> LatencyBudget:
    """The budget of one step and direction. `limiter`: the saturated element, whose waits are booked to it."""
    device = device_of(facts, load)
    array = array_time(load, array_side(facts.topology, load, facts.tables))
    parts: list[BudgetPart] = []
    below = below_queue(load, device)
    if device is not None:
        waited = max(0.0, load.latency_seconds - below)
        layer = load_layer(facts, load)
        what = f"waits in the {layer}'s queue above {device['entity']}"
        parts.append(_part("load", layer, str(device["entity"]), waited, limiter, what, "difference"))
    inside = _array_parts(array, limiter) if array is not None else []
    fabric = _fabric_part(facts, load, array, below - _sum(inside), limiter)
    parts += [*([fabric] if fabric is not None else []), *inside]
    # What is left may be negative: planes that overlap, or clocks that differ. It is shown, not cut off.
    rest = load.latency_seconds - _sum(parts)
    lun = str(device["entity"]) if device is not None else str(array["entity"]) if array is not None else load.entity
    return LatencyBudget(load.step, load.direction, lun, load.latency_seconds, tuple(parts), (rest, rest))


def below_queue(load: LoadFacts, device: FactRow | None) -> float:
    """Latency below the queue of the operating system; that of the load where no block device is observed."""
    return number(device, "latency_seconds") if device is not None else load.latency_seconds


def device_of(facts: Facts, load: LoadFacts) -> FactRow | None:
    """The block device that carries the load's I/O. None: no source observes it, or several share the I/O."""
    targets = set(facts.topology.related(load.entity, "targets", "lun"))
    for row in facts.tables["lun"].select(step=load.step, direction=load.direction):
        if row["entity"] in targets and abs(number(row, "ops_per_second") / load.ops_per_second - 1) <= _SAME:
            return row
    return None


def wire_seconds(facts: Facts, load: LoadFacts) -> float | None:
    """Time of one block on the slowest link of the loaded path, by its size and data rate; None: unknown."""
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    rates = [number(row, "capacity_bytes_per_second") for row in rows if row["capacity_bytes_per_second"]]
    if not rates or not load.ops_per_second:
        return None
    return load.bytes_per_second / load.ops_per_second / min(rates)


def _array_parts(row: FactRow, limiter: str | None) -> list[BudgetPart]:
    entity = str(row["entity"])
    parts = [_part("array", "array_back", entity, number(row, "service_seconds"), None, "service time", "measured")]
    for fact, what in (("queue_seconds", "queue in the array"), ("qos_limit_seconds", "QoS limit of the array")):
        if row[fact]:
            mine = limiter if limiter == entity else None
            parts.append(_part("array", "array_front", entity, number(row, fact), mine, what, "measured"))
    return parts


def _fabric_part(
    facts: Facts, load: LoadFacts, array: FactRow | None, left: float, limiter: str | None
) -> BudgetPart | None:
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    busiest: Mapping[str, object] | None = max(rows, key=lambda row: number(row, "utilisation"), default=None)
    full = limiter if limiter is not None and limiter.startswith("link:") else None
    entity = full or (str(busiest["entity"]) if busiest else None)
    if entity is None or array is None:
        return None
    if (san := array["san_seconds"]) is not None:
        what = "transfer over the fabric, by the array's clock"
        return _part("wire", "fabric", entity, float(san), full, what, "measured")
    if full is not None:
        what = "between the load and the array's clock: waits for the full link"
        return _part("wire", "fabric", entity, max(0.0, left), full, what, "difference")
    wire = wire_seconds(facts, load)
    if wire is None:
        return None
    return _part("wire", "fabric", entity, min(wire, max(0.0, left)), None, "transfer time of a block", "measured")


def load_layer(facts: Facts, load: LoadFacts) -> str:
    """The layer that a load's own block device belongs to."""
    machine = machine_of(facts.topology, load.entity)
    return "guest" if machine is not None and facts.topology.entities[machine].kind == "vm" else "host"


def _part(
    plane: str, layer: str, entity: str, seconds: float, limiter: str | None, what: str, how: str
) -> BudgetPart:
    interval: Interval = (seconds, seconds)
    return BudgetPart(
        plane, layer, entity, interval, limiter, what, "measured" if how == "measured" else "difference"
    )


def _sum(parts: Sequence[BudgetPart]) -> float:
    return sum((part.seconds[0] + part.seconds[1]) / 2 for part in parts)

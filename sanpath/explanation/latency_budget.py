"""The latency budget: the load's latency split over the observed planes, with an explicit remainder.

A part is measured by its own clock, or is the difference between two adjacent planes of the same I/O path. If no
source observes the time between two planes, the verdict estimates the wait at the limit in it. The rest is the
unexplained remainder. Transfer time that an array reports as SAN time belongs to the fabric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.diagnosis.model import LIMIT_WAIT, Bottleneck, BudgetPart, LatencyBudget, Method
from sanpath.facts.fabric.link_measures import SLOW_TRANSFER_RATIO, wire_seconds
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import array_side, array_time, response_time
from sanpath.facts.table import FactRow, number
from sanpath.units import counted
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.host_queues import HostQueue, below_queues, host_queues

_BELOW_HOST = ("link:", "array:", "array_port:", "volume:")
"""Prefixes of elements in which I/Os wait below all clocks of the host."""
_ESTIMATED_WAIT = "waits there, as the verdict estimates"
"""Description of a wait that no clock separates from the time around it."""
_ABOVE_DEVICE = ("cgroup", "vdisk")
"""Kinds of entities that enforce their limits above a block device."""
_FULL_LINK_WAIT = "waits for the saturated link"
_LINK_WAITS = {
    "credit_stall": "waits until the next port accepts frames",
    "retries": "waits until what was lost is sent again",
}
"""Kind of a bottleneck → what frames wait for at the named link, if that link is not full."""


def latency_budget(facts: Facts, load: LoadFacts, judged: Judgement | None) -> LatencyBudget:
    """The budget of one step and direction. `judged`: its judgement, whose limiter the waits are attributed to."""
    limiter = judged.limiter if judged is not None else None
    layer = judged.bottlenecks[0].layer if judged is not None and limiter is not None else None
    queues = host_queues(facts, load)
    row = array_side(facts.topology, load, facts.tables)
    array = array_time(load, row)
    cap = judged.bottlenecks[0] if judged is not None and judged.kind == "configured_cap" else None
    parts: list[BudgetPart] = [_queue_part(queue, limiter, cap) for queue in queues]
    below_seconds = below_queues(facts, load)
    if array is None and (response := response_time(load, row)) is not None:
        parts.append(_response_part(response, limiter, layer, cap))
    inside_parts = _array_parts(facts, array, limiter, layer, cap) if array is not None else []
    kinds = [bottleneck.kind for bottleneck in judged.bottlenecks] if judged is not None else []
    wait_words = next((_LINK_WAITS[kind] for kind in kinds if kind in _LINK_WAITS), _FULL_LINK_WAIT)
    parts += [
        *_fabric_parts(facts, load, array, below_seconds - _sum(inside_parts), limiter, wait_words),
        *inside_parts,
    ]
    if judged is not None and limiter is not None:
        parts += _estimated_parts(judged, limiter, parts[len(queues) :], load.latency_seconds - _sum(parts))
    # The remainder may be negative if planes overlap or clocks differ. It is shown as it is.
    remainder = load.latency_seconds - _sum(parts)
    lun = queues[0].entity if queues else str(array["entity"]) if array is not None else load.entity
    low, high = load.latency_bounds
    error = max(load.latency_seconds - low, high - load.latency_seconds)
    error += queues[-1].below.whole_error_seconds if queues else 0.0
    unexplained = remainder - error, remainder + error
    return LatencyBudget(load.step, load.direction, lun, load.latency_seconds, tuple(parts), unexplained)


def _estimated_parts(
    judged: Judgement, limiter: str, below: Sequence[BudgetPart], remainder: float
) -> Iterator[BudgetPart]:
    """The estimated wait at the limiter below the host, if no clock separates this wait. A limiter found only by
    exclusion has no such estimate. `below`: the parts below the host; `remainder`: seconds that no part contains."""
    first = judged.bottlenecks[0]
    waits = (judged.wait_seconds or 0.0) - _sum([part for part in below if part.limited_by == limiter])
    if first.by_exclusion or not limiter.startswith(_BELOW_HOST) or min(waits, remainder) <= 0:
        return
    layer = "fabric" if limiter.startswith("link:") else first.layer
    plane = "wire" if layer == "fabric" else "array"
    yield _part(plane, layer, limiter, min(waits, remainder), limiter, _ESTIMATED_WAIT, "estimate")


def _array_parts(
    facts: Facts, row: FactRow, limiter: str | None, layer: str | None, cap: Bottleneck | None
) -> list[BudgetPart]:
    """The parts inside an array. If the array limits, I/Os to its volumes wait for it."""
    entity = str(row["entity"])
    is_limit = limiter in (entity, *facts.topology.related(entity, "member_of", "array"))
    waits_in = layer if layer is not None and is_limit else "array_back"
    description = "service and queue time, read by hand" if row["by_hand"] else "service time"
    part = _part("array", "array_back", entity, number(row, "service_seconds"), None, description, "measured")
    spread = number(row, "spread_seconds")
    parts = [replace(part, seconds=(part.seconds[0] - spread, part.seconds[1] + spread))]
    # An array that does not report the wait for its limits includes it in its queue time.
    is_cap = cap is not None and cap.entity == entity and not row["qos_limit_seconds"]
    for fact, part_layer, limited_by, description in (
        ("queue_seconds", waits_in, limiter if is_limit else None, LIMIT_WAIT if is_cap else "queue in the array"),
        ("qos_limit_seconds", "array_front", limiter if limiter == entity else None, LIMIT_WAIT),
    ):
        if row[fact]:
            parts.append(_part("array", part_layer, entity, number(row, fact), limited_by, description, "measured"))
    return parts


def _response_part(row: FactRow, limiter: str | None, layer: str | None, cap: Bottleneck | None) -> BudgetPart:
    """The part of an array that reports its own time and the transfer as one time. It includes the wait for a full
    link."""
    entity, is_link = str(row["entity"]), limiter is not None and limiter.startswith("link:")
    part_layer = layer if layer is not None and (is_link or limiter == entity) else "array_front"
    description = "from its arrival at the array to completion, transfer included; the array does not separate them"
    if cap is not None and cap.entity == entity:
        description = f"{LIMIT_WAIT}, service and transfer included; the array does not separate them"
    limited_by = limiter if is_link or limiter == entity else None
    return _part("response", part_layer, entity, number(row, "response_seconds"), limited_by, description, "measured")


def _fabric_parts(
    facts: Facts, load: LoadFacts, array: FactRow | None, remaining: float, limiter: str | None, wait_words: str
) -> list[BudgetPart]:
    """The transfer of a block, and the wait of its frames. `wait_words`: what frames wait for if a link limits."""
    rows = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    busiest: Mapping[str, object] | None = max(rows, key=lambda row: number(row, "utilisation"), default=None)
    full = limiter if limiter is not None and limiter.startswith("link:") else None
    entity = full or (str(busiest["entity"]) if busiest else None)
    if entity is None or array is None:
        return []
    wire = wire_seconds(facts.tables["link"], load)
    method: Method
    if (san := array["san_seconds"]) is not None:
        spent, clock_words, method = float(san), "by the array's clock", "measured"
    elif full is not None:
        spent, clock_words, method = max(0.0, remaining), "between the load and the array", "difference"
    elif wire is not None:
        spent, method = min(wire, max(0.0, remaining)), "measured"
        clock_words = "computed from its size and the link's speed"
    else:
        return []
    # Without a full link, a few microseconds more than the wire needs are the array's rounding.
    is_delayed = wire is not None and (full is not None or spent > SLOW_TRANSFER_RATIO * wire)
    transfer = min(wire, spent) if wire is not None and is_delayed else spent
    parts = [_part("wire", "fabric", entity, transfer, None, f"transfer of a block, {clock_words}", method)]
    if spent > transfer:
        description = (
            f"{wait_words}, {clock_words}" if full else f"transfer beyond what the wire needs, {clock_words}"
        )
        parts.append(_part("wire", "fabric", entity, spent - transfer, full, description, method))
    return parts


def _queue_part(queue: HostQueue, limiter: str | None, cap: Bottleneck | None) -> BudgetPart:
    # Less than one waiting I/O is not a queue: it is the time of system calls, file system and interrupts.
    is_waiting = queue.waiting >= 1 and queue.wait_seconds > queue.error_seconds
    description = f"waits in the {queue.layer}'s queue above" if is_waiting else f"passes in the {queue.layer} above"
    if cap is not None and is_waiting and cap.layer == queue.layer and cap.kind in _ABOVE_DEVICE:
        description = f"{LIMIT_WAIT}, above"
    error = min(queue.error_seconds, queue.wait_seconds)
    seconds = queue.wait_seconds - error, queue.wait_seconds + error
    if queue.above_parts:
        description = f"{'waits' if is_waiting else 'passes'} in the {queue.layer} above the devices below"
    words = f"{description} {queue.entity}" + (
        f" and {counted(queue.devices - 1, 'other device')}" if queue.devices > 1 else ""
    )
    return BudgetPart(
        plane=queue.above.plane,
        layer=queue.layer,
        entity=queue.entity,
        seconds=seconds,
        limited_by=limiter,
        what=words,
        how="difference",
    )


def _part(
    plane: str, layer: str, entity: str, seconds: float, limiter: str | None, description: str, method: Method
) -> BudgetPart:
    return BudgetPart(
        plane=plane,
        layer=layer,
        entity=entity,
        seconds=(seconds, seconds),
        limited_by=limiter,
        what=description,
        how=method,
    )


def _sum(parts: Sequence[BudgetPart]) -> float:
    return sum((part.seconds[0] + part.seconds[1]) / 2 for part in parts)

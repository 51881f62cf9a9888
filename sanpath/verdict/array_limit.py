"""The array as what limits: saturated, or holding back for a QoS limit."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import below_queue, device_of
from sanpath.verdict.evidence import flat_throughput, not_seen, queues_inside
from sanpath.verdict.judged import Judgement, graded, wait_at
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.units import duration


def configured_cap(facts: Facts, load: LoadFacts, array: FactRow, windows: int) -> Judgement:
    """A QoS limit of the array is reached."""
    entity = str(array["entity"])
    waited = f"{duration(number(array, 'qos_limit_seconds'))} of {duration(load.latency_seconds)}"
    because = (f"an I/O waits {waited} in {entity} because a QoS limit is reached there",)
    bottleneck = Bottleneck(
        entity=entity,
        kind=entity.partition(":")[0],
        layer="array_front",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        wait_at=wait_at(facts, load, entity),
        because=because,
        overturn_if=("no time waited for a QoS limit at the same IOPS",),
    )
    return Judgement(load, "configured_cap", graded("B", windows), (bottleneck,), because, None, windows)


def array_bottleneck(
    facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow, windows: int
) -> Judgement:
    """The array is saturated: no link is near its limit, and most of the time passes in it, waiting."""
    entity = str(array["entity"])
    inside, below = number(array, "array_seconds"), below_queue(load, device_of(facts, load))
    unseen = not_seen(facts, load, links, array)
    flat = flat_throughput(facts, load)
    because = (
        *_grown(array),
        *(("throughput does not grow with the load",) if flat else ()),
        f"its own time is {duration(inside)} of the {duration(below)} below the queue of the operating system",
        *(f"{what} could not be seen" for what in unseen),
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind=entity.partition(":")[0],
        layer="array_back",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        wait_at=wait_at(facts, load, entity),
        explains=_explains(array),
        because=because,
        overturn_if=(
            "throughput that grows by more than 5 % with more I/Os in flight",
            "a job of the array or another host's load that ends while the test runs",
        ),
    )
    grade = graded("B", windows) if flat and not unseen else "C"
    return Judgement(load, "bottleneck", grade, (bottleneck,), because, None, windows)


def _grown(array: FactRow) -> tuple[str, ...]:
    said = []
    if queues_inside(array):
        queue, service = number(array, "queue_seconds"), number(array, "service_seconds")
        said.append(f"I/Os wait {duration(queue)} in the array to be served for {duration(service)}")
    if number(array, "growth") > 1:
        grown = number(array, "growth")
        said.append(f"service and queue time of the array is {grown:.1f} times that of the lowest load")
    return tuple(said)


def _explains(array: FactRow) -> float | None:
    """(R - R without the limit) / R: an I/O would take as long as at the lowest load, or as its service alone. The
    wait above the array goes with it: it is there because of it.
    """
    inside, growth = number(array, "array_seconds"), number(array, "growth")
    calm = inside / growth if growth > 1 else number(array, "service_seconds")
    return min(1.0, max(0.0, 1 - calm / inside)) if inside and calm else None

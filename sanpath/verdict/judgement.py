"""The judgement of one step and direction: what is saturated, what only throttles, or what else holds the test.

The law: where I/O waits is not what limits it. A full queue above a saturated element is a throttle; its wait is
booked to that element. Without a saturated element and with all I/Os in flight, more I/Os are what is missing; with
fewer in flight than the load was told to keep, the load itself asks for no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import SHARED, array_side, array_time
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import device_of, load_layer, wire_seconds
from sanpath.verdict.evidence import (
    BUSY,
    array_calm,
    array_growth,
    array_saturated,
    capped,
    flat_beyond,
    flat_over_load,
    is_full,
    not_seen,
)
from sanpath.verdict.model import Bottleneck, Grade, Kind
from sanpath.verdict.queues import FullQueue, limiting_queue
from sanpath.verdict.units import bandwidth, count, duration, iops, percent

COINCIDENT = 0.03
"""Ceilings that differ by less are one bottleneck: relieving one alone moves nothing."""
FILLED = 0.95
"""Share of the configured I/Os that must be in flight for the load to be a closed loop."""
WINDOWS = 4
"""Whole windows that a grade better than C needs."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What limits one direction of one step. `limiter`: the saturated element, None when there is none."""

    load: LoadFacts
    kind: Kind
    grade: Grade
    bottlenecks: tuple[Bottleneck, ...] = ()
    because: tuple[str, ...] = ()
    decide_with: str | None = None
    windows: int = 0

    @property
    def limiter(self) -> str | None:
        """The saturated element."""
        return self.bottlenecks[0].entity if self.kind == "bottleneck" and self.bottlenecks else None


def judge(facts: Facts, load: LoadFacts) -> Judgement:
    """Judge one step and direction."""
    links = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    array = array_side(facts.topology, load, facts.tables)
    windows = min([load.windows, *(int(number(row, "windows")) for row in [*links, *([array] if array else [])])])
    if array is not None and capped(facts, load, array):
        return _configured_cap(load, array, windows)
    full = [row for row in links if is_full(row)]
    if full:
        return _link_bottleneck(facts, load, full, array, windows)
    if array is not None and array_saturated(facts, load, links, array):
        return _array_bottleneck(facts, load, links, array, windows)
    queue = limiting_queue(facts, load)
    if (
        queue is not None
        and not not_seen(facts, load, links, array)
        and all(number(row, "utilisation") < BUSY for row in links)
    ):
        return _queue_bottleneck(facts, load, queue, windows)
    return _without_bottleneck(facts, load, links, array, windows)


def _configured_cap(load: LoadFacts, array: FactRow, windows: int) -> Judgement:
    waited = f"{duration(number(array, 'qos_limit_seconds'))} of {duration(load.latency_seconds)}"
    because = (f"an I/O waits {waited} in {array['entity']} because a QoS limit is reached there",)
    return Judgement(load, "configured_cap", "B" if windows >= WINDOWS else "C", (), because, None, windows)


def _link_bottleneck(
    facts: Facts, load: LoadFacts, full: Sequence[FactRow], array: FactRow | None, windows: int
) -> Judgement:
    # A ceiling that binds is met by the throughput: of the full links, the lowest ceiling comes first, and where they
    # are coincident the link nearest to the host, as the first that a person can look at.
    lowest = min(map(_ceiling, full))
    binding = [row for row in full if _ceiling(row) <= lowest * (1 + COINCIDENT)]
    binding.sort(key=lambda row: (row["side"] != "host", -round(number(row, "utilisation"), 3), str(row["entity"])))
    first = binding[0]
    calm = flat_over_load(facts, load)
    foreign = number(first, "foreign_bytes_per_second")
    because = [
        _utilisation(first),
        f"full in {percent(number(first, 'full_windows_ratio'))} of {count(number(first, 'windows'))} windows",
    ]
    if foreign > SHARED * number(first, "bytes_per_second"):
        because.append(f"{bandwidth(foreign)} of it is not the test's: others use this link as well")
    if calm is not None:
        ratio = load.in_flight_measured / calm.in_flight_measured
        because.append(
            f"{count(calm.in_flight_measured)} I/Os in flight gave {iops(calm.ops_per_second)}, "
            f"{ratio:.1f} times as many gave {iops(load.ops_per_second)}: more load buys only latency"
        )
    known = lowest < float("inf")
    bottleneck = Bottleneck(
        entity=str(first["entity"]),
        kind="link",
        layer=_layer(facts, binding),
        direction=load.direction,
        utilisation=number(first, "utilisation"),
        ceiling_bytes_per_second=lowest if known else None,
        ceiling_ops_per_second=lowest / load.operation_bytes if known and load.operation_bytes else None,
        coincident=tuple(str(row["entity"]) for row in binding[1:]),
        wait_at=_wait_at(facts, load, str(first["entity"])),
        explains=_explains(facts, load, array),
        because=tuple(because),
        overturn_if=(
            f"a window with this link below 90 % at the same IOPS in the {load.direction} direction",
            "twice as many I/Os in flight raising throughput by more than 3 %",
        ),
    )
    grade: Grade = "C" if windows < WINDOWS else "A" if calm is not None or array_calm(load, array) else "B"
    return Judgement(load, "bottleneck", grade, (bottleneck,), tuple(because), None, windows)


def _ceiling(row: FactRow) -> float:
    """Not known where the load counts no bytes: then it ranks last."""
    return number(row, "ceiling_bytes_per_second") or float("inf")


def _utilisation(row: FactRow) -> str:
    counted, capacity = number(row, "bytes_per_second"), number(row, "capacity_bytes_per_second")
    return (
        f"{bandwidth(counted)} counted of {bandwidth(capacity)} = {percent(number(row, 'utilisation'))}; "
        f"a full {row['speed']} link reads {percent(number(row, 'full_ratio'))}"
    )


def _array_bottleneck(
    facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow, windows: int
) -> Judgement:
    inside = number(array, "array_seconds")
    grown = f"service and queue time of the array grew {number(array, 'growth'):.1f} times over the lowest load"
    unseen = not_seen(facts, load, links, array)
    because = (
        f"{grown} while throughput stayed flat",
        f"it accounts for {percent(min(1.0, inside / load.latency_seconds))} of the latency at the load",
        *(f"{what} could not be seen" for what in unseen),
    )
    bottleneck = Bottleneck(
        entity=str(array["entity"]),
        kind=str(array["entity"]).partition(":")[0],
        layer="array_back",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        wait_at=_wait_at(facts, load, str(array["entity"])),
        explains=_explains_array(load, array),
        because=because,
        overturn_if=("throughput that grows by more than 5 % with more I/Os in flight",),
    )
    grade: Grade = "B" if windows >= WINDOWS and not unseen else "C"
    return Judgement(load, "bottleneck", grade, (bottleneck,), because, None, windows)


def _queue_bottleneck(facts: Facts, load: LoadFacts, queue: FullQueue, windows: int) -> Judgement:
    alone = f"{duration(queue.r0_seconds)} with {count(queue.r0_in_flight)} in flight"
    because = (
        f"the queue lets {count(queue.slots)} I/Os through, {count(load.in_flight_measured)} are offered",
        f"below it an I/O takes {duration(queue.below_seconds)}, and {alone}: nothing there is near its limit",
    )
    ceiling = queue.slots / queue.r0_seconds
    bottleneck = Bottleneck(
        entity=queue.entity,
        kind="lun",
        layer=load_layer(facts, load),
        direction=load.direction,
        ceiling_bytes_per_second=ceiling * load.operation_bytes if load.operation_bytes else None,
        ceiling_ops_per_second=ceiling,
        wait_at=queue.entity,
        explains=min(1.0, max(0.0, 1 - queue.below_seconds / load.latency_seconds)),
        because=because,
        overturn_if=("a deeper queue that does not raise throughput",),
    )
    return Judgement(load, "bottleneck", "A" if windows >= WINDOWS else "C", (bottleneck,), because, None, windows)


def _without_bottleneck(
    facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow | None, windows: int
) -> Judgement:
    grade: Grade = "C" if windows < WINDOWS else "B"
    step = next(s for s in facts.steps if s.name == load.step)
    total = sum(f.in_flight_measured for f in facts.loads if f.step == load.step)
    told = load.in_flight_configured
    unseen = not_seen(facts, load, links, array)
    if load.cpu_ratio is not None and load.cpu_ratio >= FILLED:
        below = "nothing that was observed below it is full" if unseen else "nothing below it is full"
        because = (f"a process of the load used {percent(load.cpu_ratio)} of a core; {below}",)
        return Judgement(load, "generator_limited", grade, (), because, None, windows)
    # A rate that was asked for limits only while I/Os are left that could be in flight.
    if total < FILLED * told if told else step.rate_limited:
        of = (
            f"{count(total)} of {count(told)} I/Os were"
            if told
            else f"it has a rate limit, and {count(total)} I/Os were"
        )
        return Judgement(
            load, "demand_limited", grade, (), (f"{of} in flight: the load wants no more",), None, windows
        )
    if unseen:
        why = f"nothing that was observed is full, and {' and '.join(unseen)} could not be seen"
        return Judgement(load, "cannot_tell", "C", (), (why,), f"read {unseen[0]}", windows)
    if not told:
        why = "nothing is full, and how many I/Os the load was told to keep in flight is not known"
        return Judgement(load, "cannot_tell", "C", (), (why,), "repeat it with twice the I/Os in flight", windows)
    busiest = max(links, key=lambda row: number(row, "utilisation"))
    busy = f"the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}"
    if flat_over_load(facts, load) is not None or flat_beyond(facts, load) is not None:
        why = f"throughput does not follow the load, {busy}, and {array_growth(array)}"
        fewest = min(f.in_flight_measured for f in facts.loads if f.comparable(load))
        decide = (
            f"a step with fewer than {count(fewest / 2)} I/Os in flight: below the knee it shows which part grows"
        )
        return Judgement(load, "cannot_tell", "C", (), (why,), decide, windows)
    if number(busiest, "utilisation") >= BUSY:
        why = f"{busy}: near its limit but not full"
        decide = "repeat the step with twice the I/Os in flight"
        return Judgement(load, "cannot_tell", "C", (), (why,), decide, windows)
    because = (f"every I/O that was configured is in flight ({count(total)}) and nothing is full: {busy}",)
    return Judgement(load, "concurrency_limited", grade, (), because, None, windows)


def _layer(facts: Facts, binding: Sequence[FactRow]) -> str:
    """The layer of a full link is that of its end with the lower capability; if both are equal, the array's front end
    when every array port in use is full, else the fabric."""
    if any(row["switch_is_slower"] is not False for row in binding):
        return "fabric"
    first = binding[0]
    if number(first, "capable_high_bits_per_second") > number(first, "negotiated_bits_per_second") * 1.01:
        return "host" if first["side"] == "host" else "array_front"
    in_use = facts.tables["link"].select(
        step=binding[0]["step"], direction=binding[0]["direction"], on_loaded_path=True
    )
    array_side_links = [row for row in in_use if row["side"] == "array"]
    if array_side_links and all(is_full(row) for row in array_side_links):
        return "array_front"
    return "fabric"


def _wait_at(facts: Facts, load: LoadFacts, limiter: str) -> str:
    """Where most of the wait is held: above the block device when the load keeps more in flight than it admits."""
    device = device_of(facts, load)
    if device is not None and number(device, "in_flight_measured") < load.in_flight_measured / 2:
        return str(device["entity"])
    return limiter


def _explains(facts: Facts, load: LoadFacts, array: FactRow | None) -> float | None:
    """(R - R without the limit) / R, with the array's own time and one transfer a link as what would remain."""
    wire, inside = wire_seconds(facts, load), array_time(load, array)
    if inside is None or wire is None:
        return None
    floor = number(inside, "array_seconds") + wire
    return min(1.0, max(0.0, 1 - floor / load.latency_seconds))


def _explains_array(load: LoadFacts, array: FactRow) -> float:
    grown = number(array, "array_seconds")
    return min(1.0, max(0.0, (grown - grown / number(array, "growth")) / load.latency_seconds))

"""The judgement of one step and direction: what is saturated, what only throttles, or what else holds the test.

The law: where I/O waits is not what limits it. A full queue above a saturated element is a throttle; its wait is
booked to that element. Without a saturated element and with all I/Os in flight, more I/Os are what is missing; with
fewer in flight than the load was told to keep, the load itself asks for no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanpath.facts.compute import Facts
from sanpath.facts.links import FULL
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import array_side
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import device_of, wire_seconds
from sanpath.verdict.model import Bottleneck, Grade, Kind
from sanpath.verdict.units import bandwidth, count, iops, percent

FULL_WINDOWS = 0.9
"""Share of the windows in which a saturated link is full."""
COINCIDENT = 0.03
"""Ceilings that differ by less are one bottleneck: relieving one alone moves nothing."""
BUSY = 0.8
"""Below it an element is not near its limit (queueing delay grows as 1 / (1 - utilisation))."""
GROWTH = 3.0
"""Service and queue time that has grown by this over the lowest load, at flat throughput, is saturation: arrays
publish no ceiling (reference: operational analysis, Denning and Buzen 1978)."""
FLAT = 0.05
"""Throughput that changes less between two loads is flat."""
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
    full = [row for row in links if is_full(row)]
    if full:
        return _link_bottleneck(facts, load, full, array, windows)
    if array is not None and _array_saturated(facts, load, links, array):
        return _array_bottleneck(facts, load, array, windows)
    return _without_bottleneck(facts, load, links, array, windows)


def is_full(row: FactRow) -> bool:
    """Whether a link row shows a saturated link: in the mean and in nearly every window."""
    if row["utilisation"] is None or row["full_windows_ratio"] is None:
        return False
    limit = FULL * number(row, "full_ratio")
    return number(row, "utilisation") >= limit and number(row, "full_windows_ratio") >= FULL_WINDOWS


def flat_over_load(facts: Facts, load: LoadFacts) -> LoadFacts | None:
    """A step with at most half the I/Os in flight in this direction and the same throughput; None: there is none."""
    for other in facts.loads:
        if (
            other.direction == load.direction
            and other.in_flight_measured <= load.in_flight_measured / 2
            and abs(other.ops_per_second / load.ops_per_second - 1) <= FLAT
        ):
            return other
    return None


def _link_bottleneck(
    facts: Facts, load: LoadFacts, full: Sequence[FactRow], array: FactRow | None, windows: int
) -> Judgement:
    # A ceiling that binds is met by the throughput: of the full links, the lowest ceiling comes first, and where they
    # are coincident the link nearest to the host, as the first that a person can look at.
    ranked = sorted(full, key=lambda row: number(row, "ceiling_bytes_per_second"))
    lowest = number(ranked[0], "ceiling_bytes_per_second")
    binding = [row for row in ranked if number(row, "ceiling_bytes_per_second") <= lowest * (1 + COINCIDENT)]
    binding.sort(key=lambda row: (row["side"] != "host", -number(row, "utilisation")))
    first = binding[0]
    calm = flat_over_load(facts, load)
    because = [
        _utilisation(first),
        f"full in {percent(number(first, 'full_windows_ratio'))} of {count(number(first, 'windows'))} windows",
    ]
    if calm is not None:
        ratio = load.in_flight_measured / calm.in_flight_measured
        because.append(
            f"{count(calm.in_flight_measured)} I/Os in flight gave {iops(calm.ops_per_second)}, "
            f"{ratio:.1f} times as many gave {iops(load.ops_per_second)}: more load buys only latency"
        )
    operations = load.bytes_per_second / load.ops_per_second
    bottleneck = Bottleneck(
        entity=str(first["entity"]),
        kind="link",
        layer=_layer(facts, binding),
        direction=load.direction,
        utilisation=number(first, "utilisation"),
        ceiling_bytes_per_second=lowest,
        ceiling_ops_per_second=lowest / operations,
        coincident=tuple(str(row["entity"]) for row in binding[1:]),
        wait_at=_wait_at(facts, load, str(first["entity"])),
        explains=_explains(facts, load, array),
        because=tuple(because),
        overturn_if=(
            f"a window with this link below 90 % at the same IOPS in the {load.direction} direction",
            "twice as many I/Os in flight raising throughput by more than 3 %",
        ),
    )
    grade: Grade = "C" if windows < WINDOWS else "A" if calm is not None or _array_calm(load, array) else "B"
    return Judgement(load, "bottleneck", grade, (bottleneck,), tuple(because), None, windows)


def _utilisation(row: FactRow) -> str:
    counted, capacity = number(row, "bytes_per_second"), number(row, "capacity_bytes_per_second")
    return (
        f"{bandwidth(counted)} counted of {bandwidth(capacity)} = {percent(number(row, 'utilisation'))}; "
        f"a full {row['speed']} link reads {percent(number(row, 'full_ratio'))}"
    )


def _array_bottleneck(facts: Facts, load: LoadFacts, array: FactRow, windows: int) -> Judgement:
    inside = number(array, "array_seconds")
    grown = f"service and queue time of the array grew {number(array, 'growth'):.1f} times over the lowest load"
    because = (
        f"{grown} while throughput stayed flat",
        f"it accounts for {percent(min(1.0, inside / load.latency_seconds))} of the latency at the load",
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
    return Judgement(load, "bottleneck", "B" if windows >= WINDOWS else "C", (bottleneck,), because, None, windows)


def _without_bottleneck(
    facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow | None, windows: int
) -> Judgement:
    grade: Grade = "C" if windows < WINDOWS else "B"
    step = next(s for s in facts.steps if s.name == load.step)
    total = sum(f.in_flight_measured for f in facts.loads if f.step == load.step)
    if load.cpu_ratio is not None and load.cpu_ratio >= FILLED:
        because = (f"a process of the load used {percent(load.cpu_ratio)} of a core; nothing below it is full",)
        return Judgement(load, "generator_limited", grade, (), because, None, windows)
    if step.rate_limited or (load.in_flight_configured and total < FILLED * load.in_flight_configured):
        because = (
            f"{count(total)} of {count(load.in_flight_configured or 0)} I/Os were in flight: the load wants no more",
        )
        return Judgement(load, "demand_limited", grade, (), because, None, windows)
    unseen = [what for what, rows in (("the links of the loaded path", links), ("the array", array)) if not rows]
    unseen += [f"the utilisation of {row['entity']}" for row in links if row["utilisation"] is None]
    if unseen:
        why = f"nothing that was observed is full, and {' and '.join(unseen)} could not be seen"
        return Judgement(load, "cannot_tell", "C", (), (why,), f"read {unseen[0]}", windows)
    busiest = max(links, key=lambda row: number(row, "utilisation"))
    busy = f"the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}"
    if number(busiest, "utilisation") >= BUSY or flat_over_load(facts, load) is not None:
        why = f"throughput does not follow the load, {busy}, and the array has not slowed down"
        return Judgement(
            load, "cannot_tell", "C", (), (why,), "repeat the step with twice the I/Os in flight", windows
        )
    because = (f"all {count(total)} I/Os are in flight and nothing is full: {busy}",)
    return Judgement(load, "concurrency_limited", grade, (), because, None, windows)


def _array_saturated(facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow) -> bool:
    if array["growth"] is None or number(array, "growth") < GROWTH:
        return False
    upstream_free = all(number(row, "utilisation") < BUSY for row in links)
    return upstream_free and flat_over_load(facts, load) is not None


def _array_calm(load: LoadFacts, array: FactRow | None) -> bool:
    """The array's own time is a small part of the latency and has not grown."""
    if array is None or array["array_seconds"] is None:
        return False
    return number(array, "array_seconds") < load.latency_seconds / 2 and (number(array, "growth") or 1) < GROWTH


def _layer(facts: Facts, binding: Sequence[FactRow]) -> str:
    """The layer of a full link is that of its end with the lower capability; if both are equal, the array's front end
    when every array port in use is full, else the fabric."""
    if any(row["switch_is_slower"] is not False for row in binding):
        return "fabric"
    in_use = facts.tables["link"].select(
        step=binding[0]["step"], direction=binding[0]["direction"], on_loaded_path=True
    )
    array_side_links = [row for row in in_use if _is_array_side(row)]
    if array_side_links and all(is_full(row) for row in array_side_links):
        return "array_front"
    return "fabric"


def _is_array_side(row: FactRow) -> bool:
    return row["side"] == "array"


def _wait_at(facts: Facts, load: LoadFacts, limiter: str) -> str:
    """Where most of the wait is held: above the block device when the load keeps more in flight than it admits."""
    device = device_of(facts, load)
    if device is not None and number(device, "in_flight_measured") < load.in_flight_measured / 2:
        return str(device["entity"])
    return limiter


def _explains(facts: Facts, load: LoadFacts, array: FactRow | None) -> float | None:
    """(R - R without the limit) / R, with the array's own time and one transfer a link as what would remain."""
    wire = wire_seconds(facts, load)
    if array is None or array["array_seconds"] is None or wire is None:
        return None
    floor = number(array, "array_seconds") + wire
    return min(1.0, max(0.0, 1 - floor / load.latency_seconds))


def _explains_array(load: LoadFacts, array: FactRow) -> float:
    grown = number(array, "array_seconds")
    return min(1.0, max(0.0, (grown - grown / number(array, "growth")) / load.latency_seconds))

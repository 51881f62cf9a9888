"""Nothing that was observed is full: too little in flight, a load that asks for no more, or what cannot be told."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.budget import wire_seconds
from sanpath.verdict.data_sheet import below_data_sheet
from sanpath.verdict.evidence import (
    BUSY,
    array_growth,
    carries_more,
    collapse,
    flat_over_load,
    flat_throughput,
    not_seen,
)
from sanpath.verdict.healthy import met, not_healthy, rate_met
from sanpath.verdict.judged import Judgement, graded
from sanpath.verdict.queues import below_queues, throttle
from sanpath.verdict.uncounted import at_ceiling, share_of_links
from sanpath.verdict.units import count, duration, iops, percent

FILLED = 0.95
"""Share of the configured I/Os that must be in flight for the load to be a closed loop."""
SLOW_TRANSFER = 5.0
"""Transfer time this many times that of the wire, at a free link, is somebody's wait."""


def without_bottleneck(
    facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow | None, windows: int
) -> Judgement:
    """The first that applies of: generator, demand, something unseen, a wait that nobody explains, concurrency. That
    another load moved more over the same is proof of the last, whatever was not seen."""
    step = next(s for s in facts.steps if s.name == load.step)
    total = sum(f.in_flight_measured for f in facts.loads if f.step == load.step)
    told = load.in_flight_configured
    unseen = not_seen(facts, load, links, array)
    if load.cpu_ratio is not None and load.cpu_ratio >= FILLED:
        below = "nothing that was observed below it is full" if unseen else "nothing below it is full"
        because = (f"a process of the load used {percent(load.cpu_ratio)} of a core; {below}",)
        return Judgement(load, "generator_limited", graded("B", windows), (), because, None, windows)
    # A rate that was asked for limits only while I/Os are left that could be in flight.
    if total < FILLED * told if told else step.rate_limited:
        of = f"{count(total)} of {count(told)} I/Os were" if told else f"it has a rate, and {count(total)} I/Os were"
        because = (f"{of} in flight: the load wants no more",)
        if told and (rate := rate_met(facts, load)) is not None:
            why_not = not_healthy(facts, load, links, array, unseen)
            because = (f"{met(rate)}, with {because[0]}", *(() if why_not is None else (why_not,)))
            if why_not is None:
                return Judgement(load, "healthy", graded("B", windows), (), because, None, windows)
        return Judgement(load, "demand_limited", graded("B", windows), (), because, None, windows)
    if unseen and (stands := at_ceiling(facts, load)) is not None:
        why = f"{stands}, and neither the bytes of the links nor another load tells whether that is what holds it"
        return _cannot_tell(
            load, why, "the bytes of these ports, or twice as many of the same I/Os in flight", windows
        )
    if unseen and (more := carries_more(facts, load)) is not None:
        in_flight = f"{count(load.in_flight_measured)} in flight gave {iops(load.ops_per_second)}"
        because = (
            f"{in_flight}, and {count(more.in_flight_measured)} gave {iops(more.ops_per_second)} over the same",
        )
        return Judgement(load, "concurrency_limited", "C", (), because, None, windows)
    if unseen:
        part = share_of_links(facts, load) or below_data_sheet(facts, load)
        full = f"nothing that was observed is full{f' ({part})' if part else ''}"
        why = f"{full}, and {' and '.join(unseen)} could not be seen"
        decide = f"read {unseen[0]}"
        nothing_read = not links and array is None
        if (grows := _against_load(facts, load)) is not None:
            why = f"{grows[0]}; {why}"
            decide = grows[1] if nothing_read else decide
        elif nothing_read and part is None:
            decide = "name the switch and the array in sanpath.yaml: sanpath init writes one"
        elif nothing_read and not _has_peer(facts, load):
            decide = "the same I/O with twice as many in flight, and how busy the processors of the load are"
        return _cannot_tell(load, why, decide, windows)
    if not told:
        why = "nothing is full, and how many I/Os the load was told to keep in flight is not known"
        return _cannot_tell(load, why, "repeat it with twice the I/Os in flight", windows)
    busiest = max(links, key=lambda row: number(row, "utilisation"))
    busy = f"the busiest link, {busiest['entity']}, is at {percent(number(busiest, 'utilisation'))}"
    if (slow := slow_transfer(facts, load, array)) is not None:
        decide = "the time without transmit credit on the switch ports: a device that drains slowly would show there"
        return _cannot_tell(load, f"{slow}, and {busy}", decide, windows)
    if (held := throttle(facts, load)) is not None:
        entity, slots = held.entity, held.admitted
        why = f"{entity} lets {count(slots)} of {count(total)} I/Os through, {busy}, and {array_growth(array)}"
        decide = f"a deeper queue at {entity}, or a step with fewer than {count(slots / 2)} I/Os in flight"
        return _cannot_tell(load, why, decide, windows)
    if flat_throughput(facts, load):
        why = f"throughput does not follow the load, {busy}, and {array_growth(array)}"
        fewest = min(f.in_flight_measured for f in facts.loads if f.comparable(load))
        decide = f"a step with fewer than {count(fewest / 2)} I/Os in flight: it shows which part grows"
        return _cannot_tell(load, why, decide, windows)
    if number(busiest, "utilisation") >= BUSY:
        why = f"{busy}: near its limit but not full"
        return _cannot_tell(load, why, "repeat the step with twice the I/Os in flight", windows)
    because = (f"every I/O that was configured is in flight ({count(total)}) and nothing is full: {busy}",)
    return Judgement(load, "concurrency_limited", graded("B", windows), (), because, None, windows)


def _has_peer(facts: Facts, load: LoadFacts) -> bool:
    """Whether another step had the same I/O."""
    return any(other.step != load.step and other.comparable(load) for other in facts.loads)


def _against_load(facts: Facts, load: LoadFacts) -> tuple[str, str] | None:
    """That something limits, and what would tell it, by what throughput does as load grows; None: it grows too."""
    if (fallen := collapse(facts, load)) is not None:
        before, after = fallen
        slower = after.latency_seconds / before.latency_seconds
        why = (
            f"throughput falls from {iops(before.ops_per_second)} to {iops(after.ops_per_second)} while an I/O takes "
            f"{slower:.1f} times as long: what lies below collapses, it is no plateau"
        )
        return why, "how busy each device below was, and what its caches answered and wrote back, in both steps"
    if (calm := flat_over_load(facts, load)) is not None:
        times = load.in_flight_measured / calm.in_flight_measured
        more = percent(load.ops_per_second / calm.ops_per_second - 1)
        why = (
            f"throughput stands still from {count(calm.in_flight_measured)} in flight on, {times:.1f} times as many "
            f"bring {more}: something limits"
        )
        return why, "how busy each device, link and processor below was in the steps of the plateau"
    return None


def slow_transfer(facts: Facts, load: LoadFacts, array: FactRow | None) -> str | None:
    """Whether the array takes far longer to transfer a block than the wire needs, and that is most of the latency: a
    host or a device on the fabric holds it up. Says so, or None."""
    wire = wire_seconds(facts, load)
    if array is None or array["san_seconds"] is None or not wire:
        return None
    san = number(array, "san_seconds")
    if san < SLOW_TRANSFER * wire or san < below_queues(facts, load) / 2:
        return None
    return f"the array takes {duration(san)} to transfer what the wire carries in {duration(wire)}"


def _cannot_tell(load: LoadFacts, why: str, decide_with: str, windows: int) -> Judgement:
    return Judgement(load, "cannot_tell", "C", (), (why,), decide_with, windows)

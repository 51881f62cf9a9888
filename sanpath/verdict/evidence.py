"""What the facts of one step prove: a full link, flat throughput, an array that has slowed down, what nobody saw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import isclose

from sanpath.facts import loads
from sanpath.facts.compute import Facts
from sanpath.facts.links import FULL
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import SHARED, array_time, response_time
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import io_paths
from sanpath.verdict.places.host_queues import below_queues
from sanpath.verdict.units import percent

FULL_WINDOWS = 0.9
"""Share of the windows in which a saturated link is full."""
BUSY = 0.8
"""Below it an element is not near its limit (queueing delay grows as 1 / (1 - utilisation))."""
GROWTH = 3.0
"""Service and queue time that has grown by this over the lowest load, at flat throughput, is saturation: arrays
publish no ceiling (reference: operational analysis, Denning and Buzen 1978)."""
_GROWTH_AMONG_OTHERS = 1.3
"""The same where others keep as many I/Os in flight as before: all of them together have grown by less."""
_CARRIED = 0.9
"""Share of the load's bytes that the observed links must carry, so that none of its paths is missing."""
_KEPT = 0.95
"""Share of the configured I/Os that must be in flight for a load to be a closed loop."""
_SAME_MIX = 0.05
"""Shares of reads that differ by less make the same mix."""
_MORE = 1.2
"""Throughput of another load from which on it clearly had room that this one did not use."""
_AS_MANY = 0.8
"""As many in flight, as measured: where everything slows down, less is in flight for the same setting."""
_COLLAPSED = 1.5
"""Throughput before over after from which on more load has made it fall: runs of one test differ by far less."""
_CLEARLY = 2.0
"""Queue over service time in the array that needs no second step to be told from noise."""


def is_full(row: FactRow) -> bool:
    """Whether a link row shows a saturated link: in the mean and in nearly every window."""
    if row["utilisation"] is None or row["full_windows_ratio"] is None:
        return False
    limit = FULL * number(row, "full_ratio")
    return number(row, "utilisation") >= limit and number(row, "full_windows_ratio") >= FULL_WINDOWS


def full_with_more(facts: Facts, load: LoadFacts, links: Sequence[FactRow]) -> list[FactRow]:
    """Busy links that twice as many I/Os in flight fill, without more throughput: at the knee a link limits before
    every one of its windows is full."""
    beyond = flat_beyond(facts, load)
    if beyond is None:
        return []
    later = facts.tables["link"].select(step=beyond.step, direction=beyond.direction, on_loaded_path=True)
    full = {row["entity"] for row in later if is_full(row)}
    return [row for row in links if row["entity"] in full and number(row, "utilisation") >= BUSY]


def flat_over_load(facts: Facts, load: LoadFacts) -> LoadFacts | None:
    """See `facts.loads.flat_over_load`."""
    return loads.flat_over_load(facts.loads, load)


def flat_beyond(facts: Facts, load: LoadFacts) -> LoadFacts | None:
    """See `facts.loads.flat_beyond`."""
    return loads.flat_beyond(facts.loads, load)


def not_seen(facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow | None) -> list[str]:
    """Parts of the loaded path that nothing was read of."""
    found: list[str] = []
    here = {"step": load.step, "direction": load.direction}
    for side in ("host", "array"):
        carried = sum(number(row, "bytes_per_second") for row in links if row["side"] == side)
        if not carried and facts.tables["link"].select(**here, side=side, on_loaded_path=None):
            found.append(f"which links at the {side} carry the test (others use them too)")
        elif not carried:
            found.append(f"the links at the {side}")
        elif carried < _CARRIED * load.bytes_per_second:
            share = percent(1 - carried / load.bytes_per_second)
            found.append(f"the way of {share} of the bytes at the {side} (another path, or a cache)")
    if not links and not facts.tables["link"].select(**here, on_loaded_path=None):
        found = ["the links of the loaded path"]
    found += unseen_between(facts, load.roots)
    if array is None or array["array_seconds"] is None:
        response = response_time(load, array)
        if response is None:
            found.append("the latency of the array")
        elif not response_small(facts, load, response):
            found.append("the array's own part of its response time")
    return found + [f"the utilisation of {row['entity']}" for row in links if row["utilisation"] is None]


def unseen_between(facts: Facts, loads: Iterable[str]) -> list[str]:
    """Links between switches that the loads' I/O may cross, and whose bytes nobody counts."""
    counted = {row["entity"] for row in facts.tables["link"].rows}
    crossed = {cable.id for path in io_paths(facts.topology, *loads) for cable in path.cables}
    return sorted(crossed - counted) if counted else []


def array_saturated(facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow) -> bool:
    """Whether the array is what limits: no link that was seen is near its limit, its own time is most of the latency,
    and it queues - it waits longer than it serves, or its time has grown over the lowest load, at flat throughput.

    Behind a queue of the host that is always full the array sees the same load in every step, and nothing grows: then
    its own queue tells. Without other steps to compare with it has to be clear. Of a step in which the array slows
    down the beginning is what to compare with.
    """
    upstream_free = all(number(row, "utilisation") < BUSY for row in links)
    if not upstream_free or not array_dominates(facts, load, array):
        return False
    if slowed_within(array):
        return True
    if flat_throughput(facts, load):
        return queues_inside(array) or number(array, "growth") >= GROWTH
    if takes_from_others(facts, load, array):
        return queues_inside(array) or number(array, "growth") >= _GROWTH_AMONG_OTHERS
    alone = sum(other.comparable(load) for other in facts.loads) == 1
    return alone and queues_inside(array, _CLEARLY)


def slowed_within(array: FactRow) -> bool:
    """Whether the array took clearly longer at the end of the step than at its beginning, and completed clearly less
    of the load: it has become saturated in between, as when a write cache has filled."""
    held = number(array, "held_throughput")
    return 0 < held <= 1 / _COLLAPSED and number(array, "growth_within") >= _COLLAPSED


def takes_from_others(facts: Facts, load: LoadFacts, array: FactRow) -> bool:
    """Whether the array as a whole completed no more than at half the load or less: what this load gained by more
    I/Os in flight, others lost."""
    entity = str(array["entity"])
    whole = next(iter(facts.topology.related(entity, "member_of", "array")), entity)
    mine = sum(other.ops_per_second for other in facts.loads if other.step == load.step)
    done: defaultdict[str, float] = defaultdict(float)
    for row in facts.tables["array"].select(entity=whole):
        done[str(row["step"])] += number(row, "ops_per_second")
    calmer = [
        done[other.step]
        for other in facts.loads
        if other.comparable(load) and other.in_flight_measured <= loads.HALF * load.in_flight_measured
    ]
    here = done[load.step]
    return here > mine * (1 + SHARED) and any(here <= (1 + loads.FLAT) * then for then in calmer if then)


def queues_inside(array: FactRow, times: float = 1.0) -> bool:
    """Whether I/Os wait in the array at least `times` as long as they are served."""
    queue, service = number(array, "queue_seconds"), number(array, "service_seconds")
    return bool(service) and queue >= times * service


def flat_throughput(facts: Facts, load: LoadFacts) -> bool:
    """Whether half or twice as many of the same I/Os in flight made no difference to throughput."""
    return flat_over_load(facts, load) is not None or flat_beyond(facts, load) is not None


def carries_more(facts: Facts, load: LoadFacts) -> LoadFacts | None:
    """Another load, of the same I/O and with more in flight, that moved clearly more: what lies below this one could
    have carried it. None: there is none, or this one does not keep its I/Os in flight all the time."""
    told, total = load.in_flight_configured, sum(f.in_flight_measured for f in facts.loads if f.step == load.step)
    if told is None or total < _KEPT * told:
        return None
    more = [
        other
        for other in facts.loads
        if other.comparable(load)
        and other.roots == load.roots
        and isclose(_part_of_step(facts, other), _part_of_step(facts, load), abs_tol=_SAME_MIX)
        and other.in_flight_measured > load.in_flight_measured
        and other.ops_per_second >= _MORE * load.ops_per_second
    ]
    return min(more, key=lambda other: other.in_flight_measured, default=None)


def collapse(facts: Facts, load: LoadFacts) -> tuple[LoadFacts, LoadFacts] | None:
    """(Before, after): the same I/O with no fewer in flight and clearly less throughput, of which this load is one:
    what lies below has slowed down, and does not merely stand still. None: no such pair."""
    for other in facts.loads:
        if other.step == load.step or not other.comparable(load):
            continue
        after, before = sorted((load, other), key=lambda each: each.ops_per_second)
        no_fewer = after.in_flight_measured >= _AS_MANY * before.in_flight_measured
        if no_fewer and before.ops_per_second >= _COLLAPSED * after.ops_per_second:
            return before, after
    return None


def _part_of_step(facts: Facts, load: LoadFacts) -> float:
    """Share of the step's operations that this direction has: reads beside more writes are another load."""
    return load.ops_per_second / sum(other.ops_per_second for other in facts.loads if other.step == load.step)


def capped(facts: Facts, load: LoadFacts, array: FactRow | None) -> bool:
    """Whether a QoS limit of the array is what limits: the wait for it is most of the latency below the queue of the
    operating system. A link may be nearly full at the same time; it is not what I/Os wait for."""
    row = array_time(load, array)
    held = number(row, "qos_limit_seconds") if row is not None else 0.0
    return held > 0 and held >= below_queues(facts, load) / 2


def array_growth(array: FactRow | None) -> str:
    """How the array's own time compares with that of the lowest load, as a clause."""
    if array is None or array["growth"] is None:
        return "how the array's own time grows is not known"
    if queues_inside(array, 0.5):
        return "I/Os wait in the array"
    return f"the array's own time is {number(array, 'growth'):.1f} times that of the lowest load"


def array_calm(load: LoadFacts, array: FactRow | None) -> bool:
    """The array's own time is a small part of the latency and has not grown."""
    if array_time(load, array) is None or array is None:
        return False
    return number(array, "array_seconds") < load.latency_seconds / 2 and (number(array, "growth") or 1) < GROWTH


def response_small(facts: Facts, load: LoadFacts, response: FactRow) -> bool:
    """Whether an array that tells its own part and the transfer as one can have little to do with the latency: both
    together are less than half of what is below the queue of the operating system."""
    return number(response, "response_seconds") < below_queues(facts, load) / 2


def array_dominates(facts: Facts, load: LoadFacts, array: FactRow) -> bool:
    """Whether the array's own time is at least half of the latency below the queue of the operating system. What is
    less is no proof against it: most of the time passes where nobody looked."""
    return number(array, "array_seconds") >= below_queues(facts, load) / 2

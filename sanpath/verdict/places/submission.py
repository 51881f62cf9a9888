"""How many of its I/Os a load keeps outstanding, and whether its device prevents its threads from submitting.

Linux puts a thread to sleep in the system call that submits an I/O while the device has no free request
(blk_mq_get_tag). The load then keeps fewer I/Os outstanding than configured, and one for each of its threads waits
above the device. Nothing else distinguishes this from a load that requests no more.
"""

from __future__ import annotations

from math import ceil, hypot
from statistics import NormalDist

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import number
from sanpath.verdict.places.host_queues import host_queues

FILLED_ERROR = 0.03
"""Error of the filled ratio: I/Os in flight are throughput times latency, and a generator takes a moment between two
I/Os."""
_CLOSED_LOOP = NormalDist(1.0, FILLED_ERROR)
_BETWEEN_IOS = 0.05
"""Share of closed loops that take long between two I/Os, such as those over a cache in memory, or keep fewer in
flight than configured, such as a synchronous engine with a queue depth."""


def closed_loop_density(in_flight_ratio: float) -> float:
    """Density of the share of configured I/Os that a closed loop keeps in flight. The smaller the share, the less
    chance explains the time between two I/Os."""
    ratio = min(in_flight_ratio, 1.0)
    return (1 - _BETWEEN_IOS) * _CLOSED_LOOP.pdf(ratio) + _BETWEEN_IOS * 2 * max(ratio, 0.01)


def density_of_others(in_flight_ratio: float, blocked_ratio: float) -> float:
    """The same if something other than the load limits: nearly all are in flight, unless the load's threads cannot
    submit them (`blocked_ratio`)."""
    return blocked_ratio + (1 - blocked_ratio) * closed_loop_density(in_flight_ratio)


def closed_loop_ratio(in_flight: float, relative_error: float) -> float:
    """Probability density of a number of I/Os in flight if a closed loop of unknown depth keeps them there, relative
    to a load that requests no more.

    A closed loop holds a whole number of I/Os, a paced load any number. Before counting, all numbers of the same
    order are equally probable for both. `relative_error`: standard error of `in_flight`.
    """
    kept = NormalDist(1.0, hypot(FILLED_ERROR, relative_error))
    highest = 1 + 2 * kept.stdev
    ratios = [in_flight / depth for depth in range(ceil(in_flight / highest), 2 * ceil(in_flight) + 1)]
    return sum(((1 - _BETWEEN_IOS) * kept.pdf(ratio) + _BETWEEN_IOS) * ratio**2 for ratio in ratios) / in_flight


def threads_of(facts: Facts, load: LoadFacts) -> float:
    """Threads or processes of a load. 0: it does not report them."""
    return facts.cached(_threads_of, load)


def _threads_of(facts: Facts, load: LoadFacts) -> float:
    return number(facts.row_of(load), "threads")


def sleeps_to_submit(facts: Facts, load: LoadFacts) -> bool:
    """Whether every thread of a load sleeps in the system call that submits an I/O while its device has no free
    request, as with Linux' libaio. Other engines hand I/Os over to threads of their own, or are not known."""
    known = facts.topology.entities
    engines = {known[job].attributes.get("ioengine") if job in known else None for job in load.jobs}
    return engines == {"libaio"}


def blocked_ratio(facts: Facts, load: LoadFacts, in_flight_ratio: float | None) -> float:
    """Share of the time that the load's threads wait to submit an I/O, 0 to 1; 0 if not known. `in_flight_ratio`: as
    in PlaceTable. A load with all its I/Os outstanding waits for completions instead."""
    threads = threads_of(facts, load)
    if not threads or in_flight_ratio is None:
        return 0.0
    waiting = sum(
        queues[0].waiting
        for each in facts.loads_in(load.step)
        if each.entity == load.entity and (queues := host_queues(facts, each))
    )
    waiting_ratio = waiting / threads - (load.cpu_ratio or 0.0)
    if waiting_ratio <= 0:
        return 0.0
    # More than one per thread waits in another queue.
    return min(waiting_ratio, 1 / waiting_ratio) / (1 + closed_loop_density(in_flight_ratio))

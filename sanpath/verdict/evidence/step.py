"""What the facts of one step prove: flat throughput, an array that slowed down, steadiness, and what was not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts, flat_over_load
from sanpath.facts.storage.load_volumes import response_time
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import Cable, io_paths
from sanpath.units import count, iops, percent
from sanpath.verdict.places.host_queues import below_queues
from sanpath.verdict.places.scaling import COLLAPSED

BUSY = 0.8
"""Utilisation below which an element is not near its limit (queueing delay grows as 1 / (1 - utilisation))."""
_CARRIED_RATIO = 0.9
"""Share of the load's bytes that the read links must carry. Below it, one of the paths is missing."""
DRIFT = 0.05
"""Relative drift from which a step is not steady, as in the rule test-not-steady.

It is half of what the steady state of SNIA's Solid State Storage Performance Test Specification allows over its
measurement window.
"""
RETAINED = 0.8
"""Share of its initial throughput that a step must keep until its end, as in the rule test-not-steady. Throughput may
rise at first, while caches warm up. If it falls, a resource was used up."""
_MEMORY_REACHED_RATIO, _MEMORY_SECONDS = 0.5, 5e-6
"""Share of a load's I/Os that reach its devices, and latency, below which memory answers it, as in the rule
`test-answered-by-cache`."""
_CARRIED_BY_NONE_RATIO = 0.1
"""Share of a load's bytes that all devices and ports of its machines carry, below which it ends in memory, as in the
rule `test-on-no-device`."""


def answered_by_memory(facts: Facts, load: LoadFacts) -> bool:
    """Whether memory (a file cache, or a RAM disk) answers most I/Os of a load, so that it does not test storage. A
    load that mostly waits for flushes does test the storage."""
    if load.flushes_in_flight > load.in_flight_measured:
        return False
    row = facts.row_of(load)
    share, carried = row["device_share"], row["carried_ratio"]
    if row["direct"] and isinstance(carried, float) and carried < _CARRIED_BY_NONE_RATIO:
        return True
    return (isinstance(share, float) and share < _MEMORY_REACHED_RATIO) or load.latency_seconds < _MEMORY_SECONDS


def unread_parts(facts: Facts, load: LoadFacts, links: Sequence[FactRow], array: FactRow | None) -> list[str]:
    """Parts of the loaded path that no source read, in words."""
    missing: list[str] = []
    key = {"step": load.step, "direction": load.direction}
    for side in ("host", "array"):
        carried = sum(number(row, "bytes_per_second") for row in links if row["side"] == side)
        if not carried and facts.tables["link"].select(**key, side=side, miscounts=True):
            missing.append(f"the bytes of the links at the {side} (their counters miss some)")
        elif not carried and facts.tables["link"].select(**key, side=side, on_loaded_path=None):
            missing.append(f"which links at the {side} carry the test (other hosts use them too)")
        elif not carried:
            missing.append(f"the links at the {side}")
        elif carried < _CARRIED_RATIO * load.bytes_per_second:
            share = percent(1 - carried / load.bytes_per_second)
            missing.append(f"where {share} of the bytes at the {side} (another path, or a cache)")
    if not links and not facts.tables["link"].select(**key, on_loaded_path=None):
        missing = ["the links of the path"]
    missing += [cable.id for cable in uncounted_cables(facts, load.roots, [load.direction])]
    if array is None or array["array_seconds"] is None:
        response = response_time(load, array)
        if response is None:
            missing.append("the latency of the array")
        elif not is_response_short(facts, load, response):
            missing.append("the array's own part of its response time")
    return missing + [f"the utilisation of {row['entity']}" for row in links if row["utilisation"] is None]


def uncounted_cables(facts: Facts, loads: Iterable[str], directions: Iterable[str]) -> list[Cable]:
    """Links that the loads' I/O may cross and whose bytes no source counts in these directions. A link that is down
    in every step carries nothing. []: no switch port is read."""
    rows = facts.tables["link"].rows
    counted_by_direction = [
        {row["entity"] for row in rows if row["direction"] == direction and row["bytes_per_second"] is not None}
        for direction in directions
    ]
    counted = set[object]().union(*counted_by_direction).intersection(*counted_by_direction)
    crossed = {cable.id: cable for path in io_paths(facts.topology, *loads) for cable in path.cables}
    down = {row["entity"] for row in rows if row["down"]} - {row["entity"] for row in rows if not row["down"]}
    return [crossed[name] for name in sorted(crossed.keys() - counted - down)] if rows else []


def array_slowed_down(array: FactRow) -> bool:
    """Whether the array became saturated within the step, as when a write cache has filled: at the end of the step it
    took clearly longer and completed clearly fewer of the load's I/Os than at its beginning."""
    retained = number(array, "held_throughput")
    return 0 < retained <= 1 / COLLAPSED and number(array, "growth_within") >= COLLAPSED


def flat_throughput_words(facts: Facts, load: LoadFacts) -> str | None:
    """Words for throughput that hardly falls with half as many I/Os in flight, or fewer. None: no step shows this."""
    lighter = flat_over_load(facts.loads, load)
    if lighter is None:
        return None
    fewer_words = f"{count(lighter.in_flight_measured)} outstanding I/Os gave {iops(lighter.ops_per_second)}"
    more_words = f"{count(load.in_flight_measured)} gave {iops(load.ops_per_second)}"
    return f"{fewer_words}, {more_words}: more load adds only latency"


def is_response_short(facts: Facts, load: LoadFacts, response: FactRow) -> bool:
    """Whether the response time of an array (its own time and the transfer as one figure) is a small part of the
    latency: less than half of the time below the queue of the operating system."""
    return number(response, "response_seconds") < below_queues(facts, load) / 2


def drift(facts: Facts, load: LoadFacts) -> str | None:
    """How a load changed within a step, as a clause, in the words of the rule test-not-steady. None: it hardly
    changed, or there are too few windows to tell a change from noise."""
    row = facts.row_of(load)
    fell = row["held_throughput"] is not None and number(row, "held_throughput") < RETAINED
    drifted = any(abs(number(row, f"{metric}_trend")) > DRIFT for metric in ("throughput", "latency"))
    return str(row["change_in_step"]) if fell or drifted else None

"""Whether processors or drives work for the load's I/Os, given their utilisation with more and with fewer of these;
and how much of its CPU quota the load uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.facts.facts import Facts
from sanpath.facts.host.cpu_quotas import quota_used_ratio
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.topology.paths import array_of
from sanpath.units import iops, percent

_CLEARLY_LESS = 0.7
"""Ratio of throughputs that clearly differ: with more I/Os in flight, batches make each cheaper, rarely by more than
this."""
CLEARLY_LESS_BUSY = 0.1
"""Difference of utilisations from which processors were clearly less busy: sanpath's own choice."""
_SAME_BUSY_RATIO = 0.01
"""Difference of utilisations up to which processors are equally busy: sanpath's own choice, the last digit of most
counters."""
_FULL = 0.97
"""Smallest reading of processors that limit, because kernels count in ticks. Processors that show it with fewer I/Os
would have limited those."""
_IN_PROPORTION = 1.3
"""Largest increase of processor time per I/O with clearly fewer I/Os: some work is shared by many."""


def follows_load(facts: Facts, load: LoadFacts, same_io: Sequence[LoadFacts], machine: str, fact: str) -> bool:
    """Whether processors are busy in proportion to the load's I/Os (utilisation law, Denning and Buzen 1978): then
    they work only for these, mostly in interrupts, which no process is charged for.

    `same_io`: loads of other steps with the same I/O; `machine`: a host or an array; `fact`: its utilisation.
    """
    for less, more, in_less, in_more in _pairs_of_steps(facts, load, same_io, machine):
        ratio = less.ops_per_second / more.ops_per_second
        at_less, at_more = _busy(in_less, fact), _busy(in_more, fact)
        if ratio <= _CLEARLY_LESS and 0 < at_less <= _IN_PROPORTION * at_more * ratio:
            return True
    return False


def less_busy_with_fewer(
    facts: Facts, load: LoadFacts, same_io: Sequence[LoadFacts], machine: str, fact: str
) -> float | None:
    """Lowest utilisation of processors with clearly fewer of the same I/Os. None: they were as busy, there is no such
    step, or the utilisation is far lower than these I/Os explain.

    Other work of a machine does not depend on the load: if processors are full only with more I/Os, these fill them.
    The arguments are those of `follows_load`.
    """
    found = []
    for less, more, in_less, in_more in _pairs_of_steps(facts, load, same_io, machine):
        at_less, at_more = _busy(in_less, fact), _busy(in_more, fact)
        ratio = less.ops_per_second / more.ops_per_second
        if more is not load or ratio > _CLEARLY_LESS or not at_less:
            continue
        if at_less >= min(_FULL, at_more - _SAME_BUSY_RATIO):
            return None
        if at_more * ratio / _IN_PROPORTION <= at_less <= at_more - CLEARLY_LESS_BUSY:
            found.append(at_less)
    return min(found, default=None)


def busy_for_load(row: FactRow) -> float:
    """Utilisation of a host's processors as the load sees it, 0 to 1; 0: unknown. If the load's threads hardly wait
    for processors, it is as if the others were idle: in M/M/1 the wait is rho / (1 - rho) times the service, so rho =
    wait / (wait + service)."""
    busy, ran, waited = (number(row, f) for f in ("cpu_ratio", "load_thread_run_ratio", "load_thread_wait_ratio"))
    return min(busy, waited / (ran + waited)) if ran else busy


def quota_used(facts: Facts, load: LoadFacts) -> tuple[float, str]:
    """Share of the load's fullest CPU quota that is used, and a sentence about it. (0, ""): none is known. When a
    quota is used up, the load's processes stop, even on idle cores."""
    row = facts.row_of(load)
    if not row["in_cpu_quota"] or row["cpu_quota_used_ratio"] is None:
        return 0.0, ""
    quota = f"CPU quota of {number(row, 'cpu_quota_cores'):.3g} cores"
    words = f"control group {row['cpu_group']} used {percent(number(row, 'cpu_quota_used_ratio'))} of its {quota}"
    if row["cpu_throttled_ratio"] is not None:
        words += f" and was throttled in {percent(number(row, 'cpu_throttled_ratio'))} of the periods"
    return quota_used_ratio(row), words


def background_busy_ratio(
    facts: Facts, load: LoadFacts, same_io: Sequence[LoadFacts], machine: str, fact: str
) -> tuple[float, str]:
    """Share of processors' utilisation that is independent of the load, 0 to 1, and a sentence about it. (0, ""):
    none.

    1: they are as busy with clearly fewer of the same I/Os as with more. They poll, or do other work, and I/Os do not
    fill them. 0: at least half of their busy time grows with these I/Os. The arguments are those of `follows_load`.
    Other hosts may keep an array busy whatever the test does, so it must also do clearly less in total, in I/Os and
    in bytes.
    """
    found = (1.0, "it is as busy without the load") if _busy_without_load(facts, load, machine, fact) else (0.0, "")
    for less, more, in_less, in_more in _pairs_of_steps(facts, load, same_io, machine):
        ratio = less.ops_per_second / more.ops_per_second
        machine_does_less = all(
            _in_total(in_less, rate) <= _CLEARLY_LESS * _in_total(in_more, rate)
            for rate in ("ops_per_second", "bytes_per_second")
        )
        has_fewer = less.in_flight_measured < more.in_flight_measured
        at_less, at_more = _busy(in_less, fact), _busy(in_more, fact)
        if ratio > _CLEARLY_LESS or not machine_does_less or not has_fewer or not at_less:
            continue
        if at_less >= min(_FULL, at_more - _SAME_BUSY_RATIO):
            return 1.0, f"it is as busy at {iops(less.ops_per_second)} as at {iops(more.ops_per_second)}"
        of_these_alone = min(1.0, _IN_PROPORTION * ratio)
        independent = (at_less / at_more - of_these_alone) / (1 - of_these_alone)
        words = f"it is {percent(at_less)} busy at {iops(less.ops_per_second)}, and {percent(at_more)} at "
        words += iops(more.ops_per_second)
        found = max(found, (max(0.0, 2 * independent - 1), words))
    return found if found[0] > 0 else (0.0, "")


def is_background_busy(facts: Facts, load: LoadFacts, same_io: Sequence[LoadFacts], machine: str, fact: str) -> bool:
    """Whether I/Os do not fill processors at all; see `background_busy_ratio`."""
    return background_busy_ratio(facts, load, same_io, machine, fact)[0] == 1


def _busy_without_load(facts: Facts, load: LoadFacts, machine: str, fact: str) -> bool:
    """Whether an array is as busy while no load runs, with clearly fewer I/Os and bytes of all its hosts. A sample
    that spans the start of the load also shows it: the load explains at most the array's highest utilisation, for the
    share of the time in which it ran."""
    array = array_of(facts.topology, machine)
    idle = facts.idle_arrays.get(array)
    if idle is None or (read := idle.use.get(fact)) is None:
        return False
    rows = facts.tables["array"].select(entity=array)
    without = (read - idle.loaded_ratio * _busy(rows, fact)) / (1 - idle.loaded_ratio)
    now = [row for row in rows if row["step"] == load.step]
    clearly_less = _CLEARLY_LESS * (1 - idle.loaded_ratio) + idle.loaded_ratio
    does_less = all(
        getattr(idle, rate) <= clearly_less * _in_total(now, rate) for rate in ("ops_per_second", "bytes_per_second")
    )
    return does_less and without >= min(_FULL, _busy(now, fact) - _SAME_BUSY_RATIO) > 0


def _in_total(rows: Sequence[FactRow], rate: str) -> float:
    """An array's rate in both directions; 0 for a host, whose own I/Os are not counted."""
    return sum(number(row, rate) for row in rows)


def _busy(rows: Sequence[FactRow], fact: str) -> float:
    """Utilisation of processors, by rows of both directions; 0 if it was not read."""
    return max((number(row, fact) for row in rows), default=0.0)


def _pairs_of_steps(
    facts: Facts, load: LoadFacts, same_io: Sequence[LoadFacts], machine: str
) -> Iterator[tuple[LoadFacts, LoadFacts, list[FactRow], list[FactRow]]]:
    """Pairs of this step and another one, the one with the lower throughput first, and the machine's rows in each. A
    volume stands for its array, which may also serve others."""
    kind = machine.partition(":")[0]
    of_array = array_of(facts.topology, machine) if kind in ("array", "volume") else None
    # A virtual machine has a row in the hosts' table if its own counters are read.
    of_machine = facts.tables["host" if of_array is None else "array"].select(entity=of_array or machine)
    for other in same_io:
        less, more = sorted((load, other), key=lambda each: each.ops_per_second)
        in_less, in_more = ([row for row in of_machine if row["step"] == each.step] for each in (less, more))
        yield less, more, in_less, in_more

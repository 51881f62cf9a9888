"""Whether processors work for the load's I/Os, by how busy they are beside more and fewer of these."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.units import iops
from sanpath.verdict.places.table import PlaceTable

_CLEARLY_LESS = 0.7
"""Ratio of throughputs: batches make I/Os cheaper where more are in flight, seldom by more than this."""
_SAME_BUSY_RATIO = 0.01
_IN_PROPORTION = 1.3
"""Most that a processor with clearly fewer I/Os is busier for each of them: some work is for many at once."""


def follows_load(table: PlaceTable, row: FactRow, fact: str) -> bool:
    """Whether processors are busy in proportion to the load's I/Os (utilisation law, Denning and Buzen 1978): then
    they work for these alone, though for most of them in interrupts, which no process pays for.

    `row`: of a host or an array in the step of the load; `fact`: how busy its processors are.
    """
    return any(
        less.ops_per_second <= _CLEARLY_LESS * more.ops_per_second
        and 0 < at_less <= _IN_PROPORTION * at_more * less.ops_per_second / more.ops_per_second
        for less, more, at_less, at_more in _at_other_loads(table, row, fact)
    )


def as_busy_with_fewer(table: PlaceTable, row: FactRow, fact: str) -> str | None:
    """In words, that processors are as busy with clearly fewer of the same I/Os as with more: they poll, or do other
    work, and I/Os do not fill them. None: they are not. `row`, `fact`: as in `follows_load`."""
    for less, more, at_less, at_more in _at_other_loads(table, row, fact):
        is_less = less.ops_per_second <= _CLEARLY_LESS * more.ops_per_second
        is_less = is_less and less.in_flight_measured < more.in_flight_measured
        if is_less and at_less >= at_more - _SAME_BUSY_RATIO > 0:
            return f"it is as busy at {iops(less.ops_per_second)} as at {iops(more.ops_per_second)}"
    return None


def _at_other_loads(
    table: PlaceTable, row: FactRow, fact: str
) -> Iterator[tuple[LoadFacts, LoadFacts, float, float]]:
    """Pairs of this step and another one with the same I/Os, the one with fewer of them first, and the fact in each;
    0 where it was not read."""
    kind = str(row["entity"]).partition(":")[0]
    rows = table.facts.tables[kind].select(entity=row["entity"], direction=row["direction"])
    by_step = {each["step"]: each for each in rows}
    for other in table.same_io:
        less, more = sorted((table.load, other), key=lambda load: load.ops_per_second)
        at_less, at_more = (number(by_step.get(load.step, {}), fact) for load in (less, more))
        yield less, more, at_less, at_more

"""Whether processors work for the load's I/Os, by how busy they are beside more and fewer of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    for less, more, in_less, in_more in _at_other_loads(table, row):
        ratio, at_less, at_more = (
            less.ops_per_second / more.ops_per_second,
            _busy(in_less, fact),
            _busy(in_more, fact),
        )
        if ratio <= _CLEARLY_LESS and 0 < at_less <= _IN_PROPORTION * at_more * ratio:
            return True
    return False


def as_busy_with_fewer(table: PlaceTable, row: FactRow, fact: str) -> str | None:
    """In words, that processors are as busy with clearly fewer of the same I/Os as with more: they poll, or do other
    work, and I/Os do not fill them. None: they are not, or it is not known what other hosts do there.

    `row`, `fact`: as in `follows_load`. Other hosts may fill an array at any load of the test, so what it does in all
    has to be less as well; a volume tells nothing of that.
    """
    if str(row["entity"]).startswith("volume:"):
        return None
    for less, more, in_less, in_more in _at_other_loads(table, row):
        in_all = (sum(number(each, "ops_per_second") for each in rows) for rows in (in_less, in_more))
        rates = (less.ops_per_second, more.ops_per_second), tuple(in_all)
        is_less = all(few <= _CLEARLY_LESS * many for few, many in rates)
        is_less = is_less and less.in_flight_measured < more.in_flight_measured
        if is_less and _busy(in_less, fact) >= _busy(in_more, fact) - _SAME_BUSY_RATIO > 0:
            return f"it is as busy at {iops(less.ops_per_second)} as at {iops(more.ops_per_second)}"
    return None


def _busy(rows: Sequence[FactRow], fact: str) -> float:
    """How busy processors are by rows of both directions; 0 where it was not read."""
    return max((number(row, fact) for row in rows), default=0.0)


def _at_other_loads(
    table: PlaceTable, row: FactRow
) -> Iterator[tuple[LoadFacts, LoadFacts, list[FactRow], list[FactRow]]]:
    """Pairs of this step and another one with the same I/Os, the one with fewer of them first, and the rows of the
    same machine in each."""
    of_machine = table.facts.tables[str(row["entity"]).partition(":")[0]].select(entity=row["entity"])
    for other in table.same_io:
        less, more = sorted((table.load, other), key=lambda load: load.ops_per_second)
        in_less, in_more = ([each for each in of_machine if each["step"] == load.step] for load in (less, more))
        yield less, more, in_less, in_more

"""Something that nobody reads: it may account for any wait in its part of the path, and shows nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sanpath.facts.table import number
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence
from sanpath.verdict.places.segments import wire_seconds
from sanpath.verdict.places.table import PlaceTable
from sanpath.verdict.units import duration

_PRIOR = -2.0
"""Log-odds of a place that is on nobody's list, against one that is."""
_SLOW = 5.0
_UNREAD = -0.5
"""The same where nobody reads what lies there at all."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One for each gap between two clocks that nobody looks into."""
    below = table.indices("fabric", "array_door", "below", "array_service")
    if below:
        what = "between the last clock of the host and the array"
        conclude = partial(_conclude, table, what, below)
        # Where no switch is read, the fabric is no stranger to the list: nobody reads it.
        prior = _UNREAD if not table.links or (table.indices("below") and not table.on_path) else _PRIOR
        yield Claim("cannot_tell", "unseen", None, below, tuple(_transfer(table)), "saturates", conclude, prior)
    if table.segments and table.segments[0].kind == "host_queue":
        first = frozenset({0})
        conclude = partial(_conclude, table, f"above the clock of {table.segments[0].entity}", first)
        yield Claim("cannot_tell", "unseen", None, first, (), "any", conclude, _PRIOR)


def _transfer(table: PlaceTable) -> Iterator[Evidence]:
    """A transfer that takes far longer than the wire needs is somebody's wait, whoever it is."""
    wire = wire_seconds(table.facts, table.load)
    if table.array is None or table.array["san_seconds"] is None or not wire:
        return
    san = number(table.array, "san_seconds")
    if san > _SLOW * wire:
        words = f"the array takes {duration(san)} to transfer what the wire carries in {duration(wire)}"
        yield Evidence(words, 0.0)


def _conclude(table: PlaceTable, what: str, where: frozenset[int], _named: Sequence[Claim]) -> Conclusion:
    wait = sum(table.segments[i].wait[1] for i in where)
    return Conclusion((), (f"about {duration(wait)} of {duration(table.load.latency_seconds)} wait {what}",))

"""I/Os over paths that are not optimised cross the link between two controllers, of which no array tells how full it
is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sanpath.facts.table import number
from sanpath.units import duration, percent
from sanpath.verdict.hypotheses.claim import Claim, Conclusion, Evidence, limited_by
from sanpath.verdict.places.host_queues import wait_at
from sanpath.verdict.places.table import PlaceTable

_USED = 0.1
"""Share of the I/Os over paths that are not optimised from which they count: fewer are probes, or a path that failed
over."""
_PRIOR = 0.7
"""Log-odds against a full array: multipathing uses such paths by mistake only, and pays for it with every I/O."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for the wait inside the array, or below the last clock, where many I/Os arrive at a controller that
    does not own the volume."""
    explains = table.indices("array_queue", "array_service") or table.indices("below")
    rows = table.facts.tables["multipath"].select(step=table.load.step)
    share = max((number(row, "non_optimised_share") for row in rows), default=0.0)
    if not explains or share <= _USED:
        return
    words = f"{percent(share)} of the I/Os use paths that are not optimised, and cross the link between controllers"
    entity = wait_at(table.facts, table.load, table.load.entity)
    yield Claim("path_policy", entity, explains, (Evidence(words, 0.0),), partial(_conclude, table), _PRIOR)


def _conclude(table: PlaceTable, claims: Sequence[Claim]) -> Conclusion:
    timed = claims[0].explains <= table.indices("array_queue", "array_service")
    where = "inside the array" if timed else "below the last clock that was read"
    inside = sum(table.segments[i].middle for i in claims[0].explains)
    because = (
        claims[0].evidence[0].words,
        f"{duration(inside)} of {duration(table.load.latency_seconds)} pass {where}",
    )
    overturn_if = ("the same throughput with all I/Os over optimised paths",)
    return limited_by(table, str(claims[0].entity), "path_policy", "host", because, overturn_if)

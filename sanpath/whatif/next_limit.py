"""The next limit, after the full links of a verdict are relieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sanpath.catalogue.link_capacity import Capacity, link_capacity
from sanpath.diagnosis.model import Bottleneck, Next
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.evidence.step import drift
from sanpath.verdict.hypotheses.claim import latency_gain, next_limit
from sanpath.verdict.model import Judgement
from sanpath.whatif.ceilings import Ceiling, ceilings, technology_of, unloaded_interval
from sanpath.whatif.change import Change


def with_next_limit(facts: Facts, judgement: Judgement) -> Judgement:
    """The judgement, with the next limit after its full links are relieved, and the share of the latency that
    disappears then.

    `facts`: the facts of its step. The judgement is unchanged if no counted link is full in the load's direction, or
    if the link carries only a part of the load. It is also unchanged if the link is full for only a part of the time,
    because the step's means do not describe that part. A step that was not steady predicts nothing.
    """
    first = next(iter(judgement.bottlenecks), None)
    if (
        first is None
        or first.time_ratio is not None
        or first.kind != "link"
        or first.utilisation is None
        or first.direction != judgement.load.direction
    ):
        return judgement
    if not _is_of_all_parts(facts, first, judgement.load):
        return judgement
    rows = facts.tables["link"].select(step=judgement.load.step, direction=first.direction)
    following = _next_limit(facts, judgement.load, [row for row in rows if row["entity"] in first.elements])
    return replace(
        judgement,
        bottlenecks=(
            replace(first, explains=latency_gain(following, judgement.load)),
            *judgement.bottlenecks[1:],
        ),
        following=following if drift(facts, judgement.load) is None else None,
    )


def _is_of_all_parts(facts: Facts, first: Bottleneck, load: LoadFacts) -> bool:
    """Whether every part of a load crosses the full link, or another link that is full together with it."""
    key = {"step": load.step, "direction": first.direction}
    return all(
        any(row["on_loaded_path"] and row["entity"] in first.elements for row in part.tables["link"].select(**key))
        for part in facts.parts
        if any(each.step == load.step for each in part.loads)
    )


def _next_limit(facts: Facts, load: LoadFacts, binding: Sequence[FactRow]) -> Next | None:
    """The limit after all links of `binding` are relieved together. None: it is unknown, or the possible speed of a
    link is."""
    speeds = {str(row["entity"]): faster for row in binding if (faster := faster_link(row)) is not None}
    if load.operation_bytes is None or len(speeds) < len(binding):
        return None
    change = Change(speeds=speeds)
    limits = list(ceilings(facts, load, change, unloaded_interval(facts, load, change, None)))
    if not limits:  # The load's share is not known for any element.
        return None
    first = min(limits, key=order)
    # Clocks that overlap can make the segments longer than the total; the measured rate is still possible.
    high = max(first.ops_per_second[1], load.ops_per_second)
    return next_limit(load, first.entity, first.change, high)


def faster_link(row: FactRow) -> Capacity | None:
    """The speed that both ends of the path support. None: unknown, or not faster than now."""
    capable = row["path_capable_bits_per_second"]
    current = number(row, "capacity_bytes_per_second")
    if not isinstance(capable, int | float) or not current:
        return None
    faster = link_capacity(technology_of(row), float(capable))
    return faster if faster is not None and faster.data_bytes_per_second > current else None


def order(ceiling: Ceiling) -> tuple[float, str, str]:
    """Sort key of ceilings, the lowest first."""
    return ceiling.ops_per_second[1], ceiling.entity, ceiling.change

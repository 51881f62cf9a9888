"""The judgement of one step and direction: what is saturated, what only throttles, or what else holds the test.

The law: where I/O waits is not what limits it. A full queue above a saturated element is a throttle; its wait is
booked to that element. So the elements are asked first, from the one whose limit is certain to the one that is
inferred; a queue is the cause only when nothing below it is near its limit.
"""

from __future__ import annotations

from dataclasses import replace

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.pairs import array_side
from sanpath.facts.stays import moves_in
from sanpath.facts.table import number
from sanpath.verdict.array_limit import array_bottleneck, configured_cap
from sanpath.verdict.data_sheet import data_sheet_limit
from sanpath.verdict.drain import drained
from sanpath.verdict.evidence import BUSY, array_saturated, capped, full_with_more, is_full, not_seen
from sanpath.verdict.judged import Judgement
from sanpath.verdict.link_limit import link_bottleneck
from sanpath.verdict.no_limit import without_bottleneck
from sanpath.verdict.queue_limit import path_bottleneck, queue_bottleneck, serialised
from sanpath.verdict.queues import limiting_queue
from sanpath.verdict.settled import as_far_as_steady
from sanpath.verdict.uncounted import held_at_ceiling


def judge(facts: Facts, load: LoadFacts) -> Judgement:
    """Judge one step and direction, on the host that the load ran on in it. A step in which it moved to another one
    is a mixture of both."""
    here = facts.at(load.step)
    found = as_far_as_steady(here, _judge(here, load))
    start = next((step.start for step in facts.steps if step.name == load.step), 0)
    moved = any(move.seen >= start for move in moves_in(facts.stays, load))
    return replace(found, grade="C") if moved else found


def _judge(facts: Facts, load: LoadFacts) -> Judgement:
    links = facts.tables["link"].select(step=load.step, direction=load.direction, on_loaded_path=True)
    array = array_side(facts.topology, load, facts.tables)
    rows = [*links, *([array] if array else [])]
    told = [int(number(row, "windows")) for row in rows] + ([] if load.summary else [load.windows])
    windows = min(told, default=load.windows)
    if array is not None and capped(facts, load, array):
        return configured_cap(facts, load, array, windows)
    if full := [row for row in links if is_full(row)] or full_with_more(facts, load, links):
        return link_bottleneck(facts, load, full, array, windows)
    if (held_up := drained(facts, load, links, array, windows)) is not None:
        return held_up
    if array is not None and array_saturated(facts, load, links, array):
        return array_bottleneck(facts, load, links, array, windows)
    if (held := held_at_ceiling(facts, load, windows)) is not None:
        return held
    all_seen = not not_seen(facts, load, links, array)
    if all_seen and (used := serialised(facts, load, links)):
        return path_bottleneck(facts, load, used, windows)
    queue = limiting_queue(facts, load)
    if queue is not None and all_seen and all(number(row, "utilisation") < BUSY for row in links):
        return queue_bottleneck(load, queue, windows)
    if (promised := data_sheet_limit(facts, load, windows)) is not None:
        return promised
    return without_bottleneck(facts, load, links, array, windows)

"""A queue or a path policy of the host as what limits, with nothing below it near its limit."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.facts.compute import Facts
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.judged import Judgement, graded, wait_at
from sanpath.verdict.model import Bottleneck
from sanpath.verdict.queues import FullQueue
from sanpath.verdict.units import count, duration, percent

_USED = 0.2
"""Share of the test's bytes from which on a path is in use and not just probed."""
_ONE_LINK = (0.9, 1.25)
"""Links that together carry about what one could are used one after the other (closed-loop simulation: 1.0 to 1.2
links with a Round Robin batch larger than what is in flight)."""


def queue_bottleneck(load: LoadFacts, queue: FullQueue, windows: int) -> Judgement:
    """The queue of the block device lets too few I/Os through."""
    alone = f"{duration(queue.r0_seconds)} with {count(queue.r0_in_flight)} in flight"
    because = (
        f"the queue lets {count(queue.slots)} I/Os through, {count(load.in_flight_measured)} are offered",
        f"below it an I/O takes {duration(queue.below_seconds)}, and {alone}: nothing there is near its limit",
    )
    ceiling = queue.slots / queue.r0_seconds
    bottleneck = Bottleneck(
        entity=queue.entity,
        kind=queue.entity.partition(":")[0],
        layer=queue.layer,
        direction=load.direction,
        ceiling_bytes_per_second=ceiling * load.operation_bytes if load.operation_bytes else None,
        ceiling_ops_per_second=ceiling,
        wait_at=queue.entity,
        explains=min(1.0, max(0.0, 1 - queue.below_seconds / load.latency_seconds)),
        because=because,
        overturn_if=("a deeper queue that does not raise throughput",),
    )
    return Judgement(load, "bottleneck", graded("A", windows), (bottleneck,), because, None, windows)


def serialised(facts: Facts, load: LoadFacts, links: Sequence[FactRow]) -> list[FactRow]:
    """The host's links in use, when they are used one after the other: none is full, together they carry what one
    could, and more load brings nothing. [] when they are not."""
    row = next(iter(facts.tables["load"].select(step=load.step, direction=load.direction)), None)
    if row is None or row["follows_load"] or number(row, "used_links") < 2:
        return []
    if not _ONE_LINK[0] <= number(row, "links_together_ratio") <= _ONE_LINK[1]:
        return []
    return [link for link in links if link["side"] == "host" and number(link, "share") >= _USED]


def path_bottleneck(facts: Facts, load: LoadFacts, used: Sequence[FactRow], windows: int) -> Judgement:
    """The path policy sends a batch down one path, then the next: as many links, the throughput of one."""
    entity = wait_at(facts, load, load.entity)
    parts = " and ".join(percent(number(row, "utilisation")) for row in used)
    because = (
        f"{len(used)} links of the host are busy {parts}: together what one link carries",
        "throughput does not grow with the load: the paths are used one after the other, not side by side",
    )
    bottleneck = Bottleneck(
        entity=entity,
        kind="path_policy",
        layer="host",
        direction=load.direction,
        ceiling_bytes_per_second=load.bytes_per_second,
        ceiling_ops_per_second=load.ops_per_second,
        coincident=tuple(str(row["entity"]) for row in used),
        wait_at=entity,
        because=because,
        overturn_if=("a path policy that changes path after every I/O, at the same IOPS",),
    )
    return Judgement(load, "bottleneck", graded("B", windows), (bottleneck,), because, None, windows)

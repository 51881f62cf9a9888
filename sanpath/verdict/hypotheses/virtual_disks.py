"""A limit of a virtual disk, throttle group or control group is reached, or the thread that serves a disk is full."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.facts.table import FactRow, number
from sanpath.units import counted, percent
from sanpath.verdict.evidence.likelihoods import busy_weight, limit_weight
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Evidence, conclusion_of
from sanpath.verdict.places.table import PlaceTable

_MOST_RATIO = 0.5
"""Share of the load's I/Os that must pass a limit for it to limit the load as a whole."""
_EQUALLY_FULL_RATIO = 0.95
"""Disks reach their limits together from this ratio of the limits' utilisation."""
_SHARED_RATIO = 0.05
"""Share of a group's I/Os from which other users are mentioned."""
_WAKE_UPS = 2.0
"""Times that a thread polls per I/O: before its request, and before its completion."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each limit that most of the load passes, and one for each thread that serves most of it."""
    rows, used = table.rows("virtual_disk"), f"limit_used_ratio_{table.load.direction}"
    limited = [row for row in (*rows, *table.rows("control_group")) if row[used] is not None]
    for row in limited:
        # A load over several disks is held back if all of them have reached their limits.
        as_full = [other for other in limited if number(other, used) >= _EQUALLY_FULL_RATIO * number(row, used)]
        if sum(number(other, "test_ratio") for other in as_full) >= _MOST_RATIO:
            yield _limit(table, row, number(row, used))
    for row in rows:
        if row["io_thread_busy_ratio"] is not None and number(row, "test_ratio") >= _MOST_RATIO:
            yield _thread(table, row)


def _limit(table: PlaceTable, row: FactRow, ratio: float) -> Claim:
    entity = str(row["entity"])
    evidence = (Evidence(f"{percent(ratio)} of its limit of {row['limit']}", limit_weight(ratio)),)
    explains, members = table.indices("host_queue") | table.gaps, number(row, "limit_members")
    shared = f" for {members:.0f} disks together" if members else ""
    because = [f"{entity} has a limit of {row['limit']}{shared}, and it is reached"]
    if (foreign := number(row, "limit_foreign_ratio")) >= _SHARED_RATIO:
        because.append(f"{percent(foreign)} of its I/Os are not the test's")
    if row.get("limit_burst_used"):
        because.append("this is the burst limit: the sustained limit is lower")
    overturn_if = ("the same throughput under another limit",)
    conclude = conclusion_of(table, "host", because, overturn_if, waits_inside=True)
    kind, group = entity.partition(":")[0], "limits of the host"
    return Claim(kind, entity, explains, evidence, conclude, verdict="configured_cap", group=group)


def _thread(table: PlaceTable, row: FactRow) -> Claim:
    """The thread works without a pause, or waits for a processor of the host. It may also poll: see `_weight`."""
    busy, waiting = number(row, "io_thread_busy_ratio"), number(row, "io_thread_wait_ratio")
    words = f"{row['io_thread']} of {row['vm']} uses {percent(busy)} of a core"
    if waiting >= _SHARED_RATIO:
        words += f" and waits for one for {percent(waiting)} of the time"
    disks, machine = number(row, "io_thread_disks"), next(iter(table.machines), None)
    served = f"it serves {row['entity']}" + (f" and {counted(disks - 1, 'other disk')}" if disks > 1 else "")
    overturn_if = ("the same throughput with a second iothread, or with another disk on its own iothread",)
    explains = table.indices("host_queue", "below") | {0}
    evidence = (Evidence(words, _weight(table, row)),)
    conclude = conclusion_of(table, "host", (words, served), overturn_if, waits_inside=True)
    return Claim("io_thread", machine, explains, evidence, conclude, SELDOM)


def _weight(table: PlaceTable, row: FactRow) -> float:
    """Log-likelihood ratio of the thread's utilisation; 0 if polling can explain it. A polling thread uses its core
    whenever the next I/O arrives within its polling time."""
    used = min(1.0, number(row, "io_thread_busy_ratio") + number(row, "io_thread_wait_ratio"))
    weight, wake_ups = busy_weight(used), _WAKE_UPS * table.facts.ops_per_second_in(table.load.step)
    is_known = row["io_thread_poll_seconds"] is not None
    polled = min(1.0, wake_ups * number(row, "io_thread_poll_seconds")) if is_known else 1.0
    return min(weight, (1 - polled) * weight)

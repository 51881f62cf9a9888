"""One core of the host is full while the others idle: it serves the interrupts of an adapter, or a thread of the I/O
path."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.facts.table import number
from sanpath.units import percent
from sanpath.verdict.hypotheses.claim import Claim, Evidence, concluding
from sanpath.verdict.hypotheses.likelihoods import without_pause
from sanpath.verdict.places.table import PlaceTable, machine_rows

_CORE = -1.0
"""Log-odds that a core limits, before it was read: adapters spread their interrupts over several."""
_FULL_CORE = 3.5
"""Largest log-likelihood ratio of a full core: an unrelated thread may fill it, or an engine that polls."""
_OF_THE_LOAD = 0.9
"""From this share of a core on, a process of the load accounts for a full core itself."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each machine of the load, or host of that, that reports its busiest core.

    Completions wait for the core, between the host's last clock and the array's.
    """
    for row in machine_rows(table.facts, table.load):
        if row["busiest_core_ratio"] is None:
            continue
        used, entity = number(row, "busiest_core_ratio"), str(row["entity"])
        words = f"the busiest core of {entity} is at {percent(used)}"
        weight = min(_FULL_CORE, without_pause(used))
        if (table.load.cpu_ratio or 0.0) >= _OF_THE_LOAD:
            weight = min(0.0, weight)
        because = (words, "interrupts of an adapter, or one thread, can fill a core while the others idle")
        overturn_if = ("the same throughput while no core of the host is full",)
        conclude = concluding(table, "host", because, overturn_if, waits_inside=True)
        evidence = (Evidence(words, weight),)
        for index in sorted(table.gaps):
            gap = frozenset({index})
            others = table.gaps - gap
            yield Claim("core", entity, gap, evidence, conclude, _CORE, group="cores", may_explain=others)

"""A single core limits, while the others of its machine are idle."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from typing import cast

from sanpath.facts.table import FactRow, number
from sanpath.units import percent
from sanpath.verdict.evidence.likelihoods import busy_weight
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Evidence, conclusion_of
from sanpath.verdict.hypotheses.processors import ALL_BUSY_IDLE_RATIO, MAX_CORE, background_evidence, waits_for_core
from sanpath.verdict.places.table import PlaceTable

_BY_INTERRUPTS, _USUAL_INTERRUPTS = 0.7, 0.1
"""Share of the limiting full cores that interrupts fill (a thread of the I/O path fills the others), and mean share
of its time that a core spends on interrupts if a program fills it (exponential tail)."""
_MIN_ONE_CORE_WEIGHT = -3.0
"""Smallest log-odds of a single full core as the limit on such a machine."""
_LOAD_CORE_RATIO = 0.9
"""Share of a core from which a process of the load fills the core itself. A process that waits for the core counts
too: then that wait is the limit."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each machine of the load, or its host, that has a full core while the others are idle.

    The core serves the interrupts of an adapter, or a thread of the I/O path. Completions wait for it between the
    host's last clock and the array's. Received data that is not read waits for a core, even if no core is read.
    """
    late = table.indices("host_receive")
    gaps = table.gaps | late
    waits = [Evidence(f"received data waits until the host reads it, {table.wait_words(late)}", 0.0)] if late else []
    for row in table.machine_rows:
        entity, used = str(row["entity"]), cast("float | None", row["busiest_core_ratio"])
        evidence = list(waits)
        if used is not None:
            weight = min(MAX_CORE, busy_weight(used))
            # If all processors are busy, the limit is not a single core.
            idle_ratio = 1 - number(row, "cpu_ratio")
            if weight > 0:
                weight *= min(1.0, 2 * idle_ratio)
                weight += max(_MIN_ONE_CORE_WEIGHT, min(0.0, log(max(idle_ratio, 1e-3) / ALL_BUSY_IDLE_RATIO)))
            kept_from = waits_for_core(table)
            if (table.load.cpu_ratio or 0.0) >= _LOAD_CORE_RATIO or (kept_from[0] > 0 and kept_from[2] == entity):
                weight = min(0.0, weight)
            evidence.insert(0, Evidence(f"the busiest core of {entity} is at {percent(used)}", weight))
            evidence += background_evidence(table, row, "busiest_core_ratio", weight)
            evidence += _interrupt_evidence(row) if weight > 0 else []
        words = (reading.words for reading in evidence)
        because = (*words, "interrupts of an adapter, or one thread, can fill a core while the others idle")
        overturn_if = ("the same throughput while no core of the host is full",)
        conclude = conclusion_of(table, "host", because, overturn_if, waits_inside=True, utilisation=used)
        for index in sorted(late if used is None else gaps):
            gap = frozenset({index})
            yield Claim("core", entity, gap, evidence, conclude, SELDOM, group="cores", may_explain=gaps - gap)


def _interrupt_evidence(row: FactRow) -> list[Evidence]:
    """Evidence from the share of the busiest core's time that interrupts take: if they take little, a program fills
    it."""
    share = cast("float | None", row["busiest_core_interrupt_ratio"])
    if share is None:
        return []
    by_interrupts = 2 * share
    by_program = exp(-share / _USUAL_INTERRUPTS) / _USUAL_INTERRUPTS
    limiting = _BY_INTERRUPTS * by_interrupts + (1 - _BY_INTERRUPTS) * by_program
    words = f"interrupts take {percent(share)} of its busy time"
    return [Evidence(words, min(0.0, log(limiting / by_program)))]

"""Facts of block devices as their operating system sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose

from sanpath.facts.deltas import StepSamples
from sanpath.facts.loads import LoadFacts
from sanpath.facts.table import FactRow, FactTable, number
from sanpath.model import DIRECTIONS
from sanpath.topology.identity import Topology

_SAME = 0.05
"""A block device carries the load's I/O when their rates agree within this."""


def device_of(topology: Topology, load: LoadFacts, luns: FactTable) -> FactRow | None:
    """The block device that carries the load's I/O. None: no source observes it, or several share the I/O."""
    how = {root: "attached_to" if root.startswith("host:") else "targets" for root in load.roots}
    targets = {lun for root in load.roots for lun in topology.related(root, how[root], "lun")}
    for row in luns.select(step=load.step, direction=load.direction):
        if row["entity"] in targets and isclose(number(row, "ops_per_second"), load.ops_per_second, rel_tol=_SAME):
            return row
    return None


def lun_rows(topology: Topology, samples: Sequence[StepSamples]) -> Iterator[FactRow]:
    """One row a device, step and direction with I/O."""
    for sample in samples:
        for direction in DIRECTIONS:
            operations = sample.rate(f"ops_{direction}_total")
            waited = sample.rate(f"latency_seconds_{direction}_total")
            if not operations or waited is None:
                continue
            yield {
                "entity": topology.known_as.get((sample.source, "lun", sample.entity), f"lun:{sample.entity}"),
                "step": sample.step,
                "direction": direction,
                "windows": sample.windows,
                "ops_per_second": operations,
                "latency_seconds": waited / operations,
                "in_flight_measured": waited,
            }

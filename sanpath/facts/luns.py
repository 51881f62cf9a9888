"""Facts of block devices as their operating system sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.facts.deltas import StepSamples
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS
from sanpath.topology.identity import Topology


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

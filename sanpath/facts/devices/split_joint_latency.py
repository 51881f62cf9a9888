"""Splits a joint latency of reads and writes by the clock of the device below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.facts.devices.planes import planes_of
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.table import FactTable, number
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology


def split_by_devices(topology: Topology, loads: Sequence[LoadFacts], planes: FactTable) -> Iterator[LoadFacts]:
    """Yield the loads, those with one mean for both directions with the latencies of their directions.

    A queue above the device treats reads and writes alike: they differ by what the device takes, and wait equally
    long above it. Loads whose device is not read in both directions keep the mean.
    """
    by_direction = {(load.step, load.entity, load.direction): load for load in loads}
    for load in loads:
        others = (by_direction.get((load.step, load.entity, d)) for d in DIRECTIONS if d != load.direction)
        both = [load, *(other for other in others if other is not None)]
        if not load.is_mean_of_both or len(both) < len(DIRECTIONS):
            yield load
            continue
        rows = [row for each in both for row in planes_of(topology, each, planes)[:1]]
        if len(rows) < len(both) or rows[0]["plane"] != rows[1]["plane"]:
            yield load
            continue
        waiting = sum(each.in_flight_measured for each in both) - sum(number(r, "in_flight_measured") for r in rows)
        wait_seconds = max(0.0, waiting) / sum(each.ops_per_second for each in both)
        seconds = number(rows[0], "latency_seconds") + wait_seconds
        yield replace(load, latency_seconds=seconds, in_flight_measured=load.ops_per_second * seconds)

"""The share of a test's area that no host ever wrote: a thin array answers such reads without its media."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.facts.table import FactTable, number
from sanpath.topology.topology import Topology


def unwritten_ratio(
    topology: Topology,
    load: LoadFacts,
    loads: Sequence[LoadFacts],
    tables: Mapping[str, FactTable],
    seconds: Mapping[str, float],
) -> float | None:
    """Return the share of what a load reads that was certainly never written. None: not known.

    Only the area of the largest job counts, because jobs may share an area. Of sequential reads, only as much counts
    as they have read. The data on the volumes may lie outside of that area. An array reports late how much it holds,
    so what the test has written until then counts as well. `loads`: all loads of the recording; `seconds`: step → its
    length, in their order.
    """
    jobs = (topology.entities[job].attributes for job in load.jobs if job in topology.entities)
    areas = [size for attributes in jobs if isinstance(size := attributes.get("working_set_bytes"), int | float)]
    volumes = volumes_of(topology, load, tables)
    rows = tables["volume"].select(step=load.step, direction=load.direction)
    held = [row for row in rows if row["entity"] in volumes and row["written_bytes"] is not None]
    area = max(areas, default=0.0)
    if load.access.random_ratio != 1.0:
        area = min(area, load.bytes_per_second * seconds.get(load.step, 0.0))
    if not volumes or {row["entity"] for row in held} != set(volumes) or not area:
        return None
    steps = list(seconds)
    so_far = set(steps[: steps.index(load.step) + 1]) if load.step in seconds else set(steps)
    writes = (each for each in loads if each.direction == "write" and each.step in so_far)
    by_test = sum(each.bytes_per_second * seconds.get(each.step, 0.0) for each in writes)
    return max(0.0, 1 - (sum(number(row, "written_bytes") for row in held) + by_test) / area)

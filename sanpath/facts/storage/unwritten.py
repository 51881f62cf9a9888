"""The share of a test's area that no host ever wrote: a thin array answers such reads without its media."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import volumes_of
from sanpath.facts.table import FactTable, number
from sanpath.topology.topology import Topology


def unwritten_ratio(topology: Topology, load: LoadFacts, tables: Mapping[str, FactTable]) -> float | None:
    """Return the share of the area of a load's largest job that was certainly never written. None: not known.

    Jobs may share an area, so only the largest counts. What the volumes hold may lie outside of it.
    """
    jobs = (topology.entities[job].attributes for job in load.jobs if job in topology.entities)
    areas = [size for attributes in jobs if isinstance(size := attributes.get("working_set_bytes"), int | float)]
    volumes = volumes_of(topology, load, tables)
    rows = tables["volume"].select(step=load.step, direction=load.direction)
    written = [row for row in rows if row["entity"] in volumes and row["written_bytes"] is not None]
    largest = max(areas, default=0.0)
    if not volumes or {row["entity"] for row in written} != set(volumes) or not largest:
        return None
    return max(0.0, 1 - sum(number(row, "written_bytes") for row in written) / largest)

"""Facts of virtual disks under test: their virtual controller, its queue, and a configured limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.facts.host.under_test import UnderTest, as_number, as_text, both_directions, in_flight
from sanpath.facts.table import FactRow
from sanpath.model import Scalar
from sanpath.topology.identity import Topology

_BUSY = 0.05
"""From this share of the load's I/Os on, a virtual disk is part of the test."""

QUEUES: Mapping[str, tuple[int, int]] = {"pvscsi": (64, 256), "lsi_logic": (32, 128), "lsi_logic_sas": (32, 128)}
"""Default queue depths of a guest's driver: of one disk, and of all disks of a virtual controller together (VMware KB
343323, formerly 2053145)."""


def virtual_disk_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each virtual disk that carries the test and each step."""
    for step in steps:
        for machine in step.machines:
            disks = topology.related(machine, "attached_to", "vdisk")
            for disk in disks:
                samples, attributes = step.samples_of(disk), topology.entities[disk].attributes
                operations = both_directions(samples, "ops")
                if operations is None or operations < _BUSY * step.load.ops_per_second:
                    continue
                kind, controller = as_text(attributes.get("controller_type")), attributes.get("controller")
                queue, shared = QUEUES.get(kind or "", (None, None))
                flying = in_flight(samples)
                limit = as_number(attributes.get("limit_ops_per_second"))
                adapter_in_flight = _adapter_in_flight(topology, step, disks, controller)
                yield {
                    "entity": disk,
                    "step": step.load.step,
                    "direction": step.load.direction,
                    "windows": min(sample.windows for sample in samples),
                    "vm": topology.entities[machine].label,
                    "controller_type": kind,
                    "controller": as_text(controller),
                    "queue_depth": None if queue is None else float(queue),
                    "in_flight": flying,
                    "queue_filled_ratio": flying / queue if flying is not None and queue else None,
                    "adapter_in_flight": adapter_in_flight,
                    "adapter_filled_ratio": adapter_in_flight / shared
                    if adapter_in_flight is not None and shared
                    else None,
                    "ops_per_second": operations,
                    "limit_ops_per_second": limit if limit is not None or kind is None else 0.0,
                    "busiest_utilisation": step.busiest_utilisation,
                }


def _adapter_in_flight(topology: Topology, step: UnderTest, disks: Sequence[str], controller: Scalar) -> float | None:
    """Return the I/Os in flight of all disks of a virtual controller.

    None: the controller, or a disk's I/Os, not known."""
    if controller is None:
        return None
    controller_disks = [disk for disk in disks if topology.entities[disk].attributes.get("controller") == controller]
    flying = [in_flight(step.samples_of(disk)) for disk in controller_disks]
    return None if None in flying else sum(value or 0.0 for value in flying)

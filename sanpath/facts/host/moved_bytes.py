"""The bytes that a load makes its machine move: more than its own where a thin pool, a snapshot, a mirror, parity, a
file system or read-ahead is below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sanpath.facts.host.tested_machines import UnderTest, rate, without_paths
from sanpath.facts.load.loads import LoadFacts
from sanpath.model import DIRECTIONS
from sanpath.topology.paths import machines_of
from sanpath.topology.topology import Topology

_CLEARLY_MORE = 1.2
"""Ratio of the devices' bytes to the load's from which they are more: each is counted in its own windows. sanpath's
own choice, as for the devices of a load."""

_ByDirection = dict[tuple[str, str], float]
"""(step, direction) → bytes a second."""


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """What the block devices of the load's machines move: those `under_test`, where all of them were read, and those
    `besides`, for other programs."""

    under_test: _ByDirection = field(default_factory=dict)
    besides: _ByDirection = field(default_factory=dict)

    def of_all(self, step: str, direction: str) -> float | None:
        """Bytes a second of all of these devices. None: those under test were not read."""
        own = self.under_test.get((step, direction))
        return None if own is None else own + self.besides.get((step, direction), 0.0)


def moved_bytes(topology: Topology, tested: Sequence[UnderTest]) -> MovedBytes:
    """Return what the lowest block devices of the load's machines move.

    Other programs of the machine on the devices under test count with the load: nothing tells them apart. A guest is
    left out, since other guests share the devices of its hypervisor. So are local drives beside those under test.
    """
    found = MovedBytes({}, {})
    for step in tested:
        machines = {machine for load in step.loads for root in load.roots for machine in machines_of(topology, root)}
        lowest = _lowest(topology, step.devices)
        if not lowest or any(not machine.startswith("host:") for machine in machines):
            continue
        if machines != {machine for lun in lowest for machine in topology.related(lun, "attached_to", "host")}:
            continue
        on_machines = [lun for machine in sorted(machines) for lun in topology.related(machine, "attached_to", "lun")]
        others = [lun for lun in _lowest(topology, without_paths(topology, on_machines)) if lun not in step.devices]
        others = [lun for lun in others if not topology.entities[lun].attributes.get("local")]
        for direction in DIRECTIONS:
            counted, besides = (
                [rate(step.samples_of(lun), f"bytes_{direction}_total") for lun in luns] for luns in (lowest, others)
            )
            if None not in counted:
                found.under_test[step.load.step, direction] = sum(each or 0.0 for each in counted)
                found.besides[step.load.step, direction] = sum(each or 0.0 for each in besides)
    return found


def sent_bytes(moved: MovedBytes, load: LoadFacts) -> float:
    """Return the bytes a second that leave a load's machines for it: what their devices move, where that is clearly
    more than its own."""
    of_devices = moved.under_test.get((load.step, load.direction), 0.0)
    return of_devices if of_devices >= _CLEARLY_MORE * load.bytes_per_second else load.bytes_per_second


def _lowest(topology: Topology, devices: Sequence[str]) -> list[str]:
    """Return the devices without parts among the others."""
    return [device for device in devices if set(devices).isdisjoint(topology.members(device, "lun"))]

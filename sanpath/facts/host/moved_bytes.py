"""The bytes that a load makes its machine move: more than its own where a thin pool, a snapshot, a mirror, parity, a
file system or read-ahead is below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.facts.host.tested_machines import UnderTest, rate
from sanpath.topology.paths import machines_of
from sanpath.topology.topology import Topology

_CLEARLY_MORE = 1.2
"""Ratio of the devices' bytes to the load's from which they are more: each is counted in its own windows. sanpath's
own choice, as for the devices of a load."""

MovedBytes = Mapping[tuple[str, str], float]
"""(step, direction) → bytes a second that leave the load's machines for it, where they are clearly more than its
own."""


def moved_bytes(topology: Topology, tested: Sequence[UnderTest]) -> MovedBytes:
    """Return what the lowest block devices under test move, in the steps in which all of them were read.

    Other programs of the machine on these devices count as well: nothing tells them apart. A guest is left out, since
    other guests share the devices of its hypervisor.
    """
    result: dict[tuple[str, str], float] = {}
    for step in tested:
        machines = {machine for load in step.loads for root in load.roots for machine in machines_of(topology, root)}
        lowest = _lowest(topology, step.devices)
        if not lowest or any(not machine.startswith("host:") for machine in machines):
            continue
        if machines != {machine for lun in lowest for machine in topology.related(lun, "attached_to", "host")}:
            continue
        for load in step.loads:
            counted = [rate(step.samples_of(lun), f"bytes_{load.direction}_total") for lun in lowest]
            total = sum(each or 0.0 for each in counted)
            if None not in counted and total >= _CLEARLY_MORE * load.bytes_per_second:
                result[load.step, load.direction] = total
    return result


def _lowest(topology: Topology, devices: Sequence[str]) -> list[str]:
    """Return the devices without parts among the others."""
    return [device for device in devices if set(devices).isdisjoint(topology.members(device, "lun"))]

"""The block devices that loads may access, in all layers of their machines."""

from __future__ import annotations

from sanpath.topology.keys import Local
from sanpath.topology.paths import luns_of, machine_luns
from sanpath.topology.topology import Topology


def tested_devices(topology: Topology) -> dict[Local, str]:
    """Return (source, kind, its own id) → block device, of those that the loads name, or else of those of their
    machines, with the devices below and above them. Without a load generator, of all."""
    loads = [load.id for load in topology.of_kind("load")]
    level = {lun for load in loads for lun in luns_of(topology, load)} or machine_luns(topology, *loads)
    found: set[str] = set()
    while level:
        found |= level
        level = {
            other for lun in level for other in (*topology.members(lun, "lun"), *topology.uppers(lun, "lun"))
        } - found
    return {
        local: device
        for local, device in topology.known_as.items()
        if local[1] == "lun" and (device in found or not loads)
    }

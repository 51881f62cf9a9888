"""The block devices that loads may access, in all layers of their machines."""

from __future__ import annotations

from sanpath.topology.keys import Local
from sanpath.topology.paths import luns_of, machine_luns
from sanpath.topology.topology import Topology


def devices_under_test(topology: Topology) -> dict[Local, str]:
    """Return (source, kind, its own id) → block device, of those that the loads name, or else of those of their
    machines, with the devices below and above them. Without a load generator, of all."""
    loads = [load.id for load in topology.of_kind("load")]
    accessed = {lun for load in loads for lun in luns_of(topology, load)} or machine_luns(topology, *loads)
    # A device above one of these lower devices may be somebody else's.
    found = {*topology.with_all_members(accessed, "lun"), *topology.with_all_uppers(accessed, "lun")}
    return {
        local: device
        for local, device in topology.known_as.items()
        if local[1] == "lun" and (device in found or not loads)
    }

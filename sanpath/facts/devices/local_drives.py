"""The drives below block devices that are known to be local to their host: no array and no network is behind them."""

from __future__ import annotations

from collections.abc import Iterable

from sanpath.topology.topology import Topology


def local_drives(topology: Topology, devices: Iterable[str]) -> list[str]:
    """Return what devices are made of in the end, whatever is stacked: md, logical volumes, virtual disks.

    Empty: one of these parts is not known to be local."""
    known: dict[str, list[str]] = {}
    below = [_below(topology, device, False, known) for device in sorted(devices)]
    return list(dict.fromkeys(drive for each in below for drive in each)) if all(below) else []


def _below(topology: Topology, device: str, in_local: bool, known: dict[str, list[str]]) -> list[str]:
    """Return the local drives of one device. The parts of what is local are local; a device over several paths is one
    drive. `in_local`: the device is such a part. `known`: device → its drives, of those that were seen before."""
    if device in known:
        return known[device]
    known[device] = []
    about = topology.entities[device].attributes
    is_local = in_local if about.get("local") is None else about["local"] is True
    parts = [*topology.members(device, "lun"), *sorted(topology.behind([device], "lun") - {device})]
    below = [_below(topology, part, is_local, known) for part in parts]
    if about.get("local") is not False and (all(below) if parts else is_local):
        is_drive = not parts or about.get("paths") is not None
        known[device] = [device] if is_drive else list(dict.fromkeys(drive for each in below for drive in each))
    return known[device]

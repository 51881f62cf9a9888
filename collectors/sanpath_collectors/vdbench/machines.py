"""The machines and block devices that the runs of a parameter file use, as entities and links.

hd=h1,system=db1.example.com
sd=sd1,lun=/dev/sdb
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address

from sanpath.plugin import SourceEntity, SourceLink

Machines = Mapping[str, Sequence[str]]
"""Name of a machine, "" for a single machine without a name → the LUNs that it uses."""

_DISK = re.compile(r"/dev/((?:sd|hd|vd|xvd)[a-z]+|nvme\d+n\d+|dasd[a-z]+)(?:p?\d+)?", re.ASCII)
_OTHER = re.compile(r"/dev/((?:dm-|md|rbd|nbd|drbd|pmem)\d+)", re.ASCII)
_WINDOWS = re.compile(r"\\\\\.\\PhysicalDrive(\d+)", re.ASCII | re.IGNORECASE)
_MAX_DEVICES = 4096
"""Largest number of devices in a file, so that no file fills the memory. Larger tests do not exist."""


def device_of_lun(lun: str) -> str:
    """Return the name of a LUN's block device, or of a partition's disk, as counters name it. "": not known.

    >>> luns = ("/dev/sdb1", "/dev/nvme0n1p2", r"\\\\.\\PhysicalDrive3", "/dev/mapper/mpatha")
    >>> [device_of_lun(lun) for lun in luns]
    ['sdb', 'nvme0n1', 'PhysicalDisk3', '']
    """
    if match := _DISK.fullmatch(lun) or _OTHER.fullmatch(lun):
        return match[1]
    return f"PhysicalDisk{match[1]}" if (match := _WINDOWS.fullmatch(lun)) else ""


def is_machine_name(system: str) -> bool:
    """Return whether a system is given by a machine's name, not by an address or as the local machine."""
    try:
        ip_address(system)
    except ValueError:
        return system not in ("", "localhost")
    return False


def machine_items(load: str, runs: Mapping[str, Machines]) -> Iterator[SourceEntity | SourceLink]:
    """Yield the machines and devices of a load. `runs`: local id of a run's load → its machines.

    A load on several machines has a part on each machine, without counters of its own. Devices are yielded only if
    all of them are known.
    """
    pairs = {
        (machine, lun) for run_machines in runs.values() for machine, luns in run_machines.items() for lun in luns
    }
    devices = dict.fromkeys((machine, device_of_lun(lun)) for machine, lun in sorted(pairs))
    are_known = all(name for _, name in devices) and len(devices) <= _MAX_DEVICES
    machines = dict.fromkeys(machine for run_machines in runs.values() for machine in run_machines if machine)
    for machine in machines:
        yield SourceEntity("host", machine, machine, {"name": (machine,)})
    if len(machines) == 1:
        yield SourceLink("runs_on", ("load", load), ("host", next(iter(machines))), "system= in parmfile.html")
    for run, run_machines in runs.items() if len(machines) > 1 else ():
        for machine in filter(None, run_machines):
            part = f"{run}/{machine}"
            yield SourceEntity("load", part, part, {"name": (part,)})
            yield SourceLink("member_of", ("load", part), ("load", load), "hd= in parmfile.html")
            yield SourceLink("runs_on", ("load", part), ("host", machine), "system= in parmfile.html")
    for machine, name in devices if are_known else ():
        lun = f"{machine}/{name}" if machine else name
        yield SourceEntity("lun", lun, lun, {"device": (name,)})
        yield SourceLink("targets", ("load", load), ("lun", lun), "lun= in parmfile.html")
        if machine:
            yield SourceLink("attached_to", ("lun", lun), ("host", machine), "host= in parmfile.html")

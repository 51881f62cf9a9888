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
"""System name of a machine, "" for the only one, without a name → the LUNs that it uses."""

_DISK = re.compile(r"/dev/((?:sd|hd|vd|xvd)[a-z]+|nvme\d+n\d+|dasd[a-z]+)(?:p?\d+)?", re.ASCII)
_OTHER = re.compile(r"/dev/((?:dm-|md|rbd|nbd|drbd|pmem)\d+)", re.ASCII)
_WINDOWS = re.compile(r"\\\\\.\\PhysicalDrive(\d+)", re.ASCII | re.IGNORECASE)
_MOST_DEVICES = 4096
"""Limit of the devices of a file, so that no file fills the memory: larger tests do not exist."""


def device(lun: str) -> str:
    """Return the block device of a LUN as counters name it, that of a partition, too; "": not known.

    >>> device("/dev/sdb1"), device("/dev/nvme0n1p2"), device(r"\\\\.\\PhysicalDrive3"), device("/dev/mapper/mpatha")
    ('sdb', 'nvme0n1', 'PhysicalDisk3', '')
    """
    if match := _DISK.fullmatch(lun) or _OTHER.fullmatch(lun):
        return match[1]
    return f"PhysicalDisk{match[1]}" if (match := _WINDOWS.fullmatch(lun)) else ""


def is_name(system: str) -> bool:
    """Return whether a system is given by the name of a machine: not by an address, and not as the one that vdbench
    was started on."""
    try:
        ip_address(system)
    except ValueError:
        return system not in ("", "localhost")
    return False


def items(load: str, runs: Mapping[str, Machines]) -> Iterator[SourceEntity | SourceLink]:
    """Yield the machines and devices of a load. `runs`: local id of a run's load → its machines.

    A load on several machines has a part on each, of which nothing is counted. Devices are named only if all are
    known: none of those that are not named is taken for the load's."""
    pairs = {(machine, lun) for of_run in runs.values() for machine, luns in of_run.items() for lun in luns}
    devices = dict.fromkeys((machine, device(lun)) for machine, lun in sorted(pairs))
    are_known = all(name for _, name in devices) and len(devices) <= _MOST_DEVICES
    machines = dict.fromkeys(machine for of_run in runs.values() for machine in of_run if machine)
    for machine in machines:
        yield SourceEntity("host", machine, machine, {"name": (machine,)})
    if len(machines) == 1:
        yield SourceLink("runs_on", ("load", load), ("host", next(iter(machines))), "system= in parmfile.html")
    for run, of_run in runs.items() if len(machines) > 1 else ():
        for machine in filter(None, of_run):
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

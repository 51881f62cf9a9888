"""A virtual machine and its disks, in one model for QMP and libvirt. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MAIN_LOOP = "main loop"
"""The thread of QEMU that serves the disks without an iothread."""

_USER = re.compile(r"(?<=//)[^/@]*@")


@dataclass(frozen=True, slots=True)
class Disk:
    """A virtual disk. "" and None: not reported.

    `name`: its name for people in this machine; `key`: its name in the statistics. `threads`: names of the threads
    that serve it. `limits`: attribute → configured limit; of the throttle group `group` if it is in one. `path`: the
    file or device on the host, `image`: pool and name of an RBD image, `backing`: the place of the data, in words.
    """

    name: str
    key: str
    controller_type: str = ""
    controller: str = ""
    serial: str = ""
    naa: str = ""
    size_bytes: int | None = None
    format: str = ""
    backing: str = ""
    path: str = ""
    image: str = ""
    cache: str = ""
    aio: str = ""
    threads: tuple[str, ...] = ()
    queues: int | None = None
    queue_size: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    group: str = ""
    is_export: bool = False
    """Whether it is an export of a storage daemon, for which QEMU keeps no statistics."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of QEMU. `number`: its id in the kernel, None: unknown. `poll_max_ns`: how long it may poll."""

    number: int | None
    poll_max_ns: int | None = None


@dataclass(slots=True)
class VirtualMachine:
    """A running virtual machine, or a storage daemon. `threads`: name → thread. `vcpus`: None: not reported.

    `socket`: its QMP socket, "" if libvirt reports it.
    """

    name: str
    disks: list[Disk]
    threads: dict[str, Thread] = field(default_factory=dict)
    version: str = ""
    vcpus: int | None = None
    socket: str = ""

    def shared_groups(self) -> dict[str, list[Disk]]:
        """Return throttle group → its disks, for groups that several disks share."""
        groups: dict[str, list[Disk]] = {}
        for disk in self.disks:
            if disk.group:
                groups.setdefault(disk.group, []).append(disk)
        return {name: disks for name, disks in groups.items() if len(disks) > 1}


LIMITS = (
    "ops_per_second",
    "ops_per_second_read",
    "ops_per_second_write",
    "bytes_per_second",
    "bytes_per_second_read",
    "bytes_per_second_write",
)
"""The scope of a limit: both directions together, reads, writes."""


def limit_names(limits: Sequence[str], operation_size: str, separator: str) -> dict[str, str]:
    """Return a source's names of limits → their attributes.

    `limits`: its names in the order of `LIMITS`, to which it adds "max" and "max length" with a separator for bursts.
    `operation_size`: its name of the size above which an I/O counts as several.

    >>> limit_names(("iops", "iops_rd", "iops_wr", "bps", "bps_rd", "bps_wr"), "iops_size", "_")["bps_rd_max"]
    'limit_burst_bytes_per_second_read'
    """
    names = {operation_size: "limit_operation_bytes"}
    for name, limit in zip(limits, LIMITS, strict=True):
        names[name] = f"limit_{limit}"
        names[f"{name}{separator}max"] = f"limit_burst_{limit}"
        names[f"{name}{separator}max{separator}length"] = f"limit_burst_seconds_{limit}"
    return names


def limits(values: Mapping[str, object], names: Mapping[str, str]) -> dict[str, int]:
    """Return attribute → limit, for the limits that are set: 0 means none in every source.

    The length of a burst is left out if no burst is allowed: every source has a default for it.
    """
    found = {
        attribute: value
        for name, attribute in names.items()
        if isinstance(value := values.get(name), int) and not isinstance(value, bool) and value > 0
    }
    return {
        attribute: value for attribute, value in found.items() if attribute.replace("burst_seconds", "burst") in found
    }


def without_account(url: str) -> str:
    """Return a URL without its account and password.

    >>> without_account("iscsi://user%secret@10.0.0.1/iqn.2026-01.lab:t/0")
    'iscsi://10.0.0.1/iqn.2026-01.lab:t/0'
    """
    return _USER.sub("", url)

"""The entities and links of virtual machines on one host. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.linux_host.parse import disk_of
from sanpath_collectors.qemu.model import Disk, VirtualMachine


def items(
    host: str, machines: Sequence[VirtualMachine], devices: Mapping[str, str], os: str
) -> Iterator[SourceEntity | SourceLink]:
    """Yield the host, its machines, their disks and throttle groups, and the block devices below them.

    `devices`: path of a disk's data → the block device on the host. `os`: of the host.
    """
    yield SourceEntity("host", host, host, {"name": (host,)}, {"os": os or None})
    for machine in machines:
        attributes = {"hypervisor": "QEMU", "qemu_version": machine.version or None, "vcpus": machine.vcpus}
        yield SourceEntity("vm", machine.name, machine.name, {"name": (machine.name,)}, attributes)
        yield SourceLink("runs_on", ("vm", machine.name), ("host", host), "a QEMU process of the host")
        for disk in machine.disks:
            yield from _disk(host, machine, disk, devices)
        yield from _groups(machine)


def local_id(machine: str, disk: str) -> str:
    """Return the local id of a disk.

    >>> local_id("db1", "virtio0")
    'db1/virtio0'
    """
    return f"{machine}/{disk}"


def block_device(device: str, names: Sequence[str]) -> str:
    """Return the kernel's name of the disk with a path below /dev; "": not a disk. `names`: the kernel's names.

    >>> block_device("/dev/sda3", ["sda", "sda3"]), block_device("tmpfs", ["sda"])
    ('sda', '')
    """
    name = device.removeprefix("/dev/")
    return disk_of(name, names) if device.startswith("/dev/") and name in names else ""


def _disk(
    host: str, machine: VirtualMachine, disk: Disk, devices: Mapping[str, str]
) -> Iterator[SourceEntity | SourceLink]:
    entity = local_id(machine.name, disk.name)
    shared = disk.group in machine.shared_groups()
    poll_ns = [thread.poll_max_ns for name in disk.threads if (thread := machine.threads.get(name)) is not None]
    attributes: dict[str, Scalar] = {
        "controller_type": disk.controller_type,
        "controller": disk.controller,
        "serial": disk.serial,
        "naa": f"naa.{disk.naa}" if disk.naa else "",
        "size_bytes": disk.size_bytes,
        "format": disk.format,
        "backing": disk.backing,
        "cache": disk.cache,
        "aio": disk.aio,
        "io_thread": ", ".join(disk.threads),
        "io_threads": len(disk.threads),
        "io_thread_poll_max_ns": next((value for value in poll_ns if value is not None), None),
        "vcpus": machine.vcpus,
        "queues": disk.queues,
        "queue_size": disk.queue_size,
        "throttle_group": disk.group,
        **({} if shared else disk.limits),
    }
    yield SourceEntity(
        "vdisk", entity, entity, {"name": (entity,)}, {key: v for key, v in attributes.items() if v not in ("", None)}
    )
    yield SourceLink("attached_to", ("vdisk", entity), ("vm", machine.name), "a device of the machine")
    if device := devices.get(disk.path):
        evidence = "its data" if disk.path.startswith("/dev/") else "the file system with its data"
        yield SourceLink("backed_by", ("vdisk", entity), ("lun", f"{host}/{device}"), evidence)
    if disk.image:
        yield SourceLink("backed_by", ("vdisk", entity), ("rbd", disk.image), "RBD image")


def _groups(machine: VirtualMachine) -> Iterator[SourceEntity | SourceLink]:
    """Yield the throttle groups that several disks share, each as a virtual disk with these disks as members."""
    for name, disks in machine.shared_groups().items():
        entity = local_id(machine.name, f"group:{name}")
        limits = next((disk.limits for disk in disks if disk.limits), {})
        attributes: dict[str, Scalar] = {"kind": "throttle group", "disks": len(disks), **limits}
        yield SourceEntity("vdisk", entity, entity, {"name": (entity,)}, attributes)
        for disk in disks:
            member = ("vdisk", local_id(machine.name, disk.name))
            yield SourceLink("member_of", member, ("vdisk", entity), "throttle group")

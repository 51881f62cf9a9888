"""QEMU and KVM: virtual machines, their disks, throttle groups and iothreads, from QMP or libvirt."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.qemu.config import QemuConfig
from sanpath_collectors.qemu.tables import VDISK

COLLECTOR = Spec(
    name="qemu",
    title="QEMU and KVM: Proxmox, libvirt, KubeVirt, Harvester",
    config=QemuConfig,
    collector="sanpath_collectors.qemu.collector:Qemu",
    tables=(VDISK,),
    rights=(
        Right(
            "Over SSH: an account with a shell",
            "everything below",
            "nothing is read",
        ),
        Right(
            "libvirt: its read-only socket, which every local account may open by default",
            "disks, limits, iothreads and counters of the machines that libvirt runs",
            "nothing is read of them",
        ),
        Right(
            "QMP: opening the monitor's socket; root on Proxmox",
            "disks, limits, iothreads and counters of machines without libvirt",
            "nothing is read of them",
        ),
        Right(
            "Reading /proc, as every user can outside of a container unless hidepid is set",
            "how busy the threads are that serve the disks",
            "whether an iothread limits is unknown",
        ),
    ),
)

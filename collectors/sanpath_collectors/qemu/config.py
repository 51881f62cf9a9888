"""The configuration of a host of virtual machines."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sanpath_collectors.linux_host.config import MachineConfig


class QemuConfig(MachineConfig):
    """A host that runs QEMU: this machine, or one over SSH if it has an address."""

    host: str | None = Field(
        default=None,
        min_length=1,
        description="name of this host, as in the topology; default: its host name unless that is localhost",
    )
    machines: list[str] | None = Field(
        default=None, min_length=1, description="virtual machines to read; default: all that run", examples=[["db1"]]
    )
    interface: Literal["libvirt", "qmp"] | None = Field(
        default=None,
        description="what to read: libvirt (virsh), or QEMU's own monitors; default: libvirt if it runs machines",
    )
    virsh: list[str] = Field(
        default=["virsh", "--readonly"],
        min_length=1,
        description="the command in front of domstats and dumpxml; with a connection URI, or kubectl exec, if needed",
    )
    monitors: list[str] = Field(
        default=["/run/qemu-server/*.qmp"],
        min_length=1,
        description=(
            "QMP sockets, with wildcards; those in QEMU's command lines are found anyway. Default: Proxmox's"
        ),
    )
    sudo: bool = Field(default=False, description="put `sudo -n` before virsh")

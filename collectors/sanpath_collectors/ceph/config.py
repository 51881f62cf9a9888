"""The configuration of a Ceph cluster."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from sanpath.plugin import SSH_EXTRA, Extra, SshTarget
from sanpath_collectors.linux_host.config import MachineConfig


class CephConfig(MachineConfig):
    """A cluster: this machine, or one over SSH if it has an address, and further hosts."""

    hosts: list[str] = Field(
        default=[],
        description="addresses of further hosts that have OSDs, read over SSH with the same account",
        examples=[["ceph2.example.com", "ceph3.example.com"]],
    )
    sockets: list[str] = Field(
        default=[
            "/var/run/ceph/*osd.*.asok",
            "/var/run/ceph/*/*osd.*.asok",
            "/var/lib/rook/exporter/*osd.*.asok",
        ],
        min_length=1,
        description="admin sockets of OSDs, with wildcards; default: those of packages and Proxmox, cephadm, Rook",
    )
    ceph: list[str] = Field(
        default=["ceph"],
        min_length=1,
        description="the command in front of status and osd; with --id, or kubectl exec, if needed",
    )
    rbd: list[str] = Field(
        default=["rbd"], min_length=1, description="the command in front of ls and config; as for ceph"
    )
    images: list[str] | None = Field(
        default=None,
        min_length=1,
        description="images whose limits are read, as pool/image; default: all, of at most 16",
        examples=[["rbd/vol1"]],
    )
    image_counters: bool = Field(
        default=False,
        description=(
            "read the counters of single images in every poll, for a cluster that others use as well; "
            "with every_seconds: 5 or more, as ceph runs once a poll"
        ),
    )
    sudo: bool = Field(default=False, description="put `sudo -n` before ceph and rbd")

    @property
    def extras(self) -> tuple[Extra, ...]:
        """SSH, unless only this machine is read."""
        return (SSH_EXTRA,) if self.hosts or self.address is not None else ()

    def machines(self) -> list[SshTarget | None]:
        """The login to each host; None: this machine."""
        first = self.ssh()
        further = SshTarget("") if first is None else first
        return [first, *(replace(further, host=host) for host in self.hosts)]

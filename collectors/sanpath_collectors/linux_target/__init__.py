"""A Linux storage server as an array: its target ports, the volumes that it presents, and their backing devices."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.linux_host.config import SSH_RIGHT
from sanpath_collectors.linux_target.config import LinuxTargetConfig
from sanpath_collectors.linux_target.tables import ARRAY, ARRAY_PORT, CONTROLLER, TCP_CONNECTION, VOLUME

COLLECTOR = Spec(
    name="linux_target",
    title="A Linux storage server: LIO, nvmet, NBD (nbdkit, QEMU), ZFS volumes",
    config=LinuxTargetConfig,
    collector="sanpath_collectors.linux_target.collector:LinuxTarget",
    tables=(ARRAY, VOLUME, ARRAY_PORT, CONTROLLER, TCP_CONNECTION),
    rights=(
        SSH_RIGHT,
        Right(
            "Reading /proc and /sys, as every user can outside of a container",
            "counters of the backing devices and of the ports",
            "how long the devices take, and whether a port is full, are unknown",
        ),
        Right(
            "Reading /sys/kernel/config, as every user can where it is mounted",
            "targets, portals, LUNs and namespaces of LIO and nvmet",
            "what the server presents through them is unknown",
        ),
        Right(
            "Seeing the processes of nbdkit and QEMU's servers in /proc, as every user can unless hidepid is set",
            "exports by NBD",
            "what the server presents through it is unknown",
        ),
        Right(
            "Running ss of iproute2, as every user can",
            "round trips, windows and retransmissions of the TCP connections of its initiators",
            "distance, loss, full TCP windows and a slow target are told apart by other readings alone",
        ),
    ),
)

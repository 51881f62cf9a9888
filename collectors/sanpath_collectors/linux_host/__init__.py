"""A Linux host, this machine or one over SSH: its block devices and their paths, its ports and its processors."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.linux_host.config import SSH_RIGHT, LinuxHostConfig
from sanpath_collectors.linux_host.tables import CGROUP, HBA, HOST, LUN, PATH, TCP_CONNECTION

COLLECTOR = Spec(
    name="linux_host",
    title="A Linux host, this one or over SSH",
    config=LinuxHostConfig,
    collector="sanpath_collectors.linux_host.collector:LinuxHost",
    tables=(LUN, HOST, HBA, PATH, TCP_CONNECTION, CGROUP),
    rights=(
        SSH_RIGHT,
        Right(
            "Reading /proc and /sys, as every user can outside of a container",
            "counters, identifiers and settings of the block devices, their paths and the ports",
            "block devices cannot be joined to the volumes of an array",
        ),
        Right(
            "Running dmsetup (root) or multipathd show (root, of newer versions every user), or both with sudo",
            "policy and path groups of multipath maps, and the paths that multipath has given up",
            "the policy is unknown, and a path counts as good as long as its device works",
        ),
        Right(
            "Reading /etc/iscsi/initiatorname.iscsi (root) on an iSCSI initiator without a session",
            "the host's name towards arrays",
            "the host is joined to the array's entry for it by its other names or by the configuration",
        ),
        Right(
            "Running ss of iproute2, as every user can",
            "round trips, windows and retransmissions of the TCP connections to iSCSI, NVMe/TCP and NBD targets",
            "distance, loss, full TCP windows and a slow target are told apart by other readings alone",
        ),
        Right(
            "Seeing the load's processes in /proc, as every user can unless hidepid is set; reading /sys/fs/cgroup",
            "limits and CPU quotas of the control groups that the load runs in",
            "I/Os that such a limit or quota holds wait above the block device for an unknown reason",
        ),
    ),
)

"""The Linux host that sanpath runs on: its block devices and Fibre Channel ports, from /proc and /sys."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.linux_block.config import LinuxBlockConfig
from sanpath_collectors.linux_block.tables import LUN

COLLECTOR = Spec(
    name="linux_block",
    title="This Linux host's block devices (/proc/diskstats, /sys)",
    config=LinuxBlockConfig,
    collector="sanpath_collectors.linux_block.collector:LinuxBlock",
    tables=(LUN,),
    rights=(
        Right(
            "Reading /proc and /sys, as every user can outside of a container",
            "counters, identifiers and settings of the block devices",
            "block devices cannot be joined to the volumes of an array",
        ),
        Right(
            "Reading /etc/iscsi/initiatorname.iscsi (root) on an iSCSI initiator",
            "the host's name towards arrays",
            "the host is joined to an array's by its other names or by the configuration",
        ),
    ),
)

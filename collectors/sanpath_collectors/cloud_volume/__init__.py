"""Volumes of clouds: what instance and volume types allow, and how long an Amazon volume was held at its limits."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.cloud_volume.config import CloudVolumeConfig
from sanpath_collectors.cloud_volume.tables import VOLUME
from sanpath_collectors.linux_host.config import SSH_RIGHT

COLLECTOR = Spec(
    name="cloud_volume",
    title="Volumes of clouds, from inside an instance: Amazon EBS and instance store, Azure disks, Google disks",
    config=CloudVolumeConfig,
    collector="sanpath_collectors.cloud_volume.collector:CloudVolume",
    tables=(VOLUME,),
    rights=(
        SSH_RIGHT,
        Right(
            "Reading /proc and /sys, as every user can outside of a container",
            "which volumes there are, the type of an Amazon instance, throughput",
            "nothing is read",
        ),
        Right(
            "Running nvme get-log (root, or with sudo), Amazon only; nvme-cli has to be installed",
            "how long volume and instance held I/O back, latency at the volume",
            "limits are known only from the configured types, and latency at the volume is unknown",
        ),
    ),
)

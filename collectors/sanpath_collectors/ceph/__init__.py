"""Ceph: OSDs, images and recovery of a cluster, from the daemons' admin sockets and the ceph and rbd programs."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.ceph.config import CephConfig
from sanpath_collectors.ceph.tables import ARRAY, CLUSTER, HOST, OSD, VOLUME

COLLECTOR = Spec(
    name="ceph",
    title="Ceph: RBD images and the OSDs behind them; also under Proxmox and Rook",
    config=CephConfig,
    collector="sanpath_collectors.ceph.collector:Ceph",
    tables=(ARRAY, VOLUME, OSD, HOST, CLUSTER),
    rights=(
        Right(
            "Opening the OSDs' admin sockets: root, or a member of the group ceph where the sockets allow it",
            "throughput, queue and service times of the cluster and of each OSD, and recovery",
            "nothing is read",
        ),
        Right(
            "Over SSH: an account with a shell on each host that has OSDs",
            "the OSDs of other hosts",
            "the cluster's sums are unknown; only the OSDs that are read are compared",
        ),
        Right(
            "Running ceph and rbd with a keyring: caps mon 'allow r', osd 'profile rbd-read-only', mgr 'allow r'",
            "health, the list of OSDs, pools, images and their QoS limits",
            "a test is not joined to its image, a limit of an image is not seen, missing OSDs are not noticed",
        ),
        Right(
            "Reading /proc, as every user can outside of a container",
            "TCP of the hosts, how busy the OSDs' threads are",
            "whether processors limit is unknown",
        ),
    ),
)

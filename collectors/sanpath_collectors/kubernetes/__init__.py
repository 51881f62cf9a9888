"""Kubernetes: the pod of a load, its claims, and the LUNs, RBD images or cloud volumes behind them."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.kubernetes.config import KubernetesConfig

COLLECTOR = Spec(
    name="kubernetes",
    title="Kubernetes: pods, claims and persistent volumes",
    config=KubernetesConfig,
    collector="sanpath_collectors.kubernetes.collector:Kubernetes",
    tables=(),
    cadence_seconds=30.0,
    rights=(
        Right(
            "list pods and get persistentvolumeclaims, in the namespace of each pod of a load",
            "the node, the claims and the CPU and memory limits of a pod",
            "nothing is read",
        ),
        Right(
            "get persistentvolumes",
            "the LUN, image or cloud volume behind a claim",
            "a load in a pod is followed to its node only",
        ),
        Right(
            "get volumeattachments (storage.k8s.io)",
            "identifiers that a driver reports only when it attaches a volume: NetApp Trident, Dell PowerStore",
            "volumes of these drivers are joined to no LUN",
        ),
        Right(
            "get nodes",
            "the host name, kernel and instance type of a node",
            "a node has its name in Kubernetes, and the limits of a cloud instance are unknown",
        ),
        Right(
            "get storageclasses and volumeattributesclasses (storage.k8s.io)",
            "IOPS and throughput that a class sets",
            "a volume at its limit is not recognised, unless another source knows the limit",
        ),
    ),
)

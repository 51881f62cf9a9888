"""Pods, nodes and claims from the objects of the API. No I/O.

{"metadata": {"name": "fio-0", "namespace": "perf"},
 "spec": {"nodeName": "worker-2", "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
 "status": {"phase": "Running", "containerStatuses": [{"restartCount": 0}]}}
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from sanpath.plugin import complete_sum, json_object, json_objects
from sanpath_collectors.kubernetes.drivers import Backing
from sanpath_collectors.kubernetes.objects import child, quantity, strings, text


@dataclass(frozen=True, slots=True)
class Target:
    """The pod of a load. `pod`: its name, with * for any ending; `claim`: the claim that the load uses, "": all."""

    load: str
    namespace: str
    pod: str
    claim: str


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume of a pod. `claim`: name of its claim, "": the volume is `inline`, defined in the pod itself."""

    name: str
    claim: str
    inline: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. `node`: "" before it is scheduled. `cores`, `memory_bytes`: its limits, None: it has none."""

    namespace: str
    name: str
    node: str
    phase: str
    created: str
    restarts: int
    cores: float | None
    memory_bytes: float | None
    mounts: tuple[Mount, ...]

    @property
    def local_id(self) -> str:
        """The name of the pod in the cluster."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume that a pod uses. `claim`: as people know it; `name`: of the PersistentVolume, "": not bound.

    `parameters`: what storage class, attributes class and volume set. `attached`: None, the driver attaches nothing.
    """

    claim: str
    name: str
    storage_class: str = ""
    size_bytes: float | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    backing: Backing | None = None
    attached: bool | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A node. `label`: the host name of its operating system. None and "": unknown."""

    name: str
    label: str
    kernel: str = ""
    cores: float | None = None
    memory_bytes: float | None = None
    instance_type: str = ""
    provider_id: str = ""


def target(load: str, pod: str) -> Target:
    """Return the pod of a load from the configuration.

    >>> target("fio", "perf/fio-0/data")
    Target(load='fio', namespace='perf', pod='fio-0', claim='data')
    """
    namespace, name, claim = (*pod.split("/"), "")[:3]
    return Target(load, namespace, name, claim)


def pod(item: Mapping[str, Any]) -> Pod:
    """Return a pod from its object."""
    metadata, spec, status = child(item, "metadata"), child(item, "spec"), child(item, "status")
    name = text(metadata.get("name"))
    statuses = [*json_objects(status.get("containerStatuses")), *json_objects(status.get("initContainerStatuses"))]
    counts = [entry.get("restartCount") for entry in statuses]
    return Pod(
        text(metadata.get("namespace")),
        name,
        text(spec.get("nodeName")),
        text(status.get("phase")),
        text(metadata.get("creationTimestamp")),
        sum(count for count in counts if isinstance(count, int)),
        _limit(spec, "cpu"),
        _limit(spec, "memory"),
        tuple(_mount(name, volume) for volume in json_objects(spec.get("volumes"))),
    )


def select_pods(pods: Sequence[Pod], pattern: str) -> list[Pod]:
    """Return the running pods with a name or pattern; if none is running, the most recently created one."""
    matching = [pod for pod in pods if fnmatchcase(pod.name, pattern)]
    running = [pod for pod in matching if pod.phase == "Running"]
    return sorted(running, key=lambda pod: pod.name) or sorted(matching, key=lambda pod: pod.created)[-1:]


def node(name: str, item: Mapping[str, Any] | None) -> Node:
    """Return a node from its object; None: it could not be read."""
    metadata, status = child(item or {}, "metadata"), child(item or {}, "status")
    addresses = json_objects(status.get("addresses"))
    host_name = next((text(entry.get("address")) for entry in addresses if entry.get("type") == "Hostname"), "")
    labels = strings(metadata.get("labels"))
    return Node(
        name,
        host_name or labels.get("kubernetes.io/hostname", "") or name,
        text(child(status, "nodeInfo").get("kernelVersion")),
        quantity(child(status, "capacity").get("cpu")),
        quantity(child(status, "capacity").get("memory")),
        labels.get("node.kubernetes.io/instance-type", ""),
        text(child(item or {}, "spec").get("providerID")),
    )


def attachment_name(handle: str, driver: str, node_name: str) -> str:
    """Return the name of the VolumeAttachment of a CSI volume (getAttachmentName in pkg/volume/csi/csi_attacher.go).

    >>> attachment_name("vol-1", "ebs.csi.aws.com", "n1")[:16]
    'csi-ddbfb4470da7'
    """
    return f"csi-{hashlib.sha256(f'{handle}{driver}{node_name}'.encode(errors='replace')).hexdigest()}"


def _limit(spec: Mapping[str, Any], resource: str) -> float | None:
    """Return the limit of a pod: its own (Kubernetes 1.34), else the sum over its containers. None: unlimited."""
    pod_limits = quantity(child(spec, "resources", "limits").get(resource))
    if pod_limits is not None:
        return pod_limits
    containers = json_objects(spec.get("containers"))
    return complete_sum(quantity(child(each, "resources", "limits").get(resource)) for each in containers)


def _mount(pod_name: str, volume: Mapping[str, Any]) -> Mount:
    name = text(volume.get("name"))
    claim = text(child(volume, "persistentVolumeClaim").get("claimName"))
    if not claim and "ephemeral" in volume:
        # The claim of a generic ephemeral volume is named after both (KEP-1698).
        claim = f"{pod_name}-{name}"
    inline = {} if claim else {key: json_object(value) for key, value in volume.items() if key != "name"}
    return Mount(name, claim, inline)

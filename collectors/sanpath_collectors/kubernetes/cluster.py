"""Reads the pods of the loads and everything behind them: one request per object, each object once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from sanpath_collectors.kubernetes import parse
from sanpath_collectors.kubernetes.api import Api, ForbiddenError
from sanpath_collectors.kubernetes.cloud_limits import default_parameters
from sanpath_collectors.kubernetes.drivers import backing
from sanpath_collectors.kubernetes.objects import child, quantity, strings, text
from sanpath_collectors.kubernetes.parse import Mount, Node, Pod, Target, Volume

_STORAGE = "/apis/storage.k8s.io/v1"
_CONSEQUENCES = {
    "persistentvolumeclaims": "what is behind the claims of a pod is not known",
    "persistentvolumes": "what is behind a claim is not known: the load is followed to its node only",
    "volumeattachments": "volumes of Trident and PowerStore are joined to no LUN",
    "nodes": "a node has its name in Kubernetes, and the limits of its instance type are not known",
    "storageclasses": "IOPS and throughput that a class sets are not known",
    "volumeattributesclasses": "IOPS and throughput that a class sets are not known",
}


@dataclass(slots=True)
class Snapshot:
    """The cluster at one moment, as far as loads need it.

    `pods`: target → its pods. `volumes`: (pod's local id, mount) → the volume. `unreadable`: what this account may
    not read, with the consequence.
    """

    pods: dict[Target, list[Pod]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    volumes: dict[tuple[str, str], Volume] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def pods_by_id(self) -> dict[str, Pod]:
        """Return local id → pod, for the pods of all loads."""
        return {pod.local_id: pod for pods in self.pods.values() for pod in pods}

    def volumes_by_pod(self) -> Mapping[str, Sequence[tuple[str, Volume]]]:
        """Return a pod's local id → (mount, volume) of each volume that it uses; pods without one are missing."""
        found: defaultdict[str, list[tuple[str, Volume]]] = defaultdict(list)
        for (pod_id, mount), volume in self.volumes.items():
            found[pod_id].append((mount, volume))
        return found


async def read_pods(api: Api, targets: Sequence[Target]) -> dict[Target, list[Pod]]:
    """Return the pods of each target. Raises CollectorError if pods may not be read."""
    return {target: await _pods(api, target) for target in targets}


async def snapshot(api: Api, targets: Sequence[Target]) -> Snapshot:
    """Read pods, nodes, claims, volumes, attachments and classes. Raises CollectorError."""
    reader = _Reader(api)
    result = Snapshot(await read_pods(api, targets), unreadable=reader.unreadable)
    for target, pods in result.pods.items():
        for pod in pods:
            if pod.node and pod.node not in result.nodes:
                result.nodes[pod.node] = parse.node(pod.node, await reader.get("/api/v1", "nodes", pod.node))
            for mount in pod.mounts:
                if target.claim in ("", mount.claim) and (volume := await reader.volume(pod, mount)) is not None:
                    result.volumes[pod.local_id, mount.name] = volume
    return result


async def _pods(api: Api, target: Target) -> list[Pod]:
    name = "" if "*" in target.pod else target.pod
    items = await api.items(f"/api/v1/namespaces/{target.namespace}/pods", name)
    return parse.select_pods([parse.pod(item) for item in items], target.pod)


class _Reader:
    """Reads objects, each once, and records what may not be read."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._objects: dict[str, Mapping[str, Any] | None] = {}
        self.unreadable: dict[str, str] = {}

    async def get(self, group: str, resource: str, name: str) -> Mapping[str, Any] | None:
        """Return an object; None: it does not exist, or this account may not read its kind."""
        path = f"{group}/{resource}/{quote(name, safe='', errors='replace')}"
        if resource not in self.unreadable and path not in self._objects:
            try:
                self._objects[path] = await self._api.get(path)
            except ForbiddenError as error:
                self.unreadable[resource] = f"{error}: {_CONSEQUENCES[resource]}"
        return self._objects.get(path)

    async def volume(self, pod: Pod, mount: Mount) -> Volume | None:
        """Return the volume of a mount. None: a volume without storage, such as a ConfigMap."""
        if not mount.claim:
            behind = backing(mount.inline, {})
            return Volume(mount.name, f"{pod.name}/{mount.name}", backing=behind) if behind is not None else None
        claim = await self.get(f"/api/v1/namespaces/{pod.namespace}", "persistentvolumeclaims", mount.claim)
        spec, status = child(claim or {}, "spec"), child(claim or {}, "status")
        name = text(spec.get("volumeName"))
        item = await self.get("/api/v1", "persistentvolumes", name) if name else None
        if item is None:
            return Volume(mount.claim, name, text(spec.get("storageClassName")))
        volume = child(item, "spec")
        storage_class = text(volume.get("storageClassName"))
        attached, context = await self._attachment(volume, pod.node)
        behind = backing(volume, context)
        return Volume(
            mount.claim,
            name,
            storage_class,
            quantity(child(volume, "capacity").get("storage")),
            {
                **await self._class_parameters(storage_class, behind.driver if behind is not None else ""),
                **strings(child(volume, "csi").get("volumeAttributes")),
                **await self._parameters(
                    "volumeattributesclasses", text(status.get("currentVolumeAttributesClassName"))
                ),
            },
            behind,
            attached,
        )

    async def _class_parameters(self, name: str, driver: str) -> dict[str, str]:
        """Return the parameters of a storage class with the driver's default; {} if the class cannot be read."""
        if not name or await self.get(_STORAGE, "storageclasses", name) is None:
            return {}
        return {**default_parameters(driver), **await self._parameters("storageclasses", name)}

    async def _parameters(self, resource: str, name: str) -> dict[str, str]:
        """Return the parameters of a class; {} if it cannot be read."""
        return strings((await self.get(_STORAGE, resource, name) or {}).get("parameters")) if name else {}

    async def _attachment(self, volume: Mapping[str, Any], node_name: str) -> tuple[bool | None, dict[str, str]]:
        """Return whether a CSI volume is attached to a node, and the publish context. None: nothing attaches it."""
        csi = child(volume, "csi")
        if not csi or not node_name:
            return None, {}
        name = parse.attachment_name(text(csi.get("volumeHandle")), text(csi.get("driver")), node_name)
        status = child(await self.get(_STORAGE, "volumeattachments", name) or {}, "status")
        return status.get("attached") is True if status else None, strings(status.get("attachmentMetadata"))

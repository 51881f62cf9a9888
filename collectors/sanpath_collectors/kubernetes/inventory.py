"""Entities and links of the pods of loads: machine, virtual disk, LUN and volume. No I/O.

A pod is reported as a machine that runs on its node, and a claim as a disk of that machine. So a pod that is
rescheduled is followed like a virtual machine that moves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from sanpath.plugin import SourceEntity, SourceLink, without_none
from sanpath_collectors.kubernetes import cloud_limits
from sanpath_collectors.kubernetes.cluster import Snapshot
from sanpath_collectors.kubernetes.drivers import Backing
from sanpath_collectors.kubernetes.parse import Node, Pod, Target, Volume

Item = SourceEntity | SourceLink
End = tuple[str, str]


def _labels(pods: Mapping[str, Pod]) -> dict[str, str]:
    """Return local id of a pod → its name for people, with the namespace if two pods have the same name."""
    counts = Counter(pod.name for pod in pods.values())
    return {
        local_id: pod.name if counts[pod.name] == 1 else f"{pod.name}.{pod.namespace}"
        for local_id, pod in pods.items()
    }


def items(snapshot: Snapshot, arrays: Mapping[str, str]) -> Iterator[Item]:
    """Yield nodes, pods, claims and the storage behind them, and the links from loads to these, each once.

    `arrays`: driver or storage class → the source that reads the array.
    """
    reported: defaultdict[tuple[object, ...], list[Item]] = defaultdict(list)
    for item in _items(snapshot, arrays):
        key = reported[_key(item)]
        if item not in key:
            key.append(item)
            yield item


def _key(item: Item) -> tuple[object, ...]:
    """Return a key that equal items share: a job may have thousands of pods, too many to compare all pairs."""
    if isinstance(item, SourceEntity):
        return item.kind, item.local_id
    return item.relation, item.from_end, item.to_end


def _items(snapshot: Snapshot, arrays: Mapping[str, str]) -> Iterator[Item]:
    for node in snapshot.nodes.values():
        yield _node(node)
    pods_by_id = snapshot.pods_by_id()
    labels = _labels(pods_by_id)
    for pod in pods_by_id.values():
        yield from _pod(pod, labels[pod.local_id], snapshot.nodes.get(pod.node))
    targets: dict[tuple[str, str], list[End]] = {}
    nodes: dict[str, str] = {}
    for pods in snapshot.pods.values():
        for pod in pods:
            nodes.setdefault(pod.local_id, pod.node)
    for (pod_id, mount), volume in snapshot.volumes.items():
        node_of_pod = snapshot.nodes.get(nodes[pod_id])
        yield from _claim(pod_id, labels[pod_id], volume)
        ends = list(_behind(volume, node_of_pod, arrays))
        yield from (item for item in ends if not isinstance(item, tuple))
        targets[pod_id, mount] = [end for end in ends if isinstance(end, tuple)]
        for end in targets[pod_id, mount]:
            if end[0] == "lun":
                yield SourceLink("backed_by", ("vdisk", _disk_id(pod_id, volume)), end, _evidence(volume))
    volumes = snapshot.volumes_by_pod()
    for target, pods in snapshot.pods.items():
        yield from _load(target, pods, volumes, labels, targets)


def _node(node: Node) -> SourceEntity:
    limit = cloud_limits.instance_limit(node.provider_id, node.instance_type)
    attributes = {
        "os": f"Linux {node.kernel}" if node.kernel else None,
        "cores": node.cores,
        "memory_bytes": node.memory_bytes,
        "instance_type": node.instance_type or None,
        "qos_ops_per_second": limit.ops_per_second,
        "qos_bytes_per_second": limit.bytes_per_second,
    }
    return SourceEntity("host", node.name, node.label, {"name": (node.label,)}, without_none(attributes))


def _pod(pod: Pod, label: str, node: Node | None) -> Iterator[Item]:
    attributes = {
        "os": f"Linux {node.kernel}" if node is not None and node.kernel else None,
        "hypervisor": "Kubernetes",
        "vcpus": pod.cores,
        "memory_bytes": pod.memory_bytes,
    }
    yield SourceEntity("vm", pod.local_id, label, {"name": (label,)}, without_none(attributes))
    if node is not None:
        yield SourceLink("runs_on", ("vm", pod.local_id), ("host", node.name), "spec.nodeName of the pod")


def _disk_id(pod_id: str, volume: Volume) -> str:
    return f"{pod_id}/{volume.claim}"


def _claim(pod_id: str, label: str, volume: Volume) -> Iterator[Item]:
    disk, name = _disk_id(pod_id, volume), f"{label}/{volume.claim}"
    driver = f"{volume.backing.driver} {volume.backing.name}".strip() if volume.backing is not None else None
    attributes = {"size_bytes": volume.size_bytes, "backing": driver}
    yield SourceEntity("vdisk", disk, name, {"name": (name,)}, without_none(attributes))
    yield SourceLink("attached_to", ("vdisk", disk), ("vm", pod_id), "spec.volumes of the pod")


def _evidence(volume: Volume) -> str:
    return f"claim {volume.claim}, volume {volume.name}"


def _behind(volume: Volume, node: Node | None, arrays: Mapping[str, str]) -> Iterator[Item | End]:
    """Yield the entities behind a claim and their links; and, as (kind, name), the target of the load there.

    The LUN of the node if an identifier joins it, else the volume by its name, else the target ports.
    """
    behind = volume.backing
    if behind is None or behind.is_file:
        return
    if behind.is_lun and node is not None:
        lun = f"{node.name}/{behind.naa or behind.eui or behind.device}"
        yield _lun(lun, node, behind, volume)
        yield SourceLink("attached_to", ("lun", lun), ("host", node.name), _evidence(volume))
        yield "lun", lun
    elif array := arrays.get(volume.storage_class) or arrays.get(behind.driver):
        yield "volume", f"{array}/{behind.name}"
    elif behind.addresses or behind.wwpns:
        yield from (("ip", address) for address in behind.addresses)
        yield from (("wwpn", name) for name in behind.wwpns)
    elif behind.name and behind.driver not in ("local", "hostPath"):
        yield from _volume(behind, volume)
        yield "volume", behind.name


def _lun(lun: str, node: Node, behind: Backing, volume: Volume) -> SourceEntity:
    ids = {"naa": behind.naa, "eui": behind.eui, "device": behind.device}
    label = f"{node.label}/{behind.naa or behind.eui or behind.device}"
    attributes = {} if volume.size_bytes is None else {"size_bytes": volume.size_bytes}
    return SourceEntity("lun", lun, label, {key: (value,) for key, value in ids.items() if value}, attributes)


def _volume(behind: Backing, volume: Volume) -> Iterator[Item]:
    """Yield a volume that no identifier joins to an array, with the limits of its class, and its array."""
    cloud = cloud_limits.cloud_of(behind.driver)
    limit = cloud_limits.volume_limit(behind.driver, volume.parameters, volume.size_bytes)
    attributes = {
        "cloud": cloud.key if cloud is not None else None,
        "volume_type": cloud_limits.volume_type(behind.driver, volume.parameters) or None,
        "size_bytes": volume.size_bytes,
        "qos_ops_per_second": limit.ops_per_second,
        "qos_bytes_per_second": limit.bytes_per_second,
    }
    array = cloud.name if cloud is not None else behind.driver
    yield SourceEntity("array", array, array, {"name": (array,)})
    yield SourceEntity("volume", behind.name, behind.name, {}, without_none(attributes))
    yield SourceLink("member_of", ("volume", behind.name), ("array", array), _evidence(volume))


def _load(
    target: Target,
    pods: list[Pod],
    volumes: Mapping[str, Sequence[tuple[str, Volume]]],
    labels: Mapping[str, str],
    targets: Mapping[tuple[str, str], list[End]],
) -> Iterator[Item]:
    """Yield the links of a load to its pods and its targets. Each of several pods is a job of the load."""
    load: End = ("load", target.load)
    for pod in pods:
        job = load
        if len(pods) > 1:
            job = ("load", f"{target.load}/{labels[pod.local_id]}")
            yield SourceEntity("load", job[1], job[1], {"name": (job[1],)})
            yield SourceLink("member_of", job, load, "one of several pods of the load")
        yield SourceLink("runs_on", job, ("vm", pod.local_id), f"sanpath.yaml: loads: {target.load}")
        for mount, volume in volumes.get(pod.local_id, ()):
            if target.claim in ("", volume.claim):
                for end in targets[pod.local_id, mount]:
                    for source in dict.fromkeys((job, load)):
                        yield SourceLink("targets", source, end, _evidence(volume))

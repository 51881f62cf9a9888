"""Events: a pod moved, restarted or ended, and what is unknown about a load. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.plugin import Event, warning
from sanpath_collectors.kubernetes.cluster import Snapshot
from sanpath_collectors.kubernetes.parse import Pod, Volume

_ENDED = ("Succeeded", "Failed")


def changes(before: Mapping[str, Pod], snapshot: Snapshot, seen_us: int) -> Iterator[Event]:
    """Yield changes of the pods since `before`."""
    current = snapshot.pods_by_id()
    for local_id, old in before.items():
        new = current.get(local_id)
        if new is None or (new.phase in _ENDED and old.phase not in _ENDED):
            yield Event(seen_us, "vm-stopped", {"vm": local_id, "state": new.phase if new is not None else "deleted"})
        elif old.node and new.node not in ("", old.node):
            detail = {"vm": local_id, "from": old.node, "to": new.node, "consequence": _MOVED}
            yield Event(seen_us, "vm-moved", detail)
        elif new.restarts > old.restarts:
            text = f"a container of pod {local_id} was restarted: a load in it began anew"
            yield warning(seen_us, "container-restarted", text)


_MOVED = "its I/O takes another node's paths from here on; compare no steps before and after"


def problems(snapshot: Snapshot, seen_us: int) -> Iterator[Event]:
    """Yield what is unknown about a load, with the reason and the consequence."""
    volumes_by_pod = snapshot.volumes_by_pod()
    for target, pods in snapshot.pods.items():
        if not pods:
            name = f"{target.namespace}/{target.pod}"
            yield _unknown(seen_us, name, "pod", "there is no such pod", f"{target.load} is on no machine")
        for pod in pods:
            if not pod.node:
                yield _unknown(seen_us, pod.local_id, "node", "the pod is not scheduled", "its paths are not known")
            volumes = [volume for _, volume in volumes_by_pod.get(pod.local_id, ())]
            if not volumes:
                consequence = "its I/O goes to the disks of the node itself"
                yield _unknown(seen_us, pod.local_id, "volume", "the pod uses no claim", consequence)
            for volume in volumes:
                if (why := _unknown_reason(volume, pod)) is not None:
                    name = f"{pod.local_id}/{volume.claim}"
                    yield _unknown(seen_us, name, "volume", why, "the load is not joined to a volume")


def _unknown_reason(volume: Volume, pod: Pod) -> str | None:
    """Return why nothing is known about the storage of a claim; None: something is."""
    if not volume.name:
        return "the claim is not bound to a volume"
    if volume.backing is None:
        return f"{volume.name} cannot be read, or is of a kind that sanpath does not know"
    if volume.backing.is_file:
        return f"{volume.backing.driver} is a file share: sanpath follows block storage only"
    return f"{volume.name} is not attached to {pod.node}" if volume.attached is False else None


def _unknown(seen_us: int, entity: str, what: str, why: str, consequence: str) -> Event:
    return Event(seen_us, "facts-unknown", {"entity": entity, "what": what, "why": why, "consequence": consequence})

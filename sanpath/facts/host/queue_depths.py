"""How many I/Os a block device takes at once: as many as its host and its targets allow."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.facts.host.tested_machines import as_number
from sanpath.model import Scalar
from sanpath.topology.paths import machines_of, root_of
from sanpath.topology.topology import Topology


_QUEUE_OF_ONE_DISK = "virtio_blk"
"""Type of controller whose queues belong to one disk. A request takes one descriptor (VIRTIO_F_INDIRECT_DESC)."""


def virtqueue_slots(attributes: Mapping[str, Scalar]) -> float | None:
    """Return how many requests the guest may have in the queues of a virtual disk. None: not known, or the queues are
    a controller's."""
    queues, size = as_number(attributes.get("queues")), as_number(attributes.get("queue_size"))
    is_own = attributes.get("controller_type") == _QUEUE_OF_ONE_DISK
    return (queues or 1.0) * size if size is not None and is_own else None


def requests_held(topology: Topology, lun: str) -> float | None:
    """Return how many requests Linux holds for the load's I/Os at a block device. None: not known.

    Each hardware queue holds `nr_requests` (Linux kernel, Documentation/ABI/stable/sysfs-block), and a thread submits
    to the queue of its processor: a load uses as many queues as it has threads. A source that does not report the
    number of queues leaves one.
    """
    attributes = topology.entities[lun].attributes if lun in topology.entities else {}
    requests, queues = (as_number(attributes.get(name)) for name in ("nr_requests", "hardware_queues"))
    if requests is None or queues is None or queues <= 1:
        return requests
    threads = _submitting_threads(topology, lun)
    return None if threads is None else requests * min(queues, threads)


def _submitting_threads(topology: Topology, lun: str) -> float | None:
    """Return the most threads that a load, or a job of it, has at the machine of a block device. None: not known."""
    machines = {machine for kind in ("host", "vm") for machine in topology.related(lun, "attached_to", kind)}
    threads = [
        as_number(topology.entities[load.id].attributes.get("threads"))
        for load in topology.of_kind("load")
        if not machines.isdisjoint(machines_of(topology, root_of(topology, load.id)))
    ]
    return max((count for count in threads if count is not None), default=None)


def with_command_windows(topology: Topology, lun: str, depth: float | None) -> float | None:
    """Return the queue depth of a LUN, but no more than the iSCSI sessions of its paths may have outstanding.

    A target tells the initiator in each answer how many commands it may send (RFC 7143, MaxCmdSN): others wait in the
    host. `depth`: as the host reports it, None: it does not. Returns None where neither is known.
    """
    windows = [_command_window(topology, path) for path in topology.related(lun, "member_of", "path")]
    known = [window for window in windows if window is not None]
    together = (sum(known) or None) if len(known) == len(windows) else None
    return min((limit for limit in (depth, together) if limit is not None), default=None)


def _command_window(topology: Topology, path: str) -> float | None:
    """Return the window of the session that a path is; 0 where it carries no I/O."""
    if topology.entities[path].attributes.get("usable") is False:
        return 0.0
    ports = topology.related(path, "targets", "array_port")
    return as_number(topology.entities[ports[0]].attributes.get("command_window")) if len(ports) == 1 else None

"""How many I/Os a block device admits at once: the limit of its host and its targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from sanpath.facts.host.tested_machines import as_number
from sanpath.model import SourceEntity
from sanpath.topology.paths import load_of_job, machines_of
from sanpath.topology.topology import Topology
from sanpath.topology.vm_moves import Report

_DEPTH_ERROR = 0.05
"""Relative error of a mean number of I/Os in flight."""
_LOWERED_RATIO = 0.95
"""Ratio of the depth in a step to the depth that is set, below which the host has lowered it: a mean over a step with
a change is between both."""


def set_depths(reports: Iterable[Report], topology: Topology) -> dict[str, set[float]]:
    """Return block device → every queue depth that it was set to during the recording, as reported."""
    result: dict[str, set[float]] = defaultdict(set)
    for source, _, item in reports:
        if isinstance(item, SourceEntity) and item.kind == "lun":
            depth = as_number(item.attributes.get("queue_depth"))
            if depth is not None and (lun := topology.known_as.get((source, item.kind, item.local_id))) is not None:
                result[lun].add(depth)
    return result


def is_lowered(depth: float | None, set_to: Set[float]) -> bool | None:
    """Return whether the host allows clearly fewer I/Os in a step than it is set to allow. `set_to`: the depths to
    which the device was set during the recording; which of them when is not known. None: not known.

    >>> is_lowered(32, {64}), is_lowered(64, {64}), is_lowered(32, {32, 128}), is_lowered(16, {32, 128})
    (True, False, None, True)
    """
    if depth is None:
        return None
    answers = {depth < _LOWERED_RATIO * each for each in set_to}
    return answers.pop() if len(answers) == 1 else None


def hypervisor_slots(
    topology: Topology, lun: str, gauges: Mapping[str, float | None], in_flight: float
) -> float | None:
    """Return how many I/Os a hypervisor admits to a device at once. None: not known.

    ESXi admits the fewest of: the device's slots, the slots that Storage I/O Control leaves to the host, and the
    slots for competing virtual machines (Disk.SchedNumReqOutstanding). `gauges`: of the step. `in_flight`: I/Os at
    the device, at least; if they exceed the limit for competitors, none compete.
    """
    attributes = topology.entities[lun].attributes if lun in topology.entities else {}
    depth = gauges.get("queue_depth") or as_number(attributes.get("queue_depth"))
    competing = as_number(attributes.get("sched_num_req_outstanding"))
    if (virtual_machines_on(topology, lun) or 0.0) < 2 or (1 - _DEPTH_ERROR) * in_flight > (competing or 0.0):
        competing = None
    limits = (depth, gauges.get("sioc_queue_depth"), competing)
    return min((limit for limit in limits if limit), default=None)


def virtual_machines_on(topology: Topology, lun: str) -> float | None:
    """Return the number of virtual machines with disks on a LUN. None: no source reports any."""
    disks = topology.related(lun, "backed_by", "vdisk")
    machines = {vm for disk in disks for vm in topology.related(disk, "attached_to", "vm")}
    return float(len(machines)) or None


def requests_held(topology: Topology, lun: str) -> float | None:
    """Return how many requests Linux holds for the load's I/Os at a block device. None: not known.

    Each hardware queue holds `nr_requests` (Linux kernel, Documentation/ABI/stable/sysfs-block), and a thread submits
    to the queue of its processor: a load uses as many queues as it has threads. A source that does not report the
    number of queues leaves one.
    """
    return _slots_in_queues(topology, lun, "nr_requests", "hardware_queues")


def virtqueue_slots(topology: Topology, disk: str) -> float | None:
    """Return how many of the load's I/Os the guest may have in the virtio queues of a virtual disk.

    None: not known, or the queues are those of a controller, which its disks share. A guest's driver has a hardware
    queue for each of them, and an I/O takes one slot (VIRTIO_F_INDIRECT_DESC).
    """
    entity = topology.entities.get(disk)
    if entity is None or entity.attributes.get("controller_type") != "virtio_blk":
        return None
    return _slots_in_queues(topology, disk, "queue_size", "queues")


def _slots_in_queues(topology: Topology, device: str, size: str, number: str) -> float | None:
    """Return the slots of as many queues of a device as the load has threads. `size`, `number`: the attributes."""
    attributes = topology.entities[device].attributes if device in topology.entities else {}
    slots, queues = as_number(attributes.get(size)), as_number(attributes.get(number))
    if slots is None or queues is None or queues <= 1:
        return slots
    threads = _submitting_threads(topology, device)
    return None if threads is None else slots * min(queues, threads)


def _submitting_threads(topology: Topology, device: str) -> float | None:
    """Return the most threads that a load, or a job of it, has at the machine of a device. None: not known."""
    machines = {machine for kind in ("host", "vm") for machine in topology.related(device, "attached_to", kind)}
    threads = [
        as_number(topology.entities[load.id].attributes.get("threads"))
        for load in topology.of_kind("load")
        if not machines.isdisjoint(machines_of(topology, load_of_job(topology, load.id)))
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

"""How many I/Os a block device takes at once: as many as its host and its targets allow."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.facts.host.tested_machines import as_number
from sanpath.model import Scalar
from sanpath.topology.identity import Topology


def requests_held(attributes: Mapping[str, Scalar]) -> float | None:
    """Return how many requests Linux holds for a block device in all hardware queues together. None: not known.

    Each queue holds `nr_requests` (Linux kernel, Documentation/ABI/stable/sysfs-block). A source that does not report
    the number of queues leaves one.
    """
    requests = as_number(attributes.get("nr_requests"))
    return None if requests is None else requests * (as_number(attributes.get("hardware_queues")) or 1.0)


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

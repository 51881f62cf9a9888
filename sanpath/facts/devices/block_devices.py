"""Facts of the block devices under test: queue depth and fill, and how the host splits or merges I/Os."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from sanpath.facts.devices.local_drives import local_drives
from sanpath.facts.devices.queue_depths import is_lowered, requests_held, virtual_machines_on, with_command_windows
from sanpath.facts.host.tested_machines import (
    UnderTest,
    as_bool,
    as_number,
    as_text,
    both_directions,
    device_names,
    gauge,
    in_flight,
    in_flight_below_queue,
    platform_of_device,
    rate,
)
from sanpath.facts.table import FactRow, FactValue
from sanpath.topology.topology import Topology

_KIB = 1024
_BLOCK_BYTES = 4096
"""Arrays and drives keep data in blocks of at least this size."""
MULTIPATH_MAP = "multipath map"
"""The kind of a map over paths, if no source counts the paths."""
_MADE_OF_OTHERS = ("md", "other dm", "loop")
"""Kinds of Linux devices whose I/Os become I/Os of other devices of the host."""
_LEAST_DEEPER, _LARGEST_DEPTH = 128, 256
"""Smallest queue depth that is worth a restart: sanpath's own choice, twice to four times the drivers' defaults; and
the largest that ESXi takes for a device of several virtual machines (`esxcli storage core device set -O`)."""
_SETTINGS = ("queue_depth", "nr_requests", "scheduler", "partition_offset_bytes")


def device_rows(
    topology: Topology, steps: Sequence[UnderTest], set_to: Mapping[str, Set[float]]
) -> Iterator[FactRow]:
    """Yield one row for each block device and step, in the direction of the main load. Unknown devices have no
    row. `set_to`: see `set_depths`."""
    for step in steps:
        local = {drive for device in step.devices for drive in local_drives(topology, [device])}
        for lun in step.devices:
            samples, attributes = step.samples_of(lun), topology.entities[lun].attributes
            if not samples and all(attributes.get(name) is None for name in _SETTINGS):
                continue
            host_depth = gauge(samples, "queue_depth") or as_number(attributes.get("queue_depth"))
            largest_kib = as_number(attributes.get("max_sectors_kb"))
            offset_bytes = as_number(attributes.get("partition_offset_bytes"))
            depth = with_command_windows(topology, lun, host_depth)
            names = device_names(topology, lun)
            flying = most = in_flight(samples)
            if flying is None:
                flying, most = in_flight_below_queue(samples), in_flight_below_queue(samples, of_resolution=1.0)
            yield {
                "entity": lun,
                "step": step.load.step,
                "direction": step.load.direction,
                "windows": min((sample.windows for sample in samples), default=0),
                "platform": platform_of_device(topology, lun),
                **names,
                "local": lun in local,
                "queue_depth": depth,
                "command_window_limits": depth != host_depth,
                "over_paths": as_number(attributes.get("paths")) is not None
                or attributes.get("kind") == MULTIPATH_MAP,
                "deeper_queue_depth": _deeper(depth),
                "in_flight": flying,
                "depth_read": depth is not None,
                "queue_filled_ratio": flying / depth if flying is not None and depth else None,
                "queue_filled_most_ratio": most / depth if most is not None and depth else None,
                "depth_lowered": is_lowered(gauge(samples, "queue_depth"), set_to.get(lun, frozenset())),
                "held_ratio": flying / step.load.in_flight_measured
                if flying is not None and len(step.devices) == 1 and step.load.in_flight_measured
                else None,
                "queued": gauge(samples, "queued"),
                "device_seconds": gauge(samples, "device_seconds_mean"),
                "kernel_seconds": gauge(samples, "kernel_seconds_mean"),
                "queue_seconds": gauge(samples, "queue_seconds_mean"),
                "busiest_utilisation": step.busiest_utilisation,
                "links_counted": step.links_counted,
                "nr_requests": requests_held(topology, lun),
                "scheduler": as_text(attributes.get("scheduler")),
                "stands_on_others": _stands_on_others(topology, lun, names["device"]),
                "rotational": as_bool(attributes.get("rotational")),
                "largest_request_bytes": None if largest_kib is None else largest_kib * _KIB,
                "operation_bytes": step.load.operation_bytes,
                "competing_limit": as_number(attributes.get("sched_num_req_outstanding")),
                "virtual_machines": virtual_machines_on(topology, lun),
                "driver_queue_depth": _driver_queue_depth(topology, lun),
                "driver": _driver(topology, lun),
                "aborts_per_second": rate(samples, "aborts_total"),
                "resets_per_second": rate(samples, "resets_total"),
                "reservation_conflicts_per_second": rate(samples, "reservation_conflicts_total"),
                "misaligned_bytes": None if offset_bytes is None else offset_bytes % _BLOCK_BYTES,
                "sioc_active_ratio": gauge(samples, "sioc_active_ratio"),
                "operations_per_second": both_directions(samples, "ops"),
                "flushes_in_flight": rate(samples, "latency_seconds_flush_total"),
                "busy_ratio": rate(samples, "busy_seconds_total"),
            }


def _stands_on_others(topology: Topology, lun: str, device: FactValue) -> bool:
    """Return whether a device passes its I/Os on to other devices or to a file of its host. A map over paths does
    not: each path is the same LUN."""
    attributes = topology.entities[lun].attributes
    is_map = attributes.get("kind") == MULTIPATH_MAP or as_number(attributes.get("paths")) is not None
    # Older recordings have no kind for loop devices.
    is_made = attributes.get("kind") in _MADE_OF_OTHERS or str(device).startswith("loop")
    return not is_map and (is_made or bool(topology.members(lun, "lun")))


def _driver_queue_depth(topology: Topology, lun: str) -> float | None:
    """Return the smallest queue depth that drivers of the host's initiator ports give a LUN. None: not reported."""
    hosts = topology.related(lun, "attached_to", "host")
    ports = [hba for host in hosts for hba in topology.related(host, "attached_to", "hba")]
    depths = [as_number(topology.entities[hba].attributes.get("driver_queue_depth")) for hba in ports]
    return min((depth for depth in depths if depth is not None), default=None)


def _deeper(depth: float | None) -> str | None:
    """Return the queue depth to try next, as text for commands. None: the depth is unknown, or the largest already.

    >>> _deeper(30), _deeper(64), _deeper(128), _deeper(256)
    ('128', '128', '256', None)
    """
    if depth is None or depth >= _LARGEST_DEPTH:
        return None
    return str(int(min(_LARGEST_DEPTH, max(_LEAST_DEEPER, 2 * depth))))


def _driver(topology: Topology, lun: str) -> str | None:
    """Return the driver of the initiator ports that a LUN's paths begin at. None: not reported, or they differ."""
    paths = topology.related(lun, "member_of", "path")
    ports = dict.fromkeys(port for path in paths for port in topology.related(path, "attached_to", "hba"))
    drivers = {as_text(topology.entities[port].attributes.get("driver")) for port in ports}
    return next(iter(drivers)) if len(drivers) == 1 else None

"""The first action of a verdict for which no rule has a remedy."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.diagnosis.model import Bottleneck, StepResult, Verdict
from sanpath.facts.host.tested_machines import platform
from sanpath.facts.load.loads import sets_depth
from sanpath.summary.names import QUEUES, described, possible_places, with_others
from sanpath.summary.step_figures import in_flight
from sanpath.topology.paths import loads_with_machine
from sanpath.topology.topology import Topology
from sanpath.units import count
from sanpath.verdict.hypotheses.processors import COSTLY_PATH

_ACTION_BY_VERDICT: Mapping[str, str] = {
    "concurrency_limited": "Run the test with more outstanding I/Os",
    "cannot_tell": "Repeat the test, and let sanpath read more of the path (sanpath init)",
    "generator_limited": "Give the load generator more processes, or faster processors",
}
_OVERLAP_FLUSHES = (
    "Run the test with more processes, so that their flushes overlap; one alone needs storage that flushes faster"
)
_MORE_THREADS = "Run the test with more threads"
_LESS_PER_IO = (
    "Find what makes an I/O so costly: an emulated disk controller (IDE, SATA; virtio, PVSCSI or NVMe instead), a "
    "filter, encryption"
)
_COUNT_LINKS = "Let sanpath read the bytes and speeds of {places}, at their switch ports: one of them is saturated"
_RAISE_LIMIT = "Raise or remove the limit of {name}"
_WAITS_IN_DEVICE = "Find what holds I/Os back between {device} and its parts"
_ACTION_BY_BOTTLENECK: Mapping[str, str] = {
    "array": "Find in the statistics of {name} what keeps it busy",
    "core": "Spread the work of the full core of {name} over more cores",
    "credit_stall": "Find out why frames at {name} are accepted too slowly",
    "data_sheet": "Check the limit of {name} that was entered by hand",
    "drive": "Spread the load over more drives than {name}",
    "hba": "Read the queue depth of {name}; raise it if the queue is full",
    "io_stack": "Look for a limit above the block device of {name}",
    "io_thread": "Give the disks of {name} more threads",
    "link": "Make {name} faster, or spread the load over more links",
    "lun": "Read the queue depth of {name}; raise it if the queue is full",
    "path_policy": "Use all paths of {name} at the same time",
    "pcie": "Give {name} more PCIe lanes, or faster ones",
    "retries": "Find where {name} loses frames: cable, optics, ports",
    "tcp_window": "Enlarge the TCP window of {name}",
    "vdisk": "Read the queue depth of {name}; raise it if the queue is full",
}
"""Kind of a bottleneck, as in docs/output-contract.md → the action against it, for all kinds."""


def own_action(verdict: Verdict, topology: Topology, step: StepResult | None) -> str | None:
    """The first action if no rule has a remedy. None: there is none. `step`: the step that the verdict comes from."""
    first_suspect = next(iter(verdict.suspects), None)
    if verdict.kind == "generator_limited" and first_suspect is not None and first_suspect.machine is not None:
        return f"Stop other work on {first_suspect.place}, or use more or faster ones"
    if verdict.kind == "generator_limited" and first_suspect is not None and first_suspect.place == COSTLY_PATH:
        return _LESS_PER_IO
    if verdict.kind == "concurrency_limited" and step is not None and step.in_flight.flushes > in_flight(step):
        return _OVERLAP_FLUSHES
    if verdict.kind == "concurrency_limited" and not sets_depth(topology, loads_with_machine(topology)):
        return _MORE_THREADS
    if verdict.kind not in ("bottleneck", "configured_cap") or not verdict.bottlenecks:
        return _ACTION_BY_VERDICT.get(verdict.kind)
    first = verdict.bottlenecks[0]
    if first.kind == "io_stack" and first.wait_at not in (None, first.entity):
        return _WAITS_IN_DEVICE.format(device=described(topology, first.wait_at))
    action = _RAISE_LIMIT if verdict.kind == "configured_cap" else _ACTION_BY_BOTTLENECK.get(first.kind)
    name = with_others(described(topology, first.entity), verdict.bottlenecks)
    if first.kind == "link" and first.is_one_of_several:
        return _COUNT_LINKS.format(places=possible_places(first))
    if first.is_one_of_several:
        name = f"one of {possible_places(first)}"
    if first.kind in QUEUES and (depth := _depth(first, step)) is not None:
        return f"Raise the queue depth of {name} above {count(depth)}{_setting_name(topology, first)}"
    return None if action is None else action.format(name=name)


def _depth(first: Bottleneck, step: StepResult | None) -> float | None:
    """The queue depth of a bottleneck, as a source reports it. None: no source does."""
    planes = () if step is None else step.in_flight.planes
    return next((plane.admitted for plane in planes if plane.entity == first.entity and plane.admitted), None)


def _setting_name(topology: Topology, first: Bottleneck) -> str:
    """The host's name for the setting, in brackets; "" if not known."""
    is_esxi = first.kind == "lun" and first.entity in topology.entities and platform(topology, first.entity) == "esxi"
    return " (Device Max Queue Depth)" if is_esxi else ""

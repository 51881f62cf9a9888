"""The faults of the generator: each makes one place of a SAN too small and returns the label that is then true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator import array_faults, end_faults, link_faults
from sanpath_lab.generator.baseline import Baseline
from sanpath_lab.generator.reading import Reading, Source
from sanpath_lab.generator.relief import Place
from sanpath_lab.scenario import Scenario

Make = Callable[[San, Baseline], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and how its label is confirmed.

    `make` makes the fault in a SAN and returns its label. `relief`: places that are relieved together to confirm it.
    `required_sources`: sources without which the data do not show the fault.
    `latency_bound`: throughput is I/Os in flight over latency, so whatever adds latency lowers it. Only the capacity
    of unrelated places is doubled then, not their speed.
    `needs_two_steps`: for a saturated array that counts waiting as service time, only its growth between steps shows
    the fault.
    `decoys`: whether other hosts may saturate places of their own. Not if they could delay I/Os of a test that
    nothing limits, because its label says that nothing waits.
    `single_change`: relieving the fault is one change, which a what-if predicts.

    `required_sources` depends on the data alone, not on what a diagnosis makes of them:

    - Links at the ends of a path are visible without switches. The speed of the host's ports is configured, and
      arrays report speed and bytes of their own ports.
    - Without switches nothing shows links between them, damaged frames, lack of credit, or that only one of two paths
      is in use at a time.
    - A LUN queue is visible without the disk's statistics: its depth is configured, and that many I/Os are below it
      in every step. The depth of a virtual disk's queue is read from its host.
    - The array alone distinguishes a wait inside it from one at its QoS limits.
    - A wait in front of the array's clock lies in a gap that the switches have to narrow down. The configured depth
      distinguishes it from a LUN queue.
    """

    make: Make
    relief: tuple[Place, ...]
    required_sources: tuple[Source, ...]
    latency_bound: bool = False
    needs_two_steps: bool = False
    decoys: bool = True
    single_change: bool = False


FAULTS: Mapping[str, Fault] = {
    "host-link": Fault(link_faults.host_link, ("host links",), (), single_change=True),
    "array-link": Fault(link_faults.array_link, ("array links",), (), single_change=True),
    "isl": Fault(link_faults.isl, ("isls",), ("switches",), single_change=True),
    "unequal-paths": Fault(link_faults.unequal_paths, ("host links",), ()),
    "path-turns": Fault(link_faults.path_turns, ("path turns",), ("switches",), single_change=True),
    "retries": Fault(link_faults.retries, ("damage",), ("switches",), latency_bound=True),
    "neighbour-port": Fault(link_faults.neighbour_port, ("neighbours", "array links"), ()),
    "slow-drain": Fault(link_faults.slow_drain, ("drain", "neighbours"), ("switches",), decoys=False),
    "lun-queue": Fault(end_faults.lun_queue, ("host queues",), (), latency_bound=True, single_change=True),
    "vdisk-queue": Fault(end_faults.vdisk_queue, ("host queues",), ("host",), latency_bound=True, single_change=True),
    "generator-cpu": Fault(end_faults.generator_cpu, ("generator",), ()),
    "concurrency": Fault(end_faults.concurrency, ("in flight",), ("array", "host"), latency_bound=True),
    "demand": Fault(end_faults.demand, ("rate",), (), decoys=False),
    "healthy": Fault(end_faults.healthy, ("rate",), (), decoys=False),
    "controller": Fault(array_faults.controller, ("controller",), ("array",)),
    "media": Fault(array_faults.media, ("media",), ("array",), needs_two_steps=True),
    "write-cache": Fault(array_faults.write_cache, ("write cache",), ("array",)),
    "qos": Fault(array_faults.qos, ("qos",), ("array",), single_change=True),
    "qos-shared": Fault(array_faults.qos_shared, ("qos", "neighbours"), ("array",)),
    "neighbour-media": Fault(
        array_faults.neighbour_media, ("media", "neighbours"), ("array",), needs_two_steps=True, decoys=False
    ),
    "entry": Fault(array_faults.entry, ("entry",), ("array", "switches"), decoys=False),
}
"""Fault name → fault."""


def can_diagnose(fault: str, reading: Reading, scenario: Scenario) -> bool:
    """Return whether the sources that are read can show the fault of a scenario."""
    definition, array = FAULTS[fault], scenario.array
    one_step = len(set(scenario.load.threads)) == 1
    media_limit_hidden = array.parallel_media is not None and array.parallel_media < array.parallel_servers
    if one_step and ((definition.needs_two_steps and media_limit_hidden) or len(reading.unread) > 1):
        return False
    return not set(definition.required_sources) & reading.unread

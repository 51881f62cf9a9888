"""What limits a drawn SAN: each fault makes one place too small, and says what is true then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sanpath_lab.families.san import San
from sanpath_lab.generator import array_faults, end_faults, link_faults
from sanpath_lab.generator.grounds import Ground
from sanpath_lab.generator.reading import Reading, Source
from sanpath_lab.generator.relief import Place
from sanpath_lab.scenario import Scenario

Make = Callable[[San, Ground], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Fault:
    """`make` makes it in a SAN and returns its label. `relief`: the places that are relieved together to confirm it.

    `waits`: throughput is what is in flight over the latency, so that whatever takes time of an I/O counts, and
    only the room of other places is doubled, not their speed. `seen_by`: sources without which nobody can tell it.
    `grows`: of a saturated array whose wait is a part of what it calls service, only how that grows from step to
    step tells. `decoys`: whether other hosts may keep their own places busy: not where that would hold up I/Os of a
    test that nothing limits, of which nobody may say that nothing waits. `one_change`: relieving it is one change
    that a what-if predicts.

    Whatever else is read, `seen_by` is what the data lack without that source, not what a diagnosis makes of them.
    Links at the ends of a path can be told without switches: speeds of the host's ports are configured, and arrays
    tell speed and bytes of theirs. Without switches nobody sees the links between them, damaged frames, credit, or
    that only one of two paths is in use at a time. A LUN queue can be told without the clock of its disk: its depth
    is configured, and so many I/Os are below it in every step; that of a virtual disk comes from its host. A wait
    inside an array is told from one at its limits by the array alone. One in front of its clock lies in a gap that
    the switches have to narrow down as well; the configured depth tells it from a LUN queue.
    """

    make: Make
    relief: tuple[Place, ...]
    seen_by: tuple[Source, ...]
    waits: bool = False
    grows: bool = False
    decoys: bool = True
    one_change: bool = False


FAULTS: Mapping[str, Fault] = {
    "host-link": Fault(link_faults.host_link, ("host links",), (), one_change=True),
    "array-link": Fault(link_faults.array_link, ("array links",), (), one_change=True),
    "isl": Fault(link_faults.isl, ("isls",), ("switches",), one_change=True),
    "unequal-paths": Fault(link_faults.unequal_paths, ("host links",), ()),
    "path-turns": Fault(link_faults.path_turns, ("path turns",), ("switches",), one_change=True),
    "retries": Fault(link_faults.retries, ("damage",), ("switches",), waits=True),
    "neighbour-port": Fault(link_faults.neighbour_port, ("neighbours", "array links"), ()),
    "slow-drain": Fault(link_faults.slow_drain, ("drain", "neighbours"), ("switches",), decoys=False),
    "lun-queue": Fault(end_faults.lun_queue, ("host queues",), (), waits=True, one_change=True),
    "vdisk-queue": Fault(end_faults.vdisk_queue, ("host queues",), ("host",), waits=True, one_change=True),
    "generator-cpu": Fault(end_faults.generator_cpu, ("generator",), ()),
    "concurrency": Fault(end_faults.concurrency, ("in flight",), ("array", "host"), waits=True),
    "demand": Fault(end_faults.demand, ("rate",), (), decoys=False),
    "healthy": Fault(end_faults.healthy, ("rate",), (), decoys=False),
    "controller": Fault(array_faults.controller, ("controller",), ("array",)),
    "media": Fault(array_faults.media, ("media",), ("array",), grows=True),
    "write-cache": Fault(array_faults.write_cache, ("write cache",), ("array",)),
    "qos": Fault(array_faults.qos, ("qos",), ("array",), one_change=True),
    "qos-shared": Fault(array_faults.qos_shared, ("qos", "neighbours"), ("array",)),
    "neighbour-media": Fault(
        array_faults.neighbour_media, ("media", "neighbours"), ("array",), grows=True, decoys=False
    ),
    "entry": Fault(array_faults.entry, ("entry",), ("array", "switches"), decoys=False),
}
"""Every fault by name."""


def tells(fault: str, reading: Reading, scenario: Scenario) -> bool:
    """Whether what is read of a scenario can tell its fault."""
    truth, array = FAULTS[fault], scenario.array
    one_step = len(set(scenario.load.threads)) == 1
    hidden = array.parallel_media is not None and array.parallel_media < array.parallel_servers
    if one_step and ((truth.grows and hidden) or len(reading.unread) > 1):
        return False
    return not set(truth.seen_by) & reading.unread

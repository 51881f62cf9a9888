"""Finds loads whose volume no source reports: the arrays that are read moved nothing for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from sanpath.facts.load.matching_traffic import flows_of, moves_less, traffic_of
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import SourceLink, Step
from sanpath.topology.paths import hosts_of, io_paths, load_of_job, luns_of
from sanpath.topology.topology import SAME_TRAFFIC, Topology
from sanpath.topology.vm_moves import Report

_NOTHING_RATIO = 0.01
"""Share of a load's bytes below which volumes do not carry it. Their other I/O, such as a file system's own writes,
may reach this share: sanpath's own choice."""


def unread_volumes(
    topology: Topology,
    steps: Sequence[Step],
    load_samples: Sequence[StepSamples],
    volume_samples: Callable[[], Sequence[StepSamples]],
) -> list[Report]:
    """Return reports that loads target a volume which no source reports.

    A load whose LUN is not known could be on any volume that an array presents to its hosts. If every array on its
    paths counts these volumes, and they moved hardly anything in each step, it is on none of them. An array with a
    busy volume that it presents to no host does not report everything that it presents. `volume_samples` is called
    only if a load's volume is not known.
    """
    loads = {load: arrays for load in _loads_without_volume(topology) if (arrays := _arrays_of(topology, load))}
    if not loads:
        return []
    by_volume: dict[str, list[StepSamples]] = defaultdict(list)
    for sample in volume_samples():
        by_volume[topology.known_as.get((sample.source, "volume", sample.entity), "")].append(sample)
    reports: list[Report] = []
    for load, arrays in loads.items():
        presented = [_presented(topology, load, array) for array in sorted(arrays)]
        volumes = {volume for of_array in presented for volume in of_array}
        if not all(presented) or not volumes <= by_volume.keys() or _with_unknown_host(topology, arrays, by_volume):
            continue
        traffic = traffic_of([sample for volume in volumes for sample in by_volume[volume]])
        if moves_less(traffic, list(flows_of(topology, steps, load_samples, [load])), _NOTHING_RATIO):
            names = ", ".join(topology.entities[array].label for array in sorted(arrays))
            evidence = f"the volumes that {names} presents to its host moved hardly any of the load's bytes"
            ends = (("load", topology.entities[load].label), ("volume", f"of {topology.entities[load].label}"))
            reports.append((SAME_TRAFFIC, 0, SourceLink("targets", *ends, evidence)))
    return reports


def _loads_without_volume(topology: Topology) -> Iterator[str]:
    """Yield the loads, not their jobs, whose targets and LUNs lead to no known volume."""
    for load in topology.of_kind("load"):
        ends = [*topology.related(load.id, "targets"), *luns_of(topology, load.id)]
        if load_of_job(topology, load.id) == load.id and not topology.behind(ends, "volume"):
            yield load.id


def _arrays_of(topology: Topology, load: str) -> Set[str]:
    """Return the arrays that the paths of a load lead to. Empty: not known."""
    return {path.array for path in io_paths(topology, load) if path.array}


def _presented(topology: Topology, load: str, array: str) -> list[str]:
    """Return the volumes that an array presents to the hosts of a load."""
    presented = {
        volume for host in hosts_of(topology, load) for volume in topology.related(host, "presents", "volume")
    }
    return sorted(presented.intersection(topology.members(array, "volume")))


def _with_unknown_host(topology: Topology, arrays: Set[str], samples: Mapping[str, Sequence[StepSamples]]) -> bool:
    """Return whether an array has a busy volume that it presents to no host."""
    alone = {v for array in arrays for v in topology.members(array, "volume") if not topology.related(v, "presents")}
    return any(moved for volume in alone for moved, _ in traffic_of(samples.get(volume, ())).values())

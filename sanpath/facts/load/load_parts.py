"""Divides a load into parts with paths of their own: what limits one host or device need not limit the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace

from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step
from sanpath.topology.paths import hosts_of, machines_of, root_of
from sanpath.topology.topology import Topology

_MOST_PARTS = 16
"""More parts are not judged by themselves: the time of a diagnosis grows with them. sanpath's own choice."""


def load_parts(
    topology: Topology,
    steps: Sequence[Step],
    load_samples: Sequence[StepSamples],
    samples: Mapping[str, Sequence[StepSamples]],
    loads: Sequence[LoadFacts],
) -> list[list[LoadFacts]]:
    """Return the parts of the loads, each in all steps in which it does I/O: what the jobs of each host do, and of
    each target where all of a host's jobs name theirs. Empty: there is one part, or it is not known which job belongs
    to which.

    `load_samples`: those of the jobs. `samples`: entity kind → its samples. `loads`: all parts together. Virtual
    machines count as their host.
    """
    parts = _by_jobs(topology, steps, load_samples) if load_samples else _by_devices(topology, samples, loads)
    if not 1 < len(parts) <= _MOST_PARTS:
        return []
    wholes = {(load.step, load.direction): load for load in loads}
    return [
        [replace(load, whole=wholes[key]) for load in part if (key := (load.step, load.direction)) in wholes]
        for part in parts
    ]


def _by_jobs(topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[list[LoadFacts]]:
    by_host = _grouped(samples, [_hosts(topology, _job(topology, sample)) for sample in samples]) or [list(samples)]
    by_target = [part for of_host in by_host for part in _by_targets(topology, of_host)]
    groups = by_target if len(by_target) <= _MOST_PARTS else by_host
    if not 1 < len(groups) <= _MOST_PARTS:
        return []
    shared_roots = _in_several([{root_of(topology, _job(topology, each)) for each in group} for group in groups])
    shared_sources = _in_several([{each.source for each in group} for group in groups])
    return [
        [
            replace(load, roots=_own_roots(topology, load, shared_roots))
            for load in load_facts(topology, _own_steps(steps, group, shared_sources), group)
        ]
        for group in groups
    ]


def _in_several(sets: Sequence[set[str]]) -> set[str]:
    """Return what more than one of the sets contains."""
    counted = Counter(each for found in sets for each in found)
    return {each for each, count in counted.items() if count > 1}


def _by_targets(topology: Topology, samples: Sequence[StepSamples]) -> list[list[StepSamples]]:
    """Return the samples of the jobs of each target; all together if one names none, or two share some of theirs."""
    targets = [tuple(sorted(topology.related(_job(topology, sample), "targets"))) for sample in samples]
    all_targets = [target for each in set(targets) for target in each]
    if () in targets or len(all_targets) > len(set(all_targets)):
        return [list(samples)]
    return _grouped(samples, targets)


def _grouped(samples: Sequence[StepSamples], keys: Sequence[Sequence[Hashable]]) -> list[list[StepSamples]]:
    groups: defaultdict[Hashable, list[StepSamples]] = defaultdict(list)
    for sample, key in zip(samples, keys, strict=True):
        groups[tuple(key)].append(sample)
    return [] if () in groups else list(groups.values())


def _by_devices(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]], loads: Sequence[LoadFacts]
) -> list[list[LoadFacts]]:
    """Return what the block devices of each host, or the virtual disks of its machines, do. Empty: it is not known of
    one whose it is, or nothing but an array counts the I/O."""
    by_host: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for machine in dict.fromkeys(root for load in loads for root in load.roots):
        by_host[tuple(_hosts(topology, machine))].append(machine)
    if () in by_host or len(by_host) < 2 or any(load.seen_at_array for load in loads):
        return []
    return [host_loads(topology, samples, machines=machines) for machines in by_host.values()]


def _hosts(topology: Topology, load: str) -> list[str]:
    """Return the hosts of a job or machine, or its virtual machines if their hosts are not known."""
    for each in (load, root_of(topology, load)) if load in topology.entities else ():
        if found := hosts_of(topology, each) or machines_of(topology, each):
            return found
    return []


def _job(topology: Topology, sample: StepSamples) -> str:
    return topology.known_as.get((sample.source, "load", sample.entity), f"load:{sample.entity}")


def _own_roots(topology: Topology, load: LoadFacts, shared: Collection[str]) -> tuple[str, ...]:
    """Return the loads that the jobs of a part belong to; of a load in `shared`, which has jobs in other parts as
    well, its jobs themselves."""
    roots = {job: root_of(topology, job) for job in load.jobs}
    return tuple(dict.fromkeys(job if root in shared else root for job, root in roots.items()))


def _own_steps(steps: Sequence[Step], samples: Sequence[StepSamples], shared: Collection[str]) -> list[Step]:
    """Return the steps with the sources of one part alone. What a source was given to keep outstanding is that of the
    part unless the source is in `shared`: others have jobs of it as well."""
    sources = {sample.source for sample in samples}
    result = []
    for step in steps:
        own = tuple(load for load in step.loads if load.source in sources)
        offered = [None if load.source in shared else load.offered for load in own]
        total = sum(value for value in offered if value is not None) if own and None not in offered else None
        result.append(replace(step, loads=own or step.loads, offered=total))
    return result

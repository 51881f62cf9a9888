"""Divides a load into parts with separate paths: the limit of one host or device need not be the others'."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import job_entity, load_facts, runs_in
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step
from sanpath.topology.paths import hosts_of, load_of_job, machines_of
from sanpath.topology.topology import Topology

_Key = tuple[tuple[str, ...], tuple[str, ...]]
"""The common key of a part's jobs: their machine; and their targets, if every job of the machine names targets of its
own."""


@dataclass(frozen=True, slots=True)
class LoadPart:
    """A part of the loads, in all steps in which it does I/O, and these steps with its own settings."""

    steps: Sequence[Step]
    loads: Sequence[LoadFacts]


def load_parts(
    topology: Topology,
    steps: Sequence[Step],
    load_samples: Sequence[StepSamples],
    samples: Mapping[str, Sequence[StepSamples]],
    loads: Sequence[LoadFacts],
) -> list[LoadPart]:
    """Return the parts of the loads: the jobs of each machine, or of each target if the jobs name separate targets.
    Empty: there is one part, or the jobs cannot be assigned.

    `load_samples`: those of the jobs. `samples`: entity kind → its samples. `loads`: all parts together.
    """
    parts = _by_jobs(topology, steps, load_samples) if load_samples else _by_devices(topology, steps, samples, loads)
    wholes = {(load.step, load.direction): load for load in loads}
    of_wholes = (
        replace(part, loads=[replace(load, whole=wholes[k]) for load in part.loads if (k := _key_of(load)) in wholes])
        for part in parts
    )
    return [part for part in of_wholes if part.loads]


def _key_of(load: LoadFacts) -> tuple[str, str]:
    return load.step, load.direction


def _by_jobs(topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[LoadPart]:
    groups: defaultdict[_Key, list[StepSamples]] = defaultdict(list)
    for step in steps:
        jobs = [sample for sample in samples if sample.step == step.name and runs_in(sample, step)]
        for key, job in _keys(topology, jobs):
            groups[key].append(job)
    if len(groups) < 2:
        return []
    shared_roots = _elements_of_several(
        {load_of_job(topology, job_entity(topology, each)) for each in g} for g in groups.values()
    )
    shared_sources = _elements_of_several({each.source for each in group} for group in groups.values())
    parts = []
    for group in groups.values():
        own_steps = _own_steps(steps, group, shared_sources)
        own_loads = load_facts(topology, own_steps, group)
        with_roots = [replace(load, roots=_own_roots(topology, load, shared_roots)) for load in own_loads]
        parts.append(LoadPart(own_steps, with_roots))
    return parts


def _keys(topology: Topology, samples: Sequence[StepSamples]) -> Iterator[tuple[_Key, StepSamples]]:
    """Yield the samples of the jobs of a step, each with the key of its part."""
    by_machine: defaultdict[tuple[str, ...], list[StepSamples]] = defaultdict(list)
    for sample in samples:
        by_machine[tuple(_machines(topology, job_entity(topology, sample)))].append(sample)
    if () in by_machine:  # A job's machine is not known: it may be any of them.
        by_machine = defaultdict(list, {(): list(samples)})
    for machine, own in by_machine.items():
        targets = [tuple(sorted(topology.related(job_entity(topology, sample), "targets"))) for sample in own]
        all_targets = [target for each in set(targets) for target in each]
        is_known = () not in targets and len(all_targets) == len(set(all_targets))
        yield from (((machine, each if is_known else ()), s) for each, s in zip(targets, own, strict=True))


def _elements_of_several(sets: Iterable[set[str]]) -> set[str]:
    """Return the elements of more than one of the sets."""
    counted = Counter(each for found in sets for each in found)
    return {each for each, count in counted.items() if count > 1}


def _by_devices(
    topology: Topology,
    steps: Sequence[Step],
    samples: Mapping[str, Sequence[StepSamples]],
    loads: Sequence[LoadFacts],
) -> list[LoadPart]:
    """Return the I/O of each host's block devices, or of its machines' virtual disks. Empty: a device's owner is not
    known, or only an array counts the I/O."""
    by_host: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for machine in dict.fromkeys(root for load in loads for root in load.roots):
        by_host[tuple(hosts_of(topology, machine) or _machines(topology, machine))].append(machine)
    if () in by_host or len(by_host) < 2 or any(load.seen_at_array for load in loads):
        return []
    return [LoadPart(steps, host_loads(topology, samples, machines=machines)) for machines in by_host.values()]


def _machines(topology: Topology, load: str) -> list[str]:
    """Return the machines of a job, or of the load that it belongs to."""
    if load not in topology.entities:
        return []
    return machines_of(topology, load) or machines_of(topology, load_of_job(topology, load))


def _own_roots(topology: Topology, load: LoadFacts, shared: Collection[str]) -> tuple[str, ...]:
    """Return the loads that a part's jobs belong to; for a load in `shared`, which has jobs in other parts as well,
    the jobs themselves."""
    roots = {job: load_of_job(topology, job) for job in load.jobs}
    return tuple(dict.fromkeys(job if root in shared else root for job, root in roots.items()))


def _own_steps(steps: Sequence[Step], samples: Sequence[StepSamples], shared: Collection[str]) -> list[Step]:
    """Return the steps with the sources of one part alone. A source's settings are the part's, unless the source is
    in `shared`: other parts have jobs of it as well."""
    sources = {sample.source for sample in samples}
    result = []
    for step in steps:
        own = tuple(load for load in step.loads if load.source in sources)
        if not own:
            result.append(replace(step, offered=None))
            continue
        offered = [None if load.source in shared else load.offered for load in own]
        sizes = {load.block_bytes for load in own}
        result.append(
            replace(
                step,
                loads=own,
                offered=None if None in offered else sum(value for value in offered if value is not None),
                block_bytes=sizes.pop() if len(sizes) == 1 else None,
                rate_limited=any(load.rate_limited for load in own),
            )
        )
    return result

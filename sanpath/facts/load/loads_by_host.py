"""Divides a test's load among the hosts that it runs on: what limits one host may be far from limiting another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step
from sanpath.topology.paths import hosts_of, machines_of, root_of
from sanpath.topology.topology import Topology


def loads_by_host(
    topology: Topology,
    steps: Sequence[Step],
    load_samples: Sequence[StepSamples],
    samples: Mapping[str, Sequence[StepSamples]],
    loads: Sequence[LoadFacts],
) -> dict[str, list[LoadFacts]]:
    """Return host → its part of each load in which it does I/O. Empty: a single host does it, or it is not known of a
    job on which host it runs.

    `load_samples`: those of the jobs. `samples`: entity kind → its samples. `loads`: the loads of all hosts together.
    Virtual machines count as their host.
    """
    parts = _by_jobs(topology, steps, load_samples) if load_samples else _by_devices(topology, samples, loads)
    of_test = {(load.step, load.direction): load for load in loads}
    return {
        host: [
            replace(load, of_test=of_test[key]) for load in of_host if (key := (load.step, load.direction)) in of_test
        ]
        for host, of_host in (parts.items() if len(parts) > 1 else ())
    }


def _by_jobs(
    topology: Topology, steps: Sequence[Step], samples: Sequence[StepSamples]
) -> dict[str, list[LoadFacts]]:
    """Return host → the loads of its jobs. Empty: it is not known of one where it runs."""
    by_host: defaultdict[str, list[StepSamples]] = defaultdict(list)
    for sample in samples:
        hosts = _hosts_of_job(topology, sample)
        if len(hosts) != 1:
            return {}
        by_host[hosts[0]].append(sample)
    return {
        host: [
            replace(load, roots=_own_roots(topology, load))
            for load in load_facts(topology, _without_others(steps, own_samples), own_samples)
        ]
        for host, own_samples in (by_host.items() if len(by_host) > 1 else ())
    }


def _by_devices(
    topology: Topology, samples: Mapping[str, Sequence[StepSamples]], loads: Sequence[LoadFacts]
) -> dict[str, list[LoadFacts]]:
    """Return host → what its block devices, or the virtual disks of its machines, do. Empty: it is not known of one
    whose it is, or nothing but an array counts the I/O."""
    by_host: defaultdict[str, list[str]] = defaultdict(list)
    for machine in dict.fromkeys(root for load in loads for root in load.roots):
        hosts = hosts_of(topology, machine) or machines_of(topology, machine)
        if len(hosts) != 1 or any(load.seen_at_array for load in loads):
            return {}
        by_host[hosts[0]].append(machine)
    return {host: host_loads(topology, samples, machines=machines) for host, machines in by_host.items()}


def _hosts_of_job(topology: Topology, sample: StepSamples) -> list[str]:
    """Return the host of a job, or the virtual machine if its host is not known."""
    job = topology.known_as.get((sample.source, "load", sample.entity), f"load:{sample.entity}")
    if job not in topology.entities:
        return []
    for load in (job, root_of(topology, job)):
        if found := hosts_of(topology, load) or machines_of(topology, load):
            return found
    return []


def _own_roots(topology: Topology, load: LoadFacts) -> tuple[str, ...]:
    """Return the loads that the jobs of one host belong to; the jobs themselves, where a load has jobs on others."""
    return tuple(
        dict.fromkeys(
            job if len(hosts_of(topology, root)) > 1 or len(machines_of(topology, root)) > 1 else root
            for job in load.jobs
            for root in (root_of(topology, job),)
        )
    )


def _without_others(steps: Sequence[Step], samples: Sequence[StepSamples]) -> list[Step]:
    """Return the steps with the sources of one host alone. What it was given to keep outstanding is known only from
    its jobs."""
    sources = {sample.source for sample in samples}
    result = []
    for step in steps:
        own = tuple(load for load in step.loads if load.source in sources)
        offered = [load.offered for load in own]
        total = sum(value for value in offered if value is not None) if own and None not in offered else None
        result.append(replace(step, loads=own or step.loads, offered=total))
    return result

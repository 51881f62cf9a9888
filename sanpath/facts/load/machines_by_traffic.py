"""Finds the machine of a load whose result names none, if several machines are read: one has a device that moved
exactly the load's bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from sanpath.facts.load.matching_traffic import flows_of, moves_the_same, traffic_of
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Step
from sanpath.topology.paths import load_of_job, machines_of
from sanpath.topology.result_files import link_to_machine
from sanpath.topology.topology import SAME_TRAFFIC, Topology
from sanpath.topology.vm_moves import Report


def machines_by_traffic(
    topology: Topology,
    steps: Sequence[Step],
    load_samples: Sequence[StepSamples],
    device_samples: Callable[[], Sequence[StepSamples]],
) -> list[Report]:
    """Return reports that join loads without a machine to the machine with their traffic.

    A machine has it if one of its devices moved the load's bytes in each direction, in every step in which both were
    measured, and no device of another machine did. `device_samples` is called only if a load has no machine.
    """
    loads = [e.id for e in topology.of_kind("load") if load_of_job(topology, e.id) == e.id]
    loads = [load for load in loads if not machines_of(topology, load)]
    machines = _machines_of_devices(topology) if loads else {}
    if not machines:
        return []
    by_device: dict[str, list[StepSamples]] = defaultdict(list)
    for sample in device_samples():
        by_device[topology.known_as.get((sample.source, "lun", sample.entity), "")].append(sample)
    traffic = {device: traffic_of(by_device[device]) for device in machines if device in by_device}
    reports: list[Report] = []
    for load in loads:
        flows = list(flows_of(topology, steps, load_samples, [load]))
        found = {machines[device] for device, moved in traffic.items() if moves_the_same(moved, flows)}
        if len(found) == 1:
            reports += _joined(topology, load, found.pop())
    return reports


def _machines_of_devices(topology: Topology) -> Mapping[str, str]:
    """Return block device → its machine, without hypervisors whose guests are known: these run no load."""
    with_guests = {host for vm in topology.of_kind("vm") for host in topology.related(vm.id, "runs_on", "host")}
    machines = [*topology.of_kind("vm"), *(host for host in topology.of_kind("host") if host.id not in with_guests)]
    return {
        device: machine.id for machine in machines for device in topology.related(machine.id, "attached_to", "lun")
    }


def _joined(topology: Topology, load: str, machine: str) -> Iterator[Report]:
    """Yield what the result files of a load would say if they named their machine."""
    name = topology.entities[machine].label
    evidence = f"{SAME_TRAFFIC}: a device of {name} moved the load's bytes; no device of another machine did"
    for source, _ in topology.entities[load].known_as:
        parts = [
            (entity.kind, local_id)
            for kind in ("load", "lun")
            for entity in topology.of_kind(kind)
            for reported_by, local_id in entity.known_as
            if reported_by == source and load_of_job(topology, entity.id) == entity.id
        ]
        for item in link_to_machine(source, name, parts, evidence):
            yield source, 0, item

"""Finds a load's host among the hosts that only an array reports: the names differ, but the bytes match."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sanpath.facts.load.matching_traffic import Traffic, flows_of, moves_the_same, traffic_of
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Entity, SourceEntity, SourceLink, Step
from sanpath.topology.keys import INITIATOR_KEYS
from sanpath.topology.paths import hosts_of, initiators_of, load_of_job, machine_of, machines_of, targets_of
from sanpath.topology.topology import SAME_TRAFFIC, Topology
from sanpath.topology.vm_moves import Report


@dataclass(frozen=True, slots=True)
class _ArrayHost:
    """A host that an array reports, its volumes with I/O, and their traffic."""

    entity: Entity
    volumes: Sequence[str]
    traffic: Traffic


def hosts_by_traffic(
    topology: Topology,
    steps: Sequence[Step],
    load_samples: Sequence[StepSamples],
    volume_samples: Callable[[], Sequence[StepSamples]],
) -> list[Report]:
    """Return reports that join the machines of loads to hosts that an array reports under another name.

    An array names its hosts as its administrator did; a load names its machine as the machine calls itself. If
    neither the machine's adapters nor its LUNs are read, only the I/O is common to both. A host is joined if its
    volumes moved the load's bytes in each direction, in every step in which both were measured, and no other host's
    volumes did; and no two machines may have one host's traffic. `volume_samples` is called only if a load has no
    path.
    """
    loads_of_machines = _without_path(topology)
    candidates = list(_hosts_of_arrays(topology, volume_samples())) if loads_of_machines else []
    if not candidates:
        return []
    same: dict[str, list[_ArrayHost]] = {}
    for machine, loads in loads_of_machines.items():
        flows = list(flows_of(topology, steps, load_samples, loads))
        same[machine] = [host for host in candidates if moves_the_same(host.traffic, flows)]
    matches = Counter(host.entity.id for hosts in same.values() for host in hosts)
    return [
        (SAME_TRAFFIC, 0, item)
        for machine, hosts in same.items()
        if len(hosts) == 1 and matches[hosts[0].entity.id] == 1
        for item in _joined(topology, machine, loads_of_machines[machine], hosts[0])
    ]


def _without_path(topology: Topology) -> dict[str, list[str]]:
    """Return machine → its loads, for loads that are not joined to a volume or a fabric. A load without a known
    machine is under its own name."""
    found: dict[str, list[str]] = defaultdict(list)
    for load in topology.of_kind("load"):
        root, machine = load_of_job(topology, load.id), machine_of(topology, load.id)
        is_job = root != load.id
        if (is_job and machine_of(topology, root)) or (machine is None and (is_job or machines_of(topology, root))):
            continue  # The load itself, or each of its jobs, has the machine.
        has_target = {load.id, root} & topology.with_unread_target or any(targets_of(topology, load.id, root))
        if not has_target and not initiators_of(topology, load.id):
            found[machine or load.id].append(load.id)
    return found


def _hosts_of_arrays(topology: Topology, samples: Sequence[StepSamples]) -> Iterator[_ArrayHost]:
    """Yield the hosts with I/O that only arrays know, and that no load is known to run on."""
    with_loads = {host for load in topology.of_kind("load") for host in hosts_of(topology, load.id)}
    by_volume: dict[str, list[StepSamples]] = defaultdict(list)
    for sample in samples:
        by_volume[topology.known_as.get((sample.source, "volume", sample.entity), "")].append(sample)
    for host in topology.of_kind("host"):
        is_read = bool(topology.related(host.id, "attached_to", "lun"))
        if is_read or host.id in with_loads or host.ids.keys().isdisjoint(INITIATOR_KEYS):
            continue
        presented = {
            volume: traffic_of(by_volume[volume]) for volume in topology.related(host.id, "presents", "volume")
        }
        busy = [volume for volume, traffic in presented.items() if any(moved for moved, _ in traffic.values())]
        if busy:
            yield _ArrayHost(host, busy, traffic_of([sample for volume in busy for sample in by_volume[volume]]))


def _joined(
    topology: Topology, machine: str, loads: Sequence[str], host: _ArrayHost
) -> Iterator[SourceEntity | SourceLink]:
    """Yield what a person would write into sanpath.yaml: the machine is this host, or runs on it, and the targets of
    its loads."""
    evidence = f"the volumes of {host.entity.label} moved the same bytes as the load; no other host's volumes did"
    entity = topology.entities[machine]
    if entity.kind == "host":
        ids = {key: host.entity.ids[key] for key in INITIATOR_KEYS if key in host.entity.ids}
        yield SourceEntity("host", entity.label, entity.label, {"name": (entity.label,), **ids})
    else:
        yield SourceLink("runs_on", (entity.kind, entity.label), ("host", host.entity.label), evidence)
    for load in dict.fromkeys(load_of_job(topology, load) for load in loads):
        for volume in host.volumes:
            ends = [(topology.entities[end].kind, topology.entities[end].label) for end in (load, volume)]
            yield SourceLink("targets", ends[0], ends[1], evidence)

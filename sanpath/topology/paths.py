"""Cables and I/O paths: from a load over its host's initiators and the switches to the target ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Literal

import networkx as nx

from sanpath.topology.identity import Topology

_HOPS = 14
"""Longest path searched: initiator, port, switch, port and so on over four switches; a mesh would explode."""
_ROUTES = 16
"""Most ways of equal length that are told apart between an initiator and a target port: parallel ISLs."""


_OPPOSITE: dict[Literal["host", "array"], Literal["host", "array"]] = {"host": "array", "array": "host"}


@dataclass(frozen=True, slots=True)
class Cable:
    """A link with the switch port that counts its bytes and what is at its other end.

    `side`: the device there is of the host, or of the array, or it is a port of another switch. `facing`: which end
    of the path the switch port looks at: data towards the host leaves a port that faces it (tx), and enters one that
    faces the array (rx). `group`: links that carry the test's I/O beside each other. `uplink_of`: the initiators that
    share it where several have logged in at one port: another switch is cabled there, or an adapter with many names.
    """

    id: str
    switch_port: str
    device: str
    side: Literal["host", "array", "switch"]
    facing: Literal["host", "array"]
    group: str
    uplink_of: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """What is at its other end, or behind it."""
        return self.uplink_of or (self.device,)

    def counter(self, direction: str) -> Literal["rx", "tx"]:
        """Which of the switch port's counters holds the bytes of a direction."""
        return "tx" if (direction == "read") == (self.facing == "host") else "rx"

    @property
    def from_far_end(self) -> Cable:
        """The same link as the port of the other switch counts it."""
        return replace(self, switch_port=self.device, device=self.switch_port, facing=_OPPOSITE[self.facing])


@dataclass(frozen=True, slots=True)
class IoPath:
    """One way from an initiator to a target port. `cables` in the order host to array."""

    load: str
    host: str
    hba: str
    cables: tuple[Cable, ...]
    array_port: str
    array: str


def cables(topology: Topology) -> list[Cable]:
    """Every cable between a switch port and an initiator or target port."""
    found: dict[str, Cable] = {}
    for link in topology.links:
        if link.relation not in ("logged_in", "cabled_to"):
            continue
        ends = {topology.entities[e].kind: e for e in (link.from_entity, link.to_entity)}
        port, device = ends.get("switch_port"), ends.get("hba") or ends.get("array_port")
        if port and device:
            side: Literal["host", "array"] = "host" if "hba" in ends else "array"
            names = [topology.entities[e].label for e in ((device, port) if side == "host" else (port, device))]
            cable = Cable(f"link:{names[0]}--{names[1]}", port, device, side, side, side)
            found[cable.id] = cable
    return list(_with_uplinks(topology, found.values()))


def _with_uplinks(topology: Topology, found: Iterable[Cable]) -> Iterator[Cable]:
    """Initiators that have logged in at one port share one cable (NPV, Access Gateway, NPIV)."""
    by_port: dict[tuple[str, str], list[Cable]] = {}
    for cable in found:
        by_port.setdefault((cable.side, cable.switch_port), []).append(cable)
    for (side, port), here in by_port.items():
        if side == "host" and len(here) > 1:
            name = f"link:uplink--{topology.entities[port].label}"
            yield replace(here[0], id=name, uplink_of=tuple(cable.device for cable in here))
        else:
            yield from here


def machine_of(topology: Topology, load: str) -> str | None:
    """The virtual machine or host a load runs on. None: not known. A host may stand for a load that nobody reads."""
    if load.startswith("host:"):
        return load
    return next(iter(topology.related(load, "runs_on")), None)


def machines_of(topology: Topology, load: str) -> list[str]:
    """The virtual machines or hosts a load runs on: its own, or those of its jobs, which may run on several."""
    own = machine_of(topology, load)
    if own is not None:
        return [own]
    jobs = topology.related(load, "member_of", "load")
    return sorted({machine for job in jobs if (machine := machine_of(topology, job)) is not None})


def hosts_of(topology: Topology, load: str) -> list[str]:
    """The hosts a load runs on, directly or in virtual machines."""
    if (own := host_of(topology, load)) is not None:
        return [own]
    found: list[str] = []
    for machine in machines_of(topology, load):
        is_host = topology.entities[machine].kind == "host"
        found += [machine] if is_host else topology.related(machine, "runs_on", "host")[:1]
    return list(dict.fromkeys(found))


def host_of(topology: Topology, load: str) -> str | None:
    """The host a load runs on, directly or in a virtual machine. None: not known."""
    machine = machine_of(topology, load)
    if machine is None or topology.entities[machine].kind == "host":
        return machine
    return next(iter(topology.related(machine, "runs_on", "host")), None)


def initiators_of(topology: Topology, load: str) -> list[str]:
    """The initiator ports of the hosts a load runs on."""
    return [hba for host in hosts_of(topology, load) for hba in topology.related(host, "attached_to", "hba")]


def targets_of(topology: Topology, *loads: str) -> tuple[set[str], set[str]]:
    """Target ports and volumes that loads address, as far as they or their LUNs say so; empty: not known."""
    told = [_targets(topology, load) for load in loads]
    return {port for ports, _ in told for port in ports}, {volume for _, volumes in told for volume in volumes}


def _targets(topology: Topology, load: str) -> tuple[set[str], set[str]]:
    ports, volumes = set(), set()
    for target in topology.related(load, "targets"):
        kind = topology.entities[target].kind
        if kind == "array_port":
            ports.add(target)
        elif kind == "lun":
            volumes |= set(topology.related(target, "backed_by", "volume"))
        elif kind == "volume":
            volumes.add(target)
    if load.startswith("host:"):
        luns = topology.related(load, "attached_to", "lun")
        volumes = {volume for lun in luns for volume in topology.related(lun, "backed_by", "volume")}
    for host in [] if volumes else hosts_of(topology, load):
        presented = topology.related(host, "presents", "volume")
        volumes |= set(presented) if len(presented) == 1 else set()
    return ports, volumes


def io_paths(topology: Topology, *loads: str) -> list[IoPath]:
    """Every way the loads' I/O can take, by what is cabled; which of them carry it is told by the byte counters."""
    found = topology.paths_of_loads.get(loads)
    if found is None:  # Everybody asks, dozens of times a diagnosis, and to search takes long.
        found = topology.paths_of_loads[loads] = [path for load in loads for path in _paths(topology, load)]
    return list(found)


def on_paths(topology: Topology) -> dict[str, dict[str, set[str]]]:
    """Kind → source → ids, as that source has them, of what lies on the ways of any load's I/O."""
    loads = [entity.id for entity in topology.of_kind("load")] or [host.id for host in topology.of_kind("host")]
    ends = {end for path in io_paths(topology, *loads) for c in path.cables for end in (c.switch_port, c.device)}
    machines = {machine for load in loads for machine in machines_of(topology, load)}
    devices = {d for m in machines for kind in ("lun", "vdisk") for d in topology.related(m, "attached_to", kind)}
    found: dict[str, dict[str, set[str]]] = {}
    for entity in {*ends, *devices, *targets_of(topology, *loads)[1]}:
        for source, local in topology.entities[entity].known_as:
            found.setdefault(topology.entities[entity].kind, {}).setdefault(source, set()).add(local)
    return found


def _paths(topology: Topology, load: str) -> list[IoPath]:
    owners = {hba: host for host in hosts_of(topology, load) for hba in topology.related(host, "attached_to", "hba")}
    if not owners:
        return []
    ports, volumes = _targets(topology, load)
    arrays = {a for v in volumes for a in topology.related(v, "member_of", "array")}
    by_ends = {frozenset((c.switch_port, device)): c for c in cables(topology) for device in c.devices}
    fabric = _fabric(topology, by_ends)
    found = []
    for hba, host in owners.items():
        for port in topology.of_kind("array_port"):
            array = next(iter(topology.related(port.id, "member_of", "array")), "")
            if (ports and port.id not in ports) or (arrays and array not in arrays):
                continue
            if hba not in fabric or port.id not in fabric or not nx.has_path(fabric, hba, port.id):
                continue
            # Routing between switches takes the shortest way (FSPF); over parallel links it spreads the exchanges.
            routes = _through(topology, hba, islice(nx.all_shortest_paths(fabric, hba, port.id), _ROUTES))
            found += [
                IoPath(load, host, hba, tuple(_cables(topology, nodes, by_ends)), port.id, array)
                for nodes in routes
                if len(nodes) - 1 <= _HOPS
            ]
    return found


def _through(topology: Topology, hba: str, routes: Iterable[list[str]]) -> list[list[str]]:
    """The routes over the ports at which other switches know the initiator; all, where none of them leads there."""
    told = list(routes)
    known = set(topology.related(hba, "known_at", "switch_port"))
    return [nodes for nodes in told if not known.isdisjoint(nodes)] or told


def _cables(topology: Topology, nodes: Sequence[str], by_ends: dict[frozenset[str], Cable]) -> Iterator[Cable]:
    """The cables of a way from an initiator to a target port."""
    for near, far in pairwise(nodes):
        if (cable := by_ends.get(frozenset((near, far)))) is not None:
            yield cable
        elif all(topology.entities[node].kind == "switch_port" for node in (near, far)):
            names = [topology.entities[node].label for node in (near, far)]
            between = "--".join(switch_of(topology, node) or node for node in (near, far))
            yield Cable(f"link:{'--'.join(names)}", near, far, "switch", "array", between)


def switch_of(topology: Topology, port: str) -> str | None:
    """The switch that a port belongs to. None: not known."""
    return next(iter(topology.related(port, "member_of", "switch")), None)


def _fabric(topology: Topology, by_ends: dict[frozenset[str], Cable]) -> nx.Graph[str]:
    """Only what frames can cross: cables, and ports of one switch."""
    fabric: nx.Graph[str] = nx.Graph()
    for first, second in by_ends:
        fabric.add_edge(first, second)
    for link in topology.links:
        kinds = {topology.entities[e].kind for e in (link.from_entity, link.to_entity)}
        if (link.relation == "member_of" and kinds == {"switch_port", "switch"}) or (
            link.relation in ("cabled_to", "logged_in") and kinds == {"switch_port"}
        ):
            fabric.add_edge(link.from_entity, link.to_entity)
    return fabric

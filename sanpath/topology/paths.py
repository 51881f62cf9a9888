"""Finds cables and I/O paths: from a load over its host's initiators and the switches to the target ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Literal, cast

import networkx as nx

from sanpath.errors import RecordingError
from sanpath.topology.keys import INITIATOR_KEYS
from sanpath.topology.topology import Topology

_MAX_HOPS = 14
"""Maximum length of a path: initiator, port, switch, port … over four switches. A mesh would have too many."""
_MAX_ROUTES = 16
"""Maximum routes of equal length between an initiator and a target port: parallel ISLs."""
MAX_PATHS = 200_000
"""Maximum I/O paths of a recording. A hundred hosts with four ports each have 51,200 paths to an array with 128
ports. A small file can name millions."""
_MAX_SEARCHED_LINKS = 50_000_000
"""Maximum links searched for the paths of a load: 500 initiators in a fabric of 50,000 ports. Takes minutes."""
_VOLUME_KEYS = {"naa", "eui"}
"""Identifiers that a LUN and its volume have in common."""
_OPPOSITE: dict[Literal["host", "array"], Literal["host", "array"]] = {"host": "array", "array": "host"}


@dataclass(frozen=True, slots=True)
class Cable:
    """A link: the switch port that counts its bytes, and the device at its other end.

    `side`: whether the device belongs to the host or the array, or is a port of another switch. `facing`: the end of
    the path that the switch port faces. Data to the host leaves a port that faces the host (tx), and enters one that
    faces the array (rx). `group`: links that carry the test's I/O in parallel. `uplink_of`: the initiators or target
    ports that share the link, if several have logged in at its port: another switch is cabled to it, or an adapter
    with many names.
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
        """The devices at its other end, or behind it."""
        return self.uplink_of or (self.device,)

    def counter(self, direction: str) -> Literal["rx", "tx"]:
        """Return the counter of the switch port that counts the bytes of a direction."""
        return "tx" if (direction == "read") == (self.facing == "host") else "rx"

    @property
    def from_far_end(self) -> Cable:
        """The same link, seen from the port of the other switch."""
        return replace(self, switch_port=self.device, device=self.switch_port, facing=_OPPOSITE[self.facing])


@dataclass(frozen=True, slots=True)
class IoPath:
    """A path from an initiator to a target port. `cables`: in the order from host to array."""

    load: str
    host: str
    hba: str
    cables: tuple[Cable, ...]
    array_port: str
    array: str


def cables(topology: Topology) -> list[Cable]:
    """Return every cable between a switch port and an initiator or target port."""
    by_id: dict[str, Cable] = {}
    for link in topology.links:
        if link.relation not in ("logged_in", "cabled_to"):
            continue
        ends = {topology.entities[e].kind: e for e in (link.from_entity, link.to_entity)}
        port, device = ends.get("switch_port"), ends.get("hba") or ends.get("array_port")
        if port and device:
            side: Literal["host", "array"] = "host" if "hba" in ends else "array"
            names = [topology.entities[e].label for e in ((device, port) if side == "host" else (port, device))]
            cable = Cable(f"link:{names[0]}--{names[1]}", port, device, side, side, side)
            by_id[cable.id] = cable
    return list(_merge_uplinks(topology, by_id.values()))


def _merge_uplinks(topology: Topology, all_cables: Iterable[Cable]) -> Iterator[Cable]:
    """Merge the cables of initiators or target ports that have logged in at one port: they share it (NPV, Access
    Gateway, NPIV). A target port that names its array represents the others."""
    by_port: dict[tuple[str, str], list[Cable]] = {}
    for cable in all_cables:
        by_port.setdefault((cable.side, cable.switch_port), []).append(cable)
    for (side, port), port_cables in by_port.items():
        if len(port_cables) == 1:
            yield port_cables[0]
            continue
        devices = tuple(cable.device for cable in port_cables)
        if side == "host":
            yield replace(port_cables[0], id=f"link:uplink--{topology.entities[port].label}", uplink_of=devices)
        else:
            with_array = [cable for cable in port_cables if topology.related(cable.device, "member_of", "array")]
            yield replace(min(with_array or port_cables, key=lambda cable: cable.id), uplink_of=devices)


def array_of(topology: Topology, entity: str) -> str:
    """Return the array that an entity is part of; otherwise the entity itself."""
    return next(iter(topology.related(entity, "member_of", "array")), entity)


def machine_of(topology: Topology, load: str) -> str | None:
    """Return the virtual machine or host of a load, or a machine or volume in place of an unread load. None:
    unknown."""
    if load.startswith(("host:", "vm:")):
        return load
    if load.startswith("volume:"):
        hosts = topology.related(load, "presents", "host")
        return hosts[0] if len(hosts) == 1 else None
    return next(iter(topology.related(load, "runs_on")), None)


def loads_with_machine(topology: Topology) -> list[str]:
    """Return the loads and jobs whose machine is known."""
    return [load.id for load in topology.of_kind("load") if machine_of(topology, load.id)]


def load_of_job(topology: Topology, load: str) -> str:
    """Return the load that a job belongs to; for a load, the load itself."""
    return next(iter(topology.uppers(load, "load")), load)


def machines_of(topology: Topology, load: str) -> list[str]:
    """Return the virtual machines or hosts a load runs on. Its jobs may run on several."""
    return list(topology.cached(_machines, load))


def _machines(topology: Topology, load: str) -> list[str]:
    machine = machine_of(topology, load)
    if machine is not None:
        return [machine]
    jobs = topology.related(load, "member_of", "load")  # A load may have a job for each run and host.
    return sorted({machine for job in jobs if (machine := machine_of(topology, job)) is not None})


def hosts_of(topology: Topology, load: str) -> list[str]:
    """Return the hosts of a load, on which it runs directly or in virtual machines."""
    if (host := host_of(topology, load)) is not None:
        return [host]
    hosts: list[str] = []
    for machine in machines_of(topology, load):
        is_host = topology.entities[machine].kind == "host"
        hosts += [machine] if is_host else topology.related(machine, "runs_on", "host")[:1]
    return list(dict.fromkeys(hosts))


def hosts_of_all(topology: Topology, loads: Iterable[str]) -> list[str]:
    """Return the hosts that any of these loads runs on."""
    return list(dict.fromkeys(host for load in loads for host in hosts_of(topology, load)))


def host_of(topology: Topology, load: str) -> str | None:
    """Return the host a load runs on, directly or in a virtual machine. None: unknown."""
    machine = machine_of(topology, load)
    if machine is None or topology.entities[machine].kind == "host":
        return machine
    return next(iter(topology.related(machine, "runs_on", "host")), None)


def only_host(topology: Topology, loads: Sequence[str]) -> str | None:
    """Return the only host of these loads. None: there are several, or the host of a load is unknown."""
    hosts_by_load = [hosts_of(topology, load) for load in loads]
    hosts = {host for found in hosts_by_load for host in found}
    return hosts.pop() if len(hosts) == 1 and all(hosts_by_load) else None


def initiators_of(topology: Topology, load: str) -> list[str]:
    """Return the initiator ports of the hosts of a load.

    Hosts also have adapters without a link to a switch, such as AHCI, and network interfaces for other traffic. If
    any adapter with a technology has paths, only those with paths count.
    """
    return [hba for host in hosts_of(topology, load) for hba in topology.cached(_initiators, host)]


def _initiators(topology: Topology, host: str) -> list[str]:
    paths = paths_of_luns(topology, topology.related(host, "attached_to", "lun"))
    return _adapters_with_paths(topology, paths, _linked_adapters(topology, host))


def _linked_adapters(topology: Topology, host: str) -> list[str]:
    """Return the adapters of a host that are linked according to some source; if there are none, all."""
    adapters = topology.related(host, "attached_to", "hba")
    entities = [topology.entities[hba] for hba in adapters]
    linked = [e.id for e in entities if e.attributes.get("technology") or not e.ids.keys().isdisjoint(INITIATOR_KEYS)]
    return linked or adapters


def _adapters_with_paths(topology: Topology, paths: Iterable[str], adapters: Sequence[str]) -> list[str]:
    """Return the adapters with paths; if the adapter of a path is unknown, all."""
    ends = [topology.related(path, "attached_to", "hba") for path in paths]
    if not ends or not all(ends):
        return list(adapters)
    # The ports of a bond, or the port of a VLAN, carry the traffic of its paths.
    leading = topology.with_all_members((hba for hbas in ends for hba in hbas), "hba")
    return [hba for hba in adapters if hba in leading]


def paths_of_luns(topology: Topology, luns: Iterable[str]) -> list[str]:
    """Return the paths of multipath LUNs, and of those that logical volumes are made of."""
    return [path for lun in topology.with_all_members(luns, "lun") for path in topology.members(lun, "path")]


def parts_without_volume(topology: Topology, load: str) -> list[str]:
    """Return the LUNs that the logical volumes of a load are made of, and whose volumes no source reports."""
    own = luns_of(topology, load)
    luns = list(own)
    found: list[str] = []
    for lun in luns:
        parts = topology.members(lun, "lun")
        if topology.related(lun, "backed_by", "volume"):
            continue
        if lun not in own and (not parts or topology.members(lun, "path")):
            found.append(lun)
        else:
            luns += [part for part in parts if part not in luns]
    return found


def unread_ports_of_parts(topology: Topology, load: str) -> list[str]:
    """Return the target ports of no known array that paths of such LUNs lead to."""
    paths = paths_of_luns(topology, parts_without_volume(topology, load))
    ports = dict.fromkeys(port for path in paths for port in topology.related(path, "targets", "array_port"))
    return [port for port in ports if not topology.related(port, "member_of", "array")]


def targets_of(topology: Topology, *loads: str) -> tuple[set[str], set[str]]:
    """Return the target ports and volumes of loads, reported by themselves or by their LUNs; empty: unknown."""
    targets = [topology.cached(_targets, load) for load in loads]
    return {port for ports, _ in targets for port in ports}, {volume for _, volumes in targets for volume in volumes}


def luns_of(topology: Topology, load: str) -> list[str]:
    """Return the LUNs that a load names. If it names no target: the only LUN of its machine, or behind its machine's
    virtual disks. If a host represents an unread load: all its LUNs; if a LUN does: that LUN."""
    if load.startswith("host:"):
        return topology.related(load, "attached_to", "lun")
    if load.startswith("lun:"):
        return [load]
    if topology.related(load, "targets"):
        return topology.related(load, "targets", "lun")
    if _is_one_of(topology, load, topology.with_unread_target):
        return []
    luns = machine_luns(topology, load)
    return list(luns) if len(luns) == 1 else []


def _is_one_of(topology: Topology, load: str, loads: Set[str]) -> bool:
    """Return whether a load, or the load of a job, is one of these."""
    return not loads.isdisjoint((load, *topology.related(load, "member_of", "load")))


def machine_luns(topology: Topology, *loads: str) -> set[str]:
    """Return the LUNs of the machines of loads; for a machine without LUNs, those behind its virtual disks."""
    return set(topology.cached(_machine_luns, loads))


def _machine_luns(topology: Topology, loads: tuple[str, ...]) -> set[str]:
    machines = {machine for load in loads for machine in machines_of(topology, load)}
    luns = {lun for machine in machines for lun in topology.related(machine, "attached_to", "lun")}
    if luns:
        return luns
    disks = {disk for machine in machines for disk in topology.related(machine, "attached_to", "vdisk")}
    return {lun for disk in disks for lun in topology.related(disk, "backed_by", "lun")}


def _targets(topology: Topology, load: str) -> tuple[set[str], set[str]]:
    if load.startswith("volume:"):
        return set(), {load}
    ports = set(topology.related(load, "targets", "array_port"))
    volumes = topology.behind([*topology.related(load, "targets"), *luns_of(topology, load)], "volume")
    for host in [] if volumes else hosts_of(topology, load):
        presented = topology.related(host, "presents", "volume")
        volumes |= {volume for volume in presented if len(presented) == 1 and _may_be_behind(topology, load, volume)}
    return ports, volumes


def _may_be_behind(topology: Topology, load: str, volume: str) -> bool:
    """Return whether a volume without a common identifier may belong to a load: one of its LUNs has no identifier of
    the volume's kinds, or its LUNs are unknown and it names no unread volume."""
    if _is_one_of(topology, load, topology.with_unread_volume):
        return False
    luns, comparable = luns_of(topology, load), _VOLUME_KEYS & topology.entities[volume].ids.keys()
    return not luns or any(comparable.isdisjoint(topology.entities[lun].ids) for lun in luns)


def io_paths(topology: Topology, *loads: str) -> list[IoPath]:
    """Return every path that the loads' I/O can take: it is cabled, the zones allow it if they are read, and the
    host's multipathing has it if that is read. The byte counters show which of them carry it.

    Raises RecordingError for more paths than any load can have.
    """
    return list(topology.cached(_io_paths, loads))


def _io_paths(topology: Topology, loads: tuple[str, ...]) -> list[IoPath]:
    cabled = cabled_paths(topology, *loads)
    visible = visible_ports(topology, cabled)
    zoned = [path for path in cabled if not visible[path.hba] or path.array_port in visible[path.hba]]
    return _filter_by_multipathing(topology, zoned or cabled)


def visible_ports(topology: Topology, paths: Iterable[IoPath]) -> dict[str, set[str]]:
    """Return initiator of a path → the target ports that its zones allow. Empty: zones were not read."""
    return {hba: set(topology.related(hba, "zoned_with", "array_port")) for hba in {path.hba for path in paths}}


def _filter_by_multipathing(topology: Topology, paths: Sequence[IoPath]) -> list[IoPath]:
    """Return the I/O paths over initiators and target ports that multipathing uses, by the paths of the load's LUNs
    or else of the initiator.

    Target ports are compared only if all these paths name theirs. A load or an initiator that would lose all its I/O
    paths keeps them: its multipath paths may cross a switch that is not read."""
    loads, all_hbas = {path.load for path in paths}, [path.hba for path in paths]
    load_paths = {load: set(paths_of_luns(topology, luns_of(topology, load))) for load in loads}
    hbas = {load: set(_adapters_with_paths(topology, load_paths[load], all_hbas)) for load in loads}
    paths = [path for path in paths if path.hba in hbas[path.load] or not hbas[path.load]]
    ports_of: dict[tuple[str, str], set[str]] = {}
    for load, hba in {(path.load, path.hba) for path in paths}:
        hba_paths = topology.related(hba, "attached_to", "path")
        multipaths = [path for path in hba_paths if path in load_paths[load]] or hba_paths
        ends = [topology.related(path, "targets", "array_port") for path in multipaths]
        ports_of[load, hba] = {port for ports in ends for port in ports} if all(ends) else set()
    reached = {(path.load, path.hba) for path in paths if path.array_port in ports_of[path.load, path.hba]}
    return [
        path
        for path in paths
        if (path.load, path.hba) not in reached or path.array_port in ports_of[path.load, path.hba]
    ]


def cabled_paths(topology: Topology, *loads: str) -> list[IoPath]:
    """Return every path that is cabled for the loads' I/O, including paths that no zone allows.

    Raises RecordingError for more paths than any load can have.
    """
    return [path for load in loads for path in _paths(topology, load)]


def entities_on_paths(topology: Topology) -> dict[str, dict[str, set[str]]]:
    """Return kind → source → the source's own ids of the entities on the I/O paths of any load."""
    loads = [entity.id for entity in topology.of_kind("load")] or [host.id for host in topology.of_kind("host")]
    ends = {
        end
        for path in io_paths(topology, *loads)
        for cable in path.cables
        for end in (cable.switch_port, cable.device, path.hba, path.array_port)
    }
    machines = {machine for load in loads for machine in machines_of(topology, load)}
    devices = {
        device
        for machine in machines
        for kind in ("lun", "vdisk")
        for device in topology.related(machine, "attached_to", kind)
    }
    by_kind: dict[str, dict[str, set[str]]] = {}
    for entity in {*ends, *devices, *targets_of(topology, *loads)[1]}:
        for source, source_id in topology.entities[entity].known_as:
            by_kind.setdefault(topology.entities[entity].kind, {}).setdefault(source, set()).add(source_id)
    return by_kind


def _paths(topology: Topology, load: str) -> list[IoPath]:
    owners = {hba: host for host in hosts_of(topology, load) for hba in topology.related(host, "attached_to", "hba")}
    if not owners:
        return []
    ports, volumes = _targets(topology, load)
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    unread_ports = unread_ports_of_parts(topology, load)
    is_unread = _is_one_of(topology, load, topology.with_unread_volume)
    by_ends = {
        frozenset((cable.switch_port, device)): cable for cable in cables(topology) for device in cable.devices
    }
    fabric = _fabric(topology, by_ends)
    if len(owners) * fabric.number_of_edges() > _MAX_SEARCHED_LINKS:
        raise RecordingError(f"the recording has {len(owners):,} initiators of a load in too large a fabric")
    paths: list[IoPath] = []
    for hba, host in owners.items():
        # Routing between switches takes the shortest path (FSPF); over parallel links it spreads the exchanges. One
        # search serves all target ports: a recording may have thousands of each.
        found = nx.predecessor(fabric, hba, cutoff=_MAX_HOPS) if hba in fabric else {}
        towards_hba = cast("dict[str, list[str]]", found)
        for port in topology.of_kind("array_port"):
            array = next(iter(topology.related(port.id, "member_of", "array")), "")
            # A part of a logical volume may be on an array that is not read.
            is_elsewhere = arrays and array not in arrays and port.id not in unread_ports
            if (ports and port.id not in ports) or is_elsewhere:
                continue
            if is_unread and array and topology.members(array, "volume"):
                continue
            if port.id not in towards_hba:
                continue
            routes = _routes_by_known_ports(topology, hba, islice(_routes(towards_hba, port.id), _MAX_ROUTES))
            paths += [
                IoPath(load, host, hba, tuple(_cables(topology, nodes, by_ends)), port.id, array) for nodes in routes
            ]
            if len(paths) > MAX_PATHS:
                raise RecordingError(f"the recording has more than {MAX_PATHS:,} I/O paths of one load")
    return paths


def _routes(towards_hba: Mapping[str, Sequence[str]], port: str) -> Iterator[list[str]]:
    """Yield the shortest routes from an initiator to a port. `towards_hba`: node → previous nodes on these routes."""
    before = towards_hba[port]
    if not before:
        yield [port]
    for node in before:
        for route in _routes(towards_hba, node):
            yield [*route, port]


def _routes_by_known_ports(topology: Topology, hba: str, routes: Iterable[list[str]]) -> list[list[str]]:
    """Return the routes through ports at which other switches know the initiator; if there are none, all routes."""
    all_routes = list(routes)
    known_ports = set(topology.related(hba, "known_at", "switch_port"))
    return [route for route in all_routes if not known_ports.isdisjoint(route)] or all_routes


def _cables(topology: Topology, nodes: Sequence[str], by_ends: dict[frozenset[str], Cable]) -> Iterator[Cable]:
    """Yield the cables of a route from an initiator to a target port."""
    for first, second in pairwise(nodes):
        if (cable := by_ends.get(frozenset((first, second)))) is not None:
            yield cable
        elif all(topology.entities[node].kind == "switch_port" for node in (first, second)):
            names = [topology.entities[node].label for node in (first, second)]
            switches = "--".join(switch_of(topology, node) or node for node in (first, second))
            yield Cable(f"link:{'--'.join(names)}", first, second, "switch", "array", switches)


def switch_of(topology: Topology, port: str) -> str | None:
    """Return the switch that a port belongs to. None: unknown."""
    return next(iter(topology.related(port, "member_of", "switch")), None)


def _fabric(topology: Topology, by_ends: dict[frozenset[str], Cable]) -> nx.Graph[str]:
    """Return the graph that frames can cross: cables, and connections inside a switch."""
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

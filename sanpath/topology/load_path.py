"""The path of the test's I/O from the load over links and switches to the media, as a list of stops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sanpath.topology.paths import IoPath, host_of, io_paths, loads_with_machine, machine_of, switch_of, targets_of
from sanpath.topology.topology import Topology

LEVELS = (
    *("load", "vm", "vdisk", "host", "lun", "hba", "link", "switch", "array_port"),
    *("controller", "array", "volume", "media"),
)
"""Kinds in the order in which an I/O passes them; a link comes before the entity at its remote end."""


@dataclass(frozen=True, slots=True)
class Stop:
    """An entity or link on the path. `entity` "": no source reports an entity of this kind."""

    kind: str
    entity: str


def io_path(topology: Topology) -> tuple[Stop, ...]:
    """Every stop that the loads' I/O can pass, in that order; () without a load."""
    loads = loads_with_machine(topology)
    if not loads:
        return ()
    stops = (*_host_stops(topology, loads), *_fabric_stops(topology, loads), *_array_stops(topology, loads))
    ordered = list(dict.fromkeys(stops))
    kinds = {stop.kind for stop in ordered}
    # A kind that no source reports is a stop as well: unread does not mean absent.
    missing = [Stop(kind, "") for kind in ("hba", "link", "array", "volume", "media") if kind not in kinds]
    level = {kind: number for number, kind in enumerate(LEVELS)}
    for stop in missing:
        after = [n for n, earlier in enumerate(ordered) if level[earlier.kind] < level[stop.kind]]
        ordered.insert(after[-1] + 1 if after else 0, stop)
    return tuple(ordered)


def load_and_machines(topology: Topology, load: str) -> list[str]:
    """Return a load, its virtual machine and the host below, as far as they are known."""
    machine, host = machine_of(topology, load), host_of(topology, load)
    return [load, *dict.fromkeys(e for e in (machine, host) if e is not None and e != load)]


def _stops(topology: Topology, entities: Iterable[str]) -> Iterator[Stop]:
    for entity in entities:
        yield Stop(topology.entities[entity].kind, entity)


def _host_stops(topology: Topology, loads: list[str]) -> Iterator[Stop]:
    """Loads, machines, hosts, and the hosts' queues in which the load's I/O waits."""
    machines = list(dict.fromkeys(m for load in loads if (m := machine_of(topology, load))))
    hosts = list(dict.fromkeys(h for load in loads if (h := host_of(topology, load))))
    queues = [t for load in loads for t in topology.related(load, "targets")]
    yield from _stops(topology, loads)
    guests = [machine for machine in machines if machine not in hosts]
    inside = [e for guest in guests for e in topology.related(guest, "attached_to")]
    luns = _filter_kind(topology, queues, "lun")
    yield from _stops(topology, guests)
    yield from _stops(topology, _filter_kind(topology, [*queues, *inside], "vdisk"))
    yield from _stops(topology, (lun for lun in luns if lun in inside))
    yield from _stops(topology, hosts)
    yield from _stops(topology, (lun for lun in luns if lun not in inside))


def _filter_kind(topology: Topology, entities: Iterable[str], kind: str) -> list[str]:
    return [e for e in entities if topology.entities[e].kind == kind]


def _fabric_stops(topology: Topology, loads: list[str]) -> Iterator[Stop]:
    """Initiators, links, switches and target ports, grouped by their distance from the host."""
    paths = io_paths(topology, *loads)
    if not paths:
        hosts = dict.fromkeys(h for load in loads if (h := host_of(topology, load)))
        yield from _stops(topology, (hba for host in hosts for hba in topology.related(host, "attached_to", "hba")))
        return
    yield from _stops(topology, (path.hba for path in paths))
    for number in range(max(len(path.cables) for path in paths)):
        reached = [path for path in paths if number < len(path.cables)]
        # The last link of a shorter path comes directly before its target port, too.
        yield from (Stop("link", path.cables[number].id) for path in reached)
        yield from _stops(topology, (s for path in reached if (s := _switch(topology, path, number))))
    yield from _stops(topology, (path.array_port for path in paths))


def _switch(topology: Topology, path: IoPath, number: int) -> str | None:
    """The switch at the remote end of the link of this number, from the host. None: the target, or unknown."""
    if number + 1 >= len(path.cables):
        return None
    return switch_of(topology, path.cables[number + 1].switch_port)


def _array_stops(topology: Topology, loads: list[str]) -> Iterator[Stop]:
    """Controllers, arrays, volumes and their media."""
    ports = {path.array_port for path in io_paths(topology, *loads)}
    _, volumes = targets_of(topology, *loads)
    owners = [o for e in sorted(ports | volumes) for o in topology.related(e, "member_of")]
    arrays = sorted(_filter_kind(topology, owners, "array"))
    members = [member for array in arrays for member in topology.related(array, "member_of")]
    yield from _stops(topology, sorted(_filter_kind(topology, members, "controller")))
    yield from _stops(topology, arrays)
    yield from _stops(topology, sorted(volumes))
    yield from _stops(topology, sorted(_filter_kind(topology, members, "media")))

"""The way of the test's I/O from the load over links and switches to the media: what the path page goes along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sanpath.topology.identity import Topology
from sanpath.topology.paths import IoPath, host_of, io_paths, machine_of, switch_of, targets_of

LEVELS = (
    *("load", "vm", "vdisk", "host", "lun", "hba", "link", "switch", "array_port"),
    *("controller", "array", "volume", "media"),
)
"""Kinds in the order in which an I/O meets them; a link stands before the thing at its far end."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A thing or link on the way. `entity` "": no source names a thing of this kind there."""

    kind: str
    entity: str


def way(topology: Topology) -> tuple[Stop, ...]:
    """Every thing that the loads' I/O can pass, in the order in which it meets them; () without a load."""
    loads = [load.id for load in topology.of_kind("load") if machine_of(topology, load.id)]
    if not loads:
        return ()
    found: dict[Stop, None] = {}
    for stop in (*_above(topology, loads), *_between(topology, loads), *_below(topology, loads)):
        found.setdefault(stop)
    kinds = {stop.kind for stop in found}
    # What nobody names is a stop as well: not seen is not the same as not there.
    missing = [Stop(kind, "") for kind in ("hba", "link", "array", "volume", "media") if kind not in kinds]
    place = {kind: number for number, kind in enumerate(LEVELS)}
    ordered = list(found)
    for stop in missing:
        after = [n for n, other in enumerate(ordered) if place[other.kind] < place[stop.kind]]
        ordered.insert(after[-1] + 1 if after else 0, stop)
    return tuple(ordered)


def _stops(topology: Topology, entities: Iterable[str]) -> Iterator[Stop]:
    for entity in entities:
        yield Stop(topology.entities[entity].kind, entity)


def _above(topology: Topology, loads: list[str]) -> Iterator[Stop]:
    """Load, machine, host, and the queues that the load's I/O waits in there."""
    machines = list(dict.fromkeys(m for load in loads if (m := machine_of(topology, load))))
    hosts = list(dict.fromkeys(h for load in loads if (h := host_of(topology, load))))
    queues = [t for load in loads for t in topology.related(load, "targets")]
    yield from _stops(topology, loads)
    guests = [machine for machine in machines if machine not in hosts]
    inside = [e for guest in guests for e in topology.related(guest, "attached_to")]
    luns = _of_kind(topology, queues, "lun")
    yield from _stops(topology, guests)
    yield from _stops(topology, _of_kind(topology, [*queues, *inside], "vdisk"))
    yield from _stops(topology, (lun for lun in luns if lun in inside))
    yield from _stops(topology, hosts)
    yield from _stops(topology, (lun for lun in luns if lun not in inside))


def _of_kind(topology: Topology, entities: Iterable[str], kind: str) -> list[str]:
    return [e for e in entities if topology.entities[e].kind == kind]


def _between(topology: Topology, loads: list[str]) -> Iterator[Stop]:
    """Initiators, links, switches and target ports, those that lie equally far together."""
    paths = io_paths(topology, *loads)
    if not paths:
        hosts = dict.fromkeys(h for load in loads if (h := host_of(topology, load)))
        yield from _stops(topology, (hba for host in hosts for hba in topology.related(host, "attached_to", "hba")))
        return
    yield from _stops(topology, (path.hba for path in paths))
    for number in range(max(len(path.cables) for path in paths)):
        reached = [path for path in paths if number < len(path.cables)]
        # The last link of a shorter path still stands directly before its target port.
        yield from (Stop("link", path.cables[number].id) for path in reached)
        yield from _stops(topology, (s for path in reached if (s := _switch(topology, path, number))))
    yield from _stops(topology, (path.array_port for path in paths))


def _switch(topology: Topology, path: IoPath, number: int) -> str | None:
    """The switch behind the link of this number, seen from the host. None: the target, or not known."""
    if number + 1 >= len(path.cables):
        return None
    return switch_of(topology, path.cables[number + 1].switch_port)


def _below(topology: Topology, loads: list[str]) -> Iterator[Stop]:
    """Controllers, arrays, volumes and what these lie on."""
    ports = {path.array_port for path in io_paths(topology, *loads)}
    _, volumes = targets_of(topology, *loads)
    owners = [o for e in sorted(ports | volumes) for o in topology.related(e, "member_of")]
    arrays = sorted(_of_kind(topology, owners, "array"))
    parts = [part for array in arrays for part in topology.related(array, "member_of")]
    yield from _stops(topology, sorted(_of_kind(topology, parts, "controller")))
    yield from _stops(topology, arrays)
    yield from _stops(topology, sorted(volumes))
    yield from _stops(topology, sorted(_of_kind(topology, parts, "media")))

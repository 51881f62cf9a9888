"""The I/O paths of the test from load to volume, with how busy each link is and what limits: what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sanpath.topology.identity import Topology
from sanpath.topology.paths import Cable, IoPath, host_of, io_paths, machine_of, switch_of, targets_of
from sanpath.verdict.model import Diagnosis, ElementUse
from sanpath.verdict.units import percent
from sanpath.views.words import short

_ROWS = 8
"""Most things of a kind that are drawn above each other."""


@dataclass(slots=True)
class Node:
    """A thing in the drawing. `notes`: what is to be said of it; `limits`: the verdict names it."""

    entity: str
    kind: str
    name: str
    column: int
    notes: list[str] = field(default_factory=list)
    limits: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two things. `label` and `busy`: port and use of a cable; `seen`: that it is there is known."""

    first: str
    second: str
    label: str = ""
    busy: str = ""
    limits: bool = False
    loaded: bool | None = None
    seen: bool = True


@dataclass(slots=True)
class Drawn:
    """What is drawn, and how many paths are not. `chains`: each path in words."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)
    chains: list[str] = field(default_factory=list)
    hidden: int = 0


def drawn(diagnosis: Diagnosis, topology: Topology) -> Drawn:
    """The paths of the loads; those that the verdict names first, then those that carry the test."""
    found = Drawn()
    uses = _uses(diagnosis)
    limiting = {e for b in diagnosis.verdict.bottlenecks for e in (b.entity, *b.coincident, b.culprit) if e}
    loads = [load.id for load in topology.of_kind("load") if machine_of(topology, load.id)]
    paths = sorted(io_paths(topology, *loads), key=lambda p: _rank(p, uses, limiting))
    longest = max((len(path.cables) - 1 for path in paths), default=1)
    for load in loads:
        mine = [path for path in paths if path.load == load]
        front = _front(topology, load)
        _, volumes = targets_of(topology, load)
        for path in mine:
            whole = [*_of_path(topology, path, front, longest), *_back(topology, path, volumes, longest)]
            if not _fits(found, whole):
                found.hidden += 1
                continue
            _add(found, topology, whole)
            found.chains.append(_chain(path, front, uses, limiting))
            for cable in path.cables:
                _connect(found, topology, cable, uses, limiting)
        if not mine:
            _unseen(found, topology, front, volumes)
    _mark(found, topology, diagnosis, limiting)
    return found


def _uses(diagnosis: Diagnosis) -> dict[str, list[ElementUse]]:
    found: dict[str, list[ElementUse]] = {}
    for use in diagnosis.elements:
        if use.step == diagnosis.verdict.from_step:
            found.setdefault(use.entity, []).append(use)
    return found


def _rank(path: IoPath, uses: dict[str, list[ElementUse]], limiting: set[str]) -> tuple[bool, bool, str, str]:
    cables = {cable.id for cable in path.cables}
    carries = any(use.on_loaded_path for cable in cables for use in uses.get(cable, ()))
    return cables.isdisjoint(limiting), not carries, path.hba, path.array_port


def _front(topology: Topology, load: str) -> list[tuple[str, int]]:
    """Load, virtual machine and host with their columns."""
    machine, host = machine_of(topology, load), host_of(topology, load)
    found = [(load, 0)]
    if machine is not None and machine != host:
        found.append((machine, 1))
    return [*found, (host, 2)] if host is not None else found


Placed = Sequence[tuple[str, int]]


def _of_path(topology: Topology, path: IoPath, front: Placed, longest: int) -> Iterator[tuple[str, int]]:
    yield from front
    yield path.hba, 3
    switches = [switch_of(topology, c.switch_port) or c.switch_port for c in path.cables]
    for number, switch in enumerate(dict.fromkeys(switches)):
        yield switch, 4 + number
    yield path.array_port, 4 + longest


def _back(topology: Topology, path: IoPath, volumes: set[str], longest: int) -> Iterator[tuple[str, int]]:
    if path.array:
        yield path.array, 5 + longest
        for volume in sorted(volumes):
            if path.array in topology.related(volume, "member_of", "array"):
                yield volume, 6 + longest


def _fits(found: Drawn, placed: Placed) -> bool:
    columns = [node.column for node in found.nodes.values()]
    columns += [column for entity, column in dict(placed).items() if entity not in found.nodes]
    return all(columns.count(column) <= _ROWS for column in columns)


def _add(found: Drawn, topology: Topology, placed: Placed) -> None:
    for entity, column in placed:
        kind = topology.entities[entity].kind
        found.nodes.setdefault(entity, Node(entity, kind.replace("_", " "), short(entity), column))
    for (first, _), (second, column) in pairwise(placed):
        kinds = {topology.entities[e].kind for e in (first, second)}
        if "switch" in kinds or "switch_port" in kinds:
            continue  # Cables are drawn by themselves.
        if topology.entities[second].kind == "volume":
            first = next(iter(topology.related(second, "member_of", "array")), first)
        if found.nodes[first].column < column:
            found.edges.setdefault((first, second, ""), Edge(first, second))


def _connect(
    found: Drawn, topology: Topology, cable: Cable, uses: dict[str, list[ElementUse]], limiting: set[str]
) -> None:
    near = switch_of(topology, cable.switch_port) or cable.switch_port
    far = (switch_of(topology, cable.device) or cable.device) if cable.side == "switch" else cable.device
    ends = sorted((near, far), key=lambda e: found.nodes[e].column)
    used = uses.get(cable.id, [])
    told = [f"{u.direction} {percent(u.utilisation)}" for u in used if u.utilisation and u.utilisation >= 0.001]
    speed = next((u.speed for u in used if u.speed), None)
    port = topology.entities[cable.switch_port].label.partition("/")[2]
    label = " ".join(filter(None, (port, speed)))
    carries = {u.on_loaded_path for u in used}
    loaded = True if True in carries else None if not carries or None in carries else False
    busy = ", ".join(told) or ("not counted" if not used else "idle")
    edge = Edge(ends[0], ends[1], label, busy, cable.id in limiting, loaded)
    found.edges[ends[0], ends[1], cable.id] = edge


def _chain(path: IoPath, front: Placed, uses: dict[str, list[ElementUse]], limiting: set[str]) -> str:
    said = [short(entity) for entity, _ in front]
    for cable in path.cables:
        used = uses.get(cable.id, [])
        told = [f"{u.direction} {percent(u.utilisation)}" for u in used if u.utilisation and u.utilisation >= 0.001]
        speed = next((f"{u.speed}, " for u in used if u.speed), "")
        limit = ", LIMIT" if cable.id in limiting else ""
        said.append(f"{short(cable.id)} ({speed}{', '.join(told) or ('not counted' if not used else 'idle')}{limit})")
    return " → ".join([*said, short(path.array)] if path.array else said)


def _unseen(found: Drawn, topology: Topology, front: Placed, volumes: set[str]) -> None:
    """Without a path: both ends, and between them a line that says that nothing was seen there."""
    host = front[-1][0]
    hbas = [(hba, 3) for hba in topology.related(host, "attached_to", "hba")]
    _add(found, topology, front)
    for hba in hbas[:_ROWS]:
        _add(found, topology, [front[-1], hba])
    for volume in sorted(volumes)[:_ROWS]:
        for array in topology.related(volume, "member_of", "array"):
            _add(found, topology, [(array, 6), (volume, 7)])
            for end, _ in hbas[:_ROWS] or front[-1:]:
                found.edges[end, array, "unseen"] = Edge(end, array, "not measured", seen=False)


def _mark(found: Drawn, topology: Topology, diagnosis: Diagnosis, limiting: set[str]) -> None:
    cables = {cable for _, _, cable in found.edges}
    for entity in sorted(limiting - cables):
        if (node := _node_of(found, topology, entity)) is not None:
            node.limits = True
            node.notes.append("LIMIT" if node.entity == entity else f"{short(entity)} LIMIT")
    for entity in sorted({b.wait_at for b in diagnosis.verdict.bottlenecks if b.wait_at} - limiting):
        if (node := _node_of(found, topology, entity)) is not None:
            node.notes.append("I/O waits here")


def _node_of(found: Drawn, topology: Topology, entity: str) -> Node | None:
    """What is drawn for an entity: itself, or what it is a part of. None: neither is drawn."""
    whole = [topology.related(entity, relation) for relation in ("attached_to", "member_of", "runs_on")]
    candidates = [entity, *(other for others in whole for other in others)]
    return next((found.nodes[e] for e in candidates if e in found.nodes), None)

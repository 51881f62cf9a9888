"""The I/O paths from load to volume as a graph to draw: the utilisation of each link, and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sanpath.diagnosis.model import Diagnosis, ElementUse
from sanpath.summary.names import noun_of
from sanpath.topology.load_path import load_and_machines
from sanpath.topology.paths import Cable, IoPath, io_paths, loads_with_machine, switch_of, targets_of
from sanpath.topology.topology import Topology
from sanpath.units import percent
from sanpath.views.cells import MIN_UTILISATION
from sanpath.views.words import short

_MAX_ROWS = 8
"""Maximum entities of one kind in a column."""


@dataclass(slots=True)
class Node:
    """An entity in the drawing. `notes`: texts below its name. `limits`: whether the verdict names it."""

    entity: str
    kind: str
    name: str
    column: int
    notes: list[str] = field(default_factory=list)
    limits: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two entities. `label`, `busy`: port and utilisation of a cable. `reported`: by a source."""

    first: str
    second: str
    label: str = ""
    busy: str = ""
    limits: bool = False
    loaded: bool | None = None
    reported: bool = True


@dataclass(slots=True)
class PathGraph:
    """The nodes and edges of the drawing. `chains`: each path in words. `hidden`: number of paths left out."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)
    chains: list[str] = field(default_factory=list)
    hidden: int = 0


def path_graph(diagnosis: Diagnosis, topology: Topology) -> PathGraph:
    """The paths of the loads: first those with elements that the verdict names, then those that carry the test."""
    graph = PathGraph()
    uses = _uses_by_entity(diagnosis)
    limiting = {e for b in diagnosis.verdict.bottlenecks for e in (*b.elements, b.culprit) if e}
    loads = loads_with_machine(topology)
    paths = sorted(io_paths(topology, *loads), key=lambda p: _rank(p, uses, limiting))
    longest = max((len(path.cables) - 1 for path in paths), default=1)
    for load in loads:
        load_paths = [path for path in paths if path.load == load]
        start = _start_columns(topology, load)
        _, volumes = targets_of(topology, load)
        for path in load_paths:
            placed = [*_fabric(topology, path, start, longest), *_array(topology, path, volumes, longest)]
            if not _fits(graph, placed):
                graph.hidden += 1
                continue
            _add_nodes(graph, topology, placed)
            graph.chains.append(_path_text(path, start, uses, limiting))
            for cable in path.cables:
                _connect(graph, topology, path, cable, uses, limiting)
        if not load_paths:
            _add_ends(graph, topology, start, volumes)
    _mark_limits(graph, topology, diagnosis, limiting)
    return graph


def _uses_by_entity(diagnosis: Diagnosis) -> dict[str, list[ElementUse]]:
    by_entity: dict[str, list[ElementUse]] = {}
    for use in diagnosis.elements:
        if use.step == diagnosis.verdict.from_step:
            by_entity.setdefault(use.entity, []).append(use)
    return by_entity


def _rank(path: IoPath, uses: dict[str, list[ElementUse]], limiting: set[str]) -> tuple[bool, bool, str, str]:
    cables = {cable.id for cable in path.cables}
    carries = any(use.on_loaded_path for cable in cables for use in uses.get(cable, ()))
    return cables.isdisjoint(limiting), not carries, path.hba, path.array_port


def _start_columns(topology: Topology, load: str) -> list[tuple[str, int]]:
    """Load, virtual machine and host with their columns."""
    columns = {"load": 0, "host": 2}
    return [(entity, columns.get(topology.entities[entity].kind, 1)) for entity in load_and_machines(topology, load)]


Columns = Sequence[tuple[str, int]]


def _fabric(topology: Topology, path: IoPath, start: Columns, longest: int) -> Iterator[tuple[str, int]]:
    yield from start
    yield path.hba, 3
    switches = [switch_of(topology, c.switch_port) or c.switch_port for c in path.cables]
    for number, switch in enumerate(dict.fromkeys(switches)):
        yield switch, 4 + number
    yield path.array_port, 4 + longest


def _array(topology: Topology, path: IoPath, volumes: set[str], longest: int) -> Iterator[tuple[str, int]]:
    if path.array:
        yield path.array, 5 + longest
        for volume in sorted(volumes):
            if path.array in topology.related(volume, "member_of", "array"):
                yield volume, 6 + longest


def _fits(graph: PathGraph, placed: Columns) -> bool:
    columns = [node.column for node in graph.nodes.values()]
    columns += [column for entity, column in dict(placed).items() if entity not in graph.nodes]
    return all(columns.count(column) <= _MAX_ROWS for column in columns)


def _add_nodes(graph: PathGraph, topology: Topology, placed: Columns) -> None:
    for entity, column in placed:
        graph.nodes.setdefault(entity, Node(entity, noun_of(topology, entity), short(entity), column))
    for (first, _), (second, column) in pairwise(placed):
        kinds = {topology.entities[e].kind for e in (first, second)}
        if "switch" in kinds or "switch_port" in kinds:
            continue  # Cables are drawn separately.
        if topology.entities[second].kind == "volume":
            first = next(iter(topology.related(second, "member_of", "array")), first)
        if graph.nodes[first].column < column:
            graph.edges.setdefault((first, second, ""), Edge(first, second))


def _connect(
    graph: PathGraph,
    topology: Topology,
    path: IoPath,
    cable: Cable,
    uses: dict[str, list[ElementUse]],
    limiting: set[str],
) -> None:
    switch_end = switch_of(topology, cable.switch_port) or cable.switch_port
    # Several devices may share a cable: the device of this path is drawn.
    device_end = {"host": path.hba, "array": path.array_port}.get(cable.side) or (
        switch_of(topology, cable.device) or cable.device
    )
    ends = sorted((switch_end, device_end), key=lambda e: graph.nodes[e].column)
    used = uses.get(cable.id, [])
    speed = next((u.speed for u in used if u.speed), None)
    port = topology.entities[cable.switch_port].label.partition("/")[2]
    label = " ".join(filter(None, (port, speed)))
    carries = {u.on_loaded_path for u in used}
    loaded = True if True in carries else None if not carries or None in carries else False
    edge = Edge(ends[0], ends[1], label, _utilisation_text(used), cable.id in limiting, loaded)
    graph.edges[ends[0], ends[1], cable.id] = edge


def _path_text(path: IoPath, start: Columns, uses: dict[str, list[ElementUse]], limiting: set[str]) -> str:
    texts = [short(entity) for entity, _ in start]
    for cable in path.cables:
        used = uses.get(cable.id, [])
        speed = next((f"{u.speed}, " for u in used if u.speed), "")
        limit = ", LIMIT" if cable.id in limiting else ""
        texts.append(f"{short(cable.id)} ({speed}{_utilisation_text(used)}{limit})")
    return " → ".join([*texts, short(path.array)] if path.array else texts)


def _utilisation_text(uses: Sequence[ElementUse]) -> str:
    known = [(use.direction, use.utilisation) for use in uses if use.utilisation is not None]
    busy = [f"{direction} {percent(ratio)}" for direction, ratio in known if ratio >= MIN_UTILISATION]
    return ", ".join(busy) or ("idle" if known else "not measured")


def _add_ends(graph: PathGraph, topology: Topology, start: Columns, volumes: set[str]) -> None:
    """If no path is known: draw both ends, and a line between them with the label "not measured"."""
    host = start[-1][0]
    hbas = [(hba, 3) for hba in topology.related(host, "attached_to", "hba")]
    _add_nodes(graph, topology, start)
    for hba in hbas[:_MAX_ROWS]:
        _add_nodes(graph, topology, [start[-1], hba])
    for volume in sorted(volumes)[:_MAX_ROWS]:
        for array in topology.related(volume, "member_of", "array"):
            _add_nodes(graph, topology, [(array, 6), (volume, 7)])
            for end, _ in hbas[:_MAX_ROWS] or start[-1:]:
                graph.edges[end, array, "unseen"] = Edge(end, array, "not measured", reported=False)


def _mark_limits(graph: PathGraph, topology: Topology, diagnosis: Diagnosis, limiting: set[str]) -> None:
    cables = {cable for _, _, cable in graph.edges}
    for entity in sorted(limiting - cables):
        if (node := _node_of(graph, topology, entity)) is not None:
            node.limits = True
            node.notes.append("LIMIT" if node.entity == entity else f"{short(entity)} LIMIT")
    for entity in sorted({b.wait_at for b in diagnosis.verdict.bottlenecks if b.wait_at} - limiting):
        if (node := _node_of(graph, topology, entity)) is not None:
            node.notes.append("I/Os queue here")


def _node_of(graph: PathGraph, topology: Topology, entity: str) -> Node | None:
    """The node for an entity: its own, or that of the entity it is part of. None: neither is drawn."""
    related = [topology.related(entity, relation) for relation in ("attached_to", "member_of", "runs_on")]
    candidates = [entity, *(neighbour for neighbours in related for neighbour in neighbours)]
    return next((graph.nodes[e] for e in candidates if e in graph.nodes), None)

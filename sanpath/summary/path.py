"""The I/O path of the summary: one line from load to volume, with the limiting elements marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sanpath.diagnosis.model import Diagnosis, ElementUse
from sanpath.diagnosis.summary import PathElement, PathRole
from sanpath.summary.busy_processors import busy_machine
from sanpath.summary.names import QUEUES, readable
from sanpath.summary.step_figures import main_direction
from sanpath.topology.load_path import load_and_machines
from sanpath.topology.paths import IoPath, io_paths, loads_with_machine, machine_of, switch_of, targets_of
from sanpath.topology.topology import Topology

_BY_THE_LOAD = ("generator_limited", "concurrency_limited")
_DRAWN_RELATIONS = ("attached_to", "member_of", "runs_on", "backed_by", "ends_at")
"""Relations of an entity to the entity that represents it in the drawing."""


@dataclass(frozen=True, slots=True)
class DrawnPath:
    """The path of the summary. `off_path`, `other_links`, `more_paths`: as those of `Summary`."""

    elements: tuple[PathElement, ...]
    off_path: tuple[PathElement, ...]
    other_links: tuple[PathElement, ...]
    more_paths: int


def summary_path(diagnosis: Diagnosis, topology: Topology) -> DrawnPath:
    """The path that crosses the limiting elements, and what is beside it."""
    limits = {
        entity
        for b in diagnosis.verdict.bottlenecks
        # Of paths that are used in turn, only the links are visible.
        for entity in (b.coincident if b.kind == "path_policy" and b.coincident else (*b.elements, b.culprit))
        if entity
    }
    named = next((b.entity for b in diagnosis.verdict.bottlenecks), None)
    waiting_entities = {b.wait_at for b in diagnosis.verdict.bottlenecks if b.wait_at} - limits
    uses = _uses(diagnosis)
    loads = loads_with_machine(topology)
    paths = sorted(io_paths(topology, *loads), key=lambda path: _rank(path, uses, limits, named))
    if paths:
        entities = list(_path_entities(topology, paths[0]))
        others = len(paths) - 1
    else:
        drawings = [[*load_and_machines(topology, load), *_entities_below(topology, load)] for load in loads]
        own_limits = limits | ({machine} if (machine := busy_machine(diagnosis)) is not None else set())
        entities = max(drawings, key=lambda each: _drawing_rank(topology, each, own_limits, named), default=[])
        others = len({machine_of(topology, load) for load in loads} - {None, *entities})
    entities = _with_limiting_parts(topology, entities, limits)
    waiting = {_drawn_for(topology, entity, entities) for entity in waiting_entities}
    drawn_limits = limits | _own_limits(diagnosis, entities)
    drawn = [
        _element(
            topology, entity, uses, "limits" if entity in drawn_limits else "waits" if entity in waiting else None
        )
        for entity in entities
    ]
    off_path = [
        replace(_element(topology, entity, uses, "limits"), name=readable(entity))
        for entity in sorted(limits - set(entities))
        if _is_separate(topology, entity, entities) or _has_drawn_sibling(topology, entity, entities)
    ]
    host_links = _other_links(diagnosis, paths) if paths else []
    other_links = (
        replace(_element(topology, link, uses, None), name=readable(link))
        for link in host_links
        if link not in (*entities, *limits)
    )
    return DrawnPath(tuple(drawn), tuple(off_path), tuple(other_links), others)


def _other_links(diagnosis: Diagnosis, paths: Sequence[IoPath]) -> list[str]:
    """The links of the load's host, if the remedy depends on how its paths are used. `paths`: the first is drawn."""
    first = next(iter(diagnosis.verdict.bottlenecks), None)
    if first is None or first.kind not in ("link", "path_policy"):
        return []
    return sorted({path.cables[0].id for path in paths if path.load == paths[0].load and path.cables})


def _own_limits(diagnosis: Diagnosis, entities: Sequence[str]) -> set[str]:
    """The load that holds itself back, or its machine if the machine's processors are busy."""
    if diagnosis.verdict.kind not in _BY_THE_LOAD:
        return set()
    machine = busy_machine(diagnosis)
    return {entity for entity in entities if entity == machine or (machine is None and entity.startswith("load:"))}


def _uses(diagnosis: Diagnosis) -> dict[str, ElementUse]:
    """Each link in the step of the verdict, in its busier direction. A link that nobody counted in the direction of
    the verdict has no known utilisation, whatever the other direction shows: it may be busy."""
    uses: dict[str, ElementUse] = {}
    direction = _direction(diagnosis)
    of_step = [use for use in diagnosis.elements if use.step == diagnosis.verdict.from_step]
    uncounted = {use.entity for use in of_step} - {
        use.entity for use in of_step if use.utilisation is not None and direction in (use.direction, None)
    }
    for use in of_step:
        current = uses.get(use.entity)
        if use.entity in uncounted:
            uses[use.entity] = replace(use, utilisation=None)
        elif current is None or (use.utilisation or 0) > (current.utilisation or 0):
            uses[use.entity] = use
    return uses


def _direction(diagnosis: Diagnosis) -> str | None:
    """The direction of the verdict. None: there is no step, or it did nothing."""
    if diagnosis.verdict.bottlenecks:
        return diagnosis.verdict.bottlenecks[0].direction
    step = next((step for step in diagnosis.steps if step.name == diagnosis.verdict.from_step), None)
    return main_direction(step) if step is not None and step.directions else None


def _rank(
    path: IoPath, uses: dict[str, ElementUse], limits: set[str], named: str | None
) -> tuple[bool, int, bool, str, str]:
    """The order of paths: first those that cross the element of the verdict's line, then those with more limits."""
    cables = {cable.id for cable in path.cables}
    carries = any(use.on_loaded_path for cable in cables if (use := uses.get(cable)) is not None)
    return named not in cables, -len(cables & limits), not carries, path.hba, path.array_port


def _drawing_rank(
    topology: Topology, entities: Sequence[str], limits: set[str], named: str | None
) -> tuple[bool, int, int]:
    """The sort key of drawings without links; the highest one is drawn. Drawings with the element of the verdict's
    line rank highest, then those with more limits."""
    drawn = {limit for limit in limits if _drawn_for(topology, limit, entities) is not None}
    return named in drawn, len(drawn), len(entities)


def _path_entities(topology: Topology, path: IoPath) -> Iterator[str]:
    yield from load_and_machines(topology, path.load)
    yield path.hba
    last_switch = None
    for cable in path.cables:
        switch = switch_of(topology, cable.switch_port)
        far_switch = switch_of(topology, cable.device) if cable.side == "switch" else None
        first_switch = switch if cable.side != "host" else None
        if first_switch is not None and first_switch != last_switch:
            yield first_switch
        yield cable.id
        last_switch = far_switch or switch
        if cable.side != "array" and last_switch is not None:
            yield last_switch
    yield path.array_port
    if path.array:
        yield path.array
    yield from _volumes(topology, path.load, path.array)


def _entities_below(topology: Topology, load: str) -> Iterator[str]:
    _, volumes = targets_of(topology, load)
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    if len(arrays) == 1:
        yield from arrays
    yield from _volumes(topology, load, "")


def _volumes(topology: Topology, load: str, array: str) -> Sequence[str]:
    """The volume, if there is only one."""
    _, volumes = targets_of(topology, load)
    matching = [v for v in sorted(volumes) if not array or array in topology.related(v, "member_of", "array")]
    return matching if len(matching) == 1 else ()


def _with_limiting_parts(topology: Topology, entities: Sequence[str], limits: set[str]) -> list[str]:
    """The path with limiting parts of its entities, such as a LUN of the host, after their entity."""
    drawn = list(entities)
    for entity in sorted(limits - set(entities)):
        parent = _drawn_for(topology, entity, drawn)
        is_link = entity.partition(":")[0] == "link"
        if parent is not None and not is_link and not _has_drawn_sibling(topology, entity, drawn):
            drawn.insert(drawn.index(parent) + 1, entity)
    return drawn


def _has_drawn_sibling(topology: Topology, entity: str, entities: Sequence[str]) -> bool:
    """Whether another part of its kind is drawn for the same parent: an I/O crosses only one of them."""
    kind, parents = entity.partition(":")[0], _parents(topology, entity)
    same_kind = (other for other in entities if other != entity and other.partition(":")[0] == kind)
    return kind in QUEUES and any(parents.keys() & _parents(topology, other).keys() for other in same_kind)


def _drawn_for(topology: Topology, entity: str, entities: Sequence[str]) -> str | None:
    """The entity that represents an entity in the drawing: itself, or the one that it is part of. None: neither is
    drawn."""
    if entity in entities:
        return entity
    return next((parent for parent in _parents(topology, entity) if parent in entities), None)


def _parents(topology: Topology, entity: str) -> dict[str, None]:
    if entity not in topology.entities:
        return {}
    return {parent: None for relation in _DRAWN_RELATIONS for parent in topology.related(entity, relation)}


def _is_separate(topology: Topology, entity: str, entities: Sequence[str]) -> bool:
    """Whether an entity has to be drawn by itself."""
    return entity.partition(":")[0] == "link" or _drawn_for(topology, entity, entities) is None


def _element(topology: Topology, entity: str, uses: dict[str, ElementUse], role: PathRole | None) -> PathElement:
    kind = entity.partition(":")[0]
    element = PathElement(entity, kind, _name(topology, entity), role)
    if kind != "link" or (use := uses.get(entity)) is None:
        return element
    return replace(element, speed=use.speed, utilisation=use.utilisation, direction=use.direction)


def _name(topology: Topology, entity: str) -> str:
    """The name without the entity next to it: an HBA without its host, a link as its switch ports."""
    kind, _, name = entity.partition(":")
    if kind == "link":
        ports = [end for end in name.split("--") if f"switch_port:{end}" in topology.entities]
        return "–".join(port.partition("/")[2] or port for port in ports) or readable(entity)
    return readable(entity).partition(" ")[2] or readable(entity)

"""The I/O path of the summary: one line from load to volume, with what limits on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.topology.identity import Topology
from sanpath.topology.paths import IoPath, host_of, io_paths, machine_of, switch_of, targets_of
from sanpath.verdict.model import Diagnosis, ElementUse
from sanpath.verdict.names import readable
from sanpath.verdict.summary_model import PathElement, PathRole

_PARTS = ("attached_to", "member_of", "runs_on", "backed_by")
"""Relations of a part to what is drawn for it."""


def summary_path(
    diagnosis: Diagnosis, topology: Topology
) -> tuple[tuple[PathElement, ...], tuple[PathElement, ...], int]:
    """(the path, what limits off the path, number of other paths)."""
    limits = {e for b in diagnosis.verdict.bottlenecks for e in (b.entity, b.culprit, *b.coincident) if e}
    waits = {b.wait_at for b in diagnosis.verdict.bottlenecks if b.wait_at} - limits
    uses = _uses(diagnosis)
    loads = [load.id for load in topology.of_kind("load") if machine_of(topology, load.id)]
    paths = sorted(io_paths(topology, *loads), key=lambda path: _rank(path, uses, limits))
    if paths:
        entities = list(_along(topology, paths[0]))
    elif loads:
        entities = [*_front(topology, loads[0]), *_back(topology, loads[0])]
    else:
        entities = []
    entities = _with_parts(topology, entities, limits)
    held = {_drawn_for(topology, entity, entities) for entity in waits}
    drawn = [
        _element(topology, e, uses, "limits" if e in limits else "waits" if e in held else None) for e in entities
    ]
    off = [
        _element(topology, e, uses, "limits") for e in sorted(limits - set(entities)) if _apart(topology, e, entities)
    ]
    return tuple(drawn), tuple(off), max(0, len(paths) - 1)


def _uses(diagnosis: Diagnosis) -> dict[str, ElementUse]:
    """Each link in the step of the verdict, in its busier direction."""
    found: dict[str, ElementUse] = {}
    for use in diagnosis.elements:
        known = found.get(use.entity)
        if use.step == diagnosis.verdict.from_step and (
            known is None or (use.utilisation or 0) > (known.utilisation or 0)
        ):
            found[use.entity] = use
    return found


def _rank(path: IoPath, uses: dict[str, ElementUse], limits: set[str]) -> tuple[int, bool, str, str]:
    cables = {cable.id for cable in path.cables}
    carries = any(use.on_loaded_path for cable in cables if (use := uses.get(cable)) is not None)
    return -len(cables & limits), not carries, path.hba, path.array_port


def _along(topology: Topology, path: IoPath) -> Iterator[str]:
    yield from _front(topology, path.load)
    yield path.hba
    last = None
    for cable in path.cables:
        near = switch_of(topology, cable.switch_port)
        far = switch_of(topology, cable.device) if cable.side == "switch" else None
        first = near if cable.side != "host" else None
        if first is not None and first != last:
            yield first
        yield cable.id
        last = far or near
        if cable.side != "array" and last is not None:
            yield last
    yield path.array_port
    if path.array:
        yield path.array
    yield from _volumes(topology, path.load, path.array)


def _front(topology: Topology, load: str) -> Iterator[str]:
    machine, host = machine_of(topology, load), host_of(topology, load)
    yield load
    yield from dict.fromkeys(e for e in (machine, host) if e is not None and e != load)


def _back(topology: Topology, load: str) -> Iterator[str]:
    _, volumes = targets_of(topology, load)
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    if len(arrays) == 1:
        yield from arrays
    yield from _volumes(topology, load, "")


def _volumes(topology: Topology, load: str, array: str) -> Sequence[str]:
    """The volume, where it is one: of several none is the path's."""
    _, volumes = targets_of(topology, load)
    mine = [v for v in sorted(volumes) if not array or array in topology.related(v, "member_of", "array")]
    return mine if len(mine) == 1 else ()


def _with_parts(topology: Topology, entities: Sequence[str], limits: set[str]) -> list[str]:
    """What limits and is a part of something drawn, such as a LUN of the host, stands after it."""
    found = list(entities)
    for entity in sorted(limits - set(entities)):
        whole = _drawn_for(topology, entity, found)
        if whole is not None and entity.partition(":")[0] != "link":
            found.insert(found.index(whole) + 1, entity)
    return found


def _drawn_for(topology: Topology, entity: str, entities: Sequence[str]) -> str | None:
    """What is drawn for an entity: itself, or what it is a part of. None: neither."""
    if entity in entities:
        return entity
    wholes = (
        [w for relation in _PARTS for w in topology.related(entity, relation)] if entity in topology.entities else []
    )
    return next((whole for whole in wholes if whole in entities), None)


def _apart(topology: Topology, entity: str, entities: Sequence[str]) -> bool:
    """Whether it has to be drawn by itself."""
    return entity.partition(":")[0] == "link" or _drawn_for(topology, entity, entities) is None


def _element(topology: Topology, entity: str, uses: dict[str, ElementUse], role: PathRole | None) -> PathElement:
    kind = entity.partition(":")[0]
    use = uses.get(entity)
    if kind != "link" or use is None:
        return PathElement(entity, kind, _name(topology, entity), role)
    return PathElement(entity, kind, _name(topology, entity), role, use.speed, use.utilisation, use.direction)


def _name(topology: Topology, entity: str) -> str:
    """Without what stands beside it: an HBA without its host, a link as its switch ports."""
    kind, _, own = entity.partition(":")
    if kind == "link":
        ports = [end for end in own.split("--") if f"switch_port:{end}" in topology.entities]
        return "–".join(port.partition("/")[2] or port for port in ports) or readable(entity)
    return readable(entity).partition(" ")[2] or readable(entity)

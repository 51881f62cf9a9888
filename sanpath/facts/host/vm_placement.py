"""Where the virtual machines of a test ran: the steps of one place, and what to say of those that moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Step
from sanpath.topology.identity import Topology, resolve
from sanpath.topology.paths import machines_of
from sanpath.topology.vm_moves import Sighting, moves


@dataclass(frozen=True, slots=True)
class Moved:
    """A virtual machine that was seen on another host than before. `seen`: microseconds on the recorder's clock."""

    vm: str
    from_host: str
    to_host: str
    seen: int


@dataclass(frozen=True, slots=True)
class VmPlacement:
    """Steps in which every virtual machine ran on the same host: in the greater part of each. `moved`: those that had
    moved before or moved in the last of them, the first move first."""

    topology: Topology
    steps: Sequence[Step]
    moved: Sequence[Moved] = field(default=())


def vm_placements(told: Sequence[Sighting], topology: Topology, steps: Sequence[Step]) -> list[VmPlacement]:
    """Steps by the place of the virtual machines, in the order they ran; one entry where none has moved. `topology`:
    that of the end."""
    found = moves(told)
    if not found or not steps:
        return [VmPlacement(topology, steps)]
    moved = [
        Moved(
            _name(topology, move.source, "vm", move.vm),
            _name(topology, move.source, "host", move.from_host),
            _name(topology, move.source, "host", move.to_host),
            move.seen,
        )
        for move in found
    ]
    by_place: dict[int, list[Step]] = {}
    for step in steps:
        middle = (step.start + step.end) // 2
        by_place.setdefault(sum(move.seen <= middle for move in found), []).append(step)
    return [
        VmPlacement(
            resolve(told, (own[-1].start + own[-1].end) // 2), own, [m for m in moved if m.seen <= own[-1].end]
        )
        for own in by_place.values()
    ]


def moves_in(known: Sequence[VmPlacement], load: LoadFacts) -> list[Moved]:
    """The moves of the load's virtual machine up to the end of its step."""
    found = []
    for stay in known:
        step = next((step for step in stay.steps if step.name == load.step), None)
        if step is not None:
            machines = {machine for root in load.roots for machine in machines_of(stay.topology, root)}
            found += [move for move in stay.moved if move.vm in machines and move.seen <= step.end]
    return found


def _name(topology: Topology, source: str, kind: str, local_id: str) -> str:
    return topology.known_as.get((source, kind, local_id), f"{kind}:{local_id}")

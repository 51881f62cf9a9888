"""Groups steps by the hosts on which the virtual machines of a test ran, with the moves between hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sanpath.facts.load.loads import LoadFacts
from sanpath.model import Step
from sanpath.topology.paths import machines_of
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.topology.vm_moves import Report, moves


@dataclass(frozen=True, slots=True)
class Moved:
    """A virtual machine that was found on another host than before. `seen_us`: when, on the recorder's clock."""

    vm: str
    from_host: str
    to_host: str
    seen_us: int


@dataclass(frozen=True, slots=True)
class VmPlacement:
    """Steps in which every virtual machine ran on the same host, at least in the middle of each step.

    `topology`: as it was then. `moved`: the moves until the end of the last of these steps, in the order of time."""

    topology: Topology
    steps: Sequence[Step]
    moved: Sequence[Moved] = field(default=())


def vm_placements(reports: Sequence[Report], topology: Topology, steps: Sequence[Step]) -> list[VmPlacement]:
    """Group steps by the hosts of the virtual machines, in the order of time; one entry where none has moved.

    `topology`: as it was at the end of the recording."""
    source_moves = moves(reports)
    if not source_moves or not steps:
        return [VmPlacement(topology, steps)]
    moved = [
        Moved(
            _name(topology, move.source, "vm", move.vm),
            _name(topology, move.source, "host", move.from_host),
            _name(topology, move.source, "host", move.to_host),
            move.seen_us,
        )
        for move in source_moves
    ]
    by_placement: dict[int, list[Step]] = {}
    for step in steps:
        middle = (step.start + step.end) // 2
        by_placement.setdefault(sum(move.seen_us <= middle for move in source_moves), []).append(step)
    return [
        VmPlacement(
            resolve(reports, (placed_steps[-1].start + placed_steps[-1].end) // 2),
            placed_steps,
            [move for move in moved if move.seen_us <= placed_steps[-1].end],
        )
        for placed_steps in by_placement.values()
    ]


def moves_in(placements: Sequence[VmPlacement], load: LoadFacts) -> list[Moved]:
    """Return the moves of the load's virtual machine up to the end of its step."""
    result = []
    for placement in placements:
        step = next((step for step in placement.steps if step.name == load.step), None)
        if step is not None:
            machines = {machine for root in load.roots for machine in machines_of(placement.topology, root)}
            result += [move for move in placement.moved if move.vm in machines and move.seen_us <= step.end]
    return result


def _name(topology: Topology, source: str, kind: str, local_id: str) -> str:
    return topology.known_as.get((source, kind, local_id), f"{kind}:{local_id}")

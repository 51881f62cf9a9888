"""Virtual machines that move to another host during a run: what holds at a moment, and when it changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sanpath.model import SourceEntity, SourceLink

Sighting = tuple[str, int, SourceEntity | SourceLink]
"""(source, when it was seen on the recorder's clock in microseconds, what)."""


@dataclass(frozen=True, slots=True)
class Move:
    """A virtual machine that a source saw on another host than before, by that source's own ids. `seen`: when, on the
    recorder's clock in microseconds; it may have moved a poll earlier."""

    source: str
    vm: str
    seen: int
    from_host: str
    to_host: str


def moves(told: Iterable[Sighting]) -> list[Move]:
    """Every move of a virtual machine, by time."""
    where: dict[tuple[str, str], str] = {}
    found = []
    for source, seen, item in sorted(told, key=lambda one: one[1]):
        if isinstance(item, SourceLink) and _places(item):
            vm, host = item.from_end[1], item.to_end[1]
            before = where.setdefault((source, vm), host)
            if before != host:
                where[source, vm] = host
                found.append(Move(source, vm, seen, before, host))
    return found


def ties_at(told: Iterable[Sighting], moment: int | None) -> dict[tuple[str, SourceLink], None]:
    """(source, link) of all links that were told, without those of a virtual machine to hosts that it does not run on
    at the moment, and to their LUNs. None: at the end.

    A person who wrote down a host of a machine that moves meant the host it was on.
    """
    told = list(told)
    ties = dict.fromkeys((source, item) for source, _, item in told if isinstance(item, SourceLink))
    moved = moves(told)
    if not moved:
        return ties
    left = set(_left(moved, moment))
    names = {(vm, host) for _, vm, host in left}
    travellers = {move.vm for move in moved}
    saw = {move.source for move in moved}
    disks = {(s, t.from_end): t.to_end[1] for s, t in ties if (t.relation, t.to_end[0]) == ("attached_to", "vm")}
    luns = {(s, t.from_end): t.to_end[1] for s, t in ties if (t.relation, t.to_end[0]) == ("attached_to", "host")}

    def holds(source: str, tie: SourceLink) -> bool:
        if _places(tie):
            vm, host = tie.from_end[1], tie.to_end[1]
            return (source, vm, host) not in left and (
                source in saw or vm not in travellers or (vm, host) not in names
            )
        if tie.relation == "backed_by" and (vm := disks.get((source, tie.from_end), "")):
            return (source, vm, luns.get((source, tie.to_end))) not in left
        return True

    return {(source, tie): None for source, tie in ties if holds(source, tie)}


def _left(moved: list[Move], moment: int | None) -> Iterator[tuple[str, str, str]]:
    """(source, virtual machine, host) of the hosts that a machine is not on at the moment."""
    by_machine: dict[tuple[str, str], list[Move]] = {}
    for move in moved:
        by_machine.setdefault((move.source, move.vm), []).append(move)
    for (source, vm), own in by_machine.items():
        done = [move for move in own if moment is None or move.seen <= moment]
        here = done[-1].to_host if done else own[0].from_host
        for host in {own[0].from_host, *(move.to_host for move in own)} - {here}:
            yield source, vm, host


def _places(tie: SourceLink) -> bool:
    """Whether a link says on which host a virtual machine runs."""
    return (tie.relation, tie.from_end[0], tie.to_end[0]) == ("runs_on", "vm", "host")

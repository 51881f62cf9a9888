"""Virtual machines that move to another host during a run: where each ran at a given time, and when it moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sanpath.model import SourceEntity, SourceLink

Report = tuple[str, int, SourceEntity | SourceLink]
"""(source, time of the report in microseconds on the recorder's clock, entity or link)."""


@dataclass(frozen=True, slots=True)
class Move:
    """A virtual machine that a source reported on another host than before, by that source's own ids.

    `seen_us`: when it was reported, on the recorder's clock; it may have moved up to a poll interval earlier."""

    source: str
    vm: str
    seen_us: int
    from_host: str
    to_host: str


def moves(reports: Iterable[Report]) -> list[Move]:
    """Return every move of a virtual machine, by time."""
    current_hosts: dict[tuple[str, str], str] = {}
    result = []
    links = [
        (seen_us, source, item.from_end[1], item.to_end[1])
        for source, seen_us, item in reports
        if isinstance(item, SourceLink) and _places(item)
    ]
    for seen_us, source, vm, host in sorted(links, key=lambda link: link[0]):
        previous = current_hosts.setdefault((source, vm), host)
        if previous != host:
            current_hosts[source, vm] = host
            result.append(Move(source, vm, seen_us, previous, host))
    return result


def links_at(reports: Iterable[Report], moment_us: int | None) -> dict[tuple[str, SourceLink], None]:
    """Return the (source, link) that are valid at a time, in order; None: at the end.

    A virtual machine has no links to hosts on which it did not run at that time, nor to their LUNs. If the
    configuration places a machine that moves, that link is also valid only while the machine ran there.
    """
    reports = list(reports)
    links = dict.fromkeys((source, item) for source, _, item in reports if isinstance(item, SourceLink))
    all_moves = moves(reports)
    if not all_moves:
        return links
    not_used = set(_hosts_not_used(all_moves, moment_us))
    names = {(vm, host) for _, vm, host in not_used}
    moved_vms = {move.vm for move in all_moves}
    reporting_sources = {move.source for move in all_moves}
    disks = {
        (source, link.from_end): link.to_end[1]
        for source, link in links
        if (link.relation, link.to_end[0]) == ("attached_to", "vm")
    }
    luns = {
        (source, link.from_end): link.to_end[1]
        for source, link in links
        if (link.relation, link.to_end[0]) == ("attached_to", "host")
    }

    def holds(source: str, link: SourceLink) -> bool:
        if _places(link):
            vm, host = link.from_end[1], link.to_end[1]
            return (source, vm, host) not in not_used and (
                source in reporting_sources or vm not in moved_vms or (vm, host) not in names
            )
        if link.relation == "backed_by" and (vm := disks.get((source, link.from_end), "")):
            return (source, vm, luns.get((source, link.to_end))) not in not_used
        return True

    return {(source, link): None for source, link in links if holds(source, link)}


def _hosts_not_used(all_moves: list[Move], moment_us: int | None) -> Iterator[tuple[str, str, str]]:
    """Yield (source, virtual machine, host) for hosts on which a machine does not run at that time."""
    by_machine: dict[tuple[str, str], list[Move]] = {}
    for move in all_moves:
        by_machine.setdefault((move.source, move.vm), []).append(move)
    for (source, vm), vm_moves in by_machine.items():
        past = [move for move in vm_moves if moment_us is None or move.seen_us <= moment_us]
        current = past[-1].to_host if past else vm_moves[0].from_host
        for host in {vm_moves[0].from_host, *(move.to_host for move in vm_moves)} - {current}:
            yield source, vm, host


def _places(link: SourceLink) -> bool:
    """Return whether a link places a virtual machine on a host."""
    return (link.relation, link.from_end[0], link.to_end[0]) == ("runs_on", "vm", "host")

"""Facts of peers: the time of an I/O at each, compared with peers under the same load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.facts.host.tested_machines import UnderTest, device_names, platform
from sanpath.facts.peers.excess_latency import compare_peers
from sanpath.facts.peers.groups import Group, groups
from sanpath.facts.peers.windows import Windows, windows_from_averages, windows_from_counters
from sanpath.facts.table import WHOLE_RUN, FactRow
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology

MIN_WINDOWS = 5
"""Fewest windows from which a difference counts as lasting."""


def peer_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each peer that could be compared, step and direction. Where sources report only averages,
    there is one row for the entire run, with each step as a window."""
    for group in groups(topology, steps):
        sampled = [
            {member: samples for member, counts in group.members.items() if (samples := step.samples_of(counts))}
            for step in steps
        ]
        for direction in DIRECTIONS:
            for step, in_step in zip(steps, sampled, strict=True):
                yield from _rows(
                    topology, group, windows_from_counters(in_step, direction), step.load.step, direction
                )
            yield from _rows(topology, group, windows_from_averages(sampled, direction), WHOLE_RUN, direction)


def _rows(topology: Topology, group: Group, windows: Windows | None, step: str, direction: str) -> Iterator[FactRow]:
    if windows is None:
        return
    comparisons = compare_peers(windows.seconds, windows.loads)
    slow = sum(comparison is not None and comparison.is_mostly_slow for comparison in comparisons)
    for member, comparison in zip(windows.members, comparisons, strict=True):
        if comparison is None:
            continue
        yield {
            "entity": member,
            "step": step,
            "direction": direction,
            "windows": float(comparison.windows),
            "kind": group.kind,
            "group": group.of or None,
            "platform": _platform(topology, group.members[member]),
            "device": device_names(topology, group.members[member])["device"],
            "operation_seconds": comparison.seconds,
            "peer_seconds": comparison.peer_seconds,
            "excess_seconds": comparison.seconds - comparison.seconds / comparison.ratio,
            "slower_than_peers_ratio": comparison.ratio,
            "scatters_above_peers": comparison.scatters,
            "ops_per_second": comparison.load,
            "peers_compared": float(comparison.peers),
            "slow_windows": float(comparison.slow_windows),
            "slow_windows_ratio": comparison.slow_windows / comparison.windows,
            "slow_members_ratio": slow / len(windows.members),
        }


def _platform(topology: Topology, counted: str) -> str | None:
    """Return the platform of the machine that has a peer; for a path, of the machine that has its LUN."""
    owners = [counted, *topology.related(counted, "member_of", "lun")]
    return next((name for owner in owners if (name := platform(topology, owner)) is not None), None)


def compared(rows: Sequence[FactRow]) -> set[str]:
    """Return the entities that were compared with at least two peers for long enough in some step."""
    return {
        str(row["entity"])
        for row in rows
        if int(row["windows"] or 0) >= MIN_WINDOWS and float(row["peers_compared"] or 0) >= 2
    }

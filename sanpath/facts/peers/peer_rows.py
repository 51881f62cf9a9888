"""Facts of peers: how long each takes beside others that are alike and have as much to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.facts.host.tested_machines import UnderTest, device_names, platform
from sanpath.facts.peers.excess_latency import standings
from sanpath.facts.peers.groups import Group, groups
from sanpath.facts.peers.windows import Windows, averaged, counted
from sanpath.facts.table import FactRow
from sanpath.model import DIRECTIONS
from sanpath.topology.identity import Topology

WHOLE_RUN = "whole run"
FEWEST_WINDOWS = 5
"""Windows from which it can be said that something lasts."""


def peer_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each thing that could be compared, step and direction.

    Where sources report averages only, it is over the entire run, and each step is a window."""
    for group in groups(topology, steps):
        sampled = [
            {member: samples for member, counts in group.members.items() if (samples := step.samples_of(counts))}
            for step in steps
        ]
        for direction in DIRECTIONS:
            for step, in_step in zip(steps, sampled, strict=True):
                yield from _rows(topology, group, counted(in_step, direction), step.load.step, direction)
            yield from _rows(topology, group, averaged(sampled, direction), WHOLE_RUN, direction)


def _rows(topology: Topology, group: Group, windows: Windows | None, step: str, direction: str) -> Iterator[FactRow]:
    if windows is None:
        return
    found = standings(windows.seconds, windows.loads)
    slow = sum(standing is not None and standing.mostly_slow for standing in found)
    for member, standing in zip(windows.members, found, strict=True):
        if standing is None:
            continue
        yield {
            "entity": member,
            "step": step,
            "direction": direction,
            "windows": float(standing.windows),
            "kind": group.kind,
            "group": group.of or None,
            "platform": _platform(topology, group.members[member]),
            "device": device_names(topology, group.members[member])["device"],
            "operation_seconds": standing.seconds,
            "peer_seconds": standing.peer_seconds,
            "excess_seconds": standing.seconds - standing.seconds / standing.ratio,
            "slower_than_peers_ratio": standing.ratio,
            "scatters_above_peers": standing.scatters,
            "ops_per_second": standing.load,
            "peer_ops_per_second": standing.peer_load,
            "peers_compared": float(standing.peers),
            "slow_windows": float(standing.slow_windows),
            "slow_windows_ratio": standing.slow_windows / standing.windows,
            "slow_members_ratio": slow / len(windows.members),
        }


def _platform(topology: Topology, counted: str) -> str | None:
    """Return the platform of the machine that has a thing; of a path, of the one that has its LUN."""
    owners = [counted, *topology.related(counted, "member_of", "lun")]
    return next((name for owner in owners if (name := platform(topology, owner)) is not None), None)


def compared(rows: Sequence[FactRow]) -> set[str]:
    """Return the things that were compared with two peers or more for long enough, in some step."""
    return {
        str(row["entity"])
        for row in rows
        if int(row["windows"] or 0) >= FEWEST_WINDOWS and float(row["peers_compared"] or 0) >= 2
    }

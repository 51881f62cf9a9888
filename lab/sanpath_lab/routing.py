"""Chooses links between switches: the fewest hops, as FSPF does if all links have the same speed (FC-SW-6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

Ends = tuple[str, str]
"""The switch ports at the ends of a link, "sw1/fc1/8"."""


def switch_of(switch_port: str) -> str:
    """The switch of a port.

    >>> switch_of("sw1/fc1/8")
    'sw1'
    """
    return switch_port.partition("/")[0]


def egress_ports(links: Sequence[Ends], first: str, last: str, number: int) -> list[str]:
    """Return the egress ports of the switches on a shortest path from port `first` to port `last`, in order.

    `number` selects one of parallel links. Raises ValueError: the switches are not connected.
    """
    start, goal = switch_of(first), switch_of(last)
    came_from: dict[str, str] = {start: start}
    queue = deque([start])
    while queue and goal not in came_from:
        switch = queue.popleft()
        for _, far_port in _port_pairs(links, switch):
            if (next_switch := switch_of(far_port)) not in came_from:
                came_from[next_switch] = switch
                queue.append(next_switch)
    if goal not in came_from:
        raise ValueError(f"no link leads from switch {start} to switch {goal}")
    leaving: list[str] = []
    while goal != start:
        switch = came_from[goal]
        parallel = [near_port for near_port, far_port in _port_pairs(links, switch) if switch_of(far_port) == goal]
        leaving.append(parallel[number % len(parallel)])
        goal = switch
    return leaving[::-1]


def _port_pairs(links: Sequence[Ends], switch: str) -> Iterator[tuple[str, str]]:
    """Yield (local port, port at the far end) of a switch's links to other switches."""
    for link in links:
        for near_port, far_port in (link, link[::-1]):
            if switch_of(near_port) == switch:
                yield near_port, far_port

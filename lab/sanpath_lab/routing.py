"""Which links between switches frames take: the fewest, as FSPF does where all links are as fast (FC-SW-6)."""

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


def between(links: Sequence[Ends], first: str, last: str, number: int) -> list[str]:
    """The switch ports by which frames leave switch after switch, the fewest possible, from port to port.

    `number` picks one of parallel links. Raises ValueError when no link leads there.
    """
    start, goal = switch_of(first), switch_of(last)
    came_from: dict[str, str] = {start: start}
    waiting = deque([start])
    while waiting and goal not in came_from:
        here = waiting.popleft()
        for _, far in _ends(links, here):
            if (there := switch_of(far)) not in came_from:
                came_from[there] = here
                waiting.append(there)
    if goal not in came_from:
        raise ValueError(f"no link leads from switch {start} to switch {goal}")
    leaving: list[str] = []
    while goal != start:
        here = came_from[goal]
        parallel = [near for near, far in _ends(links, here) if switch_of(far) == goal]
        leaving.append(parallel[number % len(parallel)])
        goal = here
    return leaving[::-1]


def _ends(links: Sequence[Ends], switch: str) -> Iterator[tuple[str, str]]:
    """(own port, port at the other end) of a switch's links to other switches."""
    for link in links:
        for near, far in (link, link[::-1]):
            if switch_of(near) == switch:
                yield near, far

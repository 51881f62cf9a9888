"""What the person looks at: all that the live view remembers besides the last look."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sanpath.model import DIRECTIONS, Direction


class Tab(StrEnum):
    """A page of the screen."""

    overview = "overview"
    steps = "steps"
    findings = "findings"
    sources = "sources"
    help = "help"


@dataclass(frozen=True, slots=True)
class Cursor:
    """`direction` None: all of them. `step` None: the newest that can be judged. `offset`: rows scrolled away."""

    tab: Tab = Tab.overview
    direction: Direction | None = None
    step: str | None = None
    offset: int = 0
    paused: bool = False


_ORDER: tuple[Direction | None, ...] = (None, *DIRECTIONS)


def next_direction(direction: Direction | None) -> Direction | None:
    """All, read, write, and all again."""
    return _ORDER[(_ORDER.index(direction) + 1) % len(_ORDER)]

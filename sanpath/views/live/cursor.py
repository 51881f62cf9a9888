"""What the person looks at: all that the live view remembers besides the last look."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sanpath.model import DIRECTIONS, Direction


class Tab(StrEnum):
    """A page of the screen."""

    overview = "overview"
    path = "path"
    steps = "steps"
    findings = "findings"
    sources = "sources"
    help = "help"


class Order(StrEnum):
    """How elements are sorted; the value is what the screen says."""

    busy = "busiest first"
    path = "from load to array"
    name = "by name"


@dataclass(frozen=True, slots=True)
class Cursor:
    """`direction` None: all of them. `step` None: the newest that can be judged. `offset`: rows scrolled away, on the
    path the number of the stop that is chosen. `filter`: only rows with this in them, "" for all."""

    tab: Tab = Tab.overview
    direction: Direction | None = None
    step: str | None = None
    offset: int = 0
    paused: bool = False
    order: Order = Order.busy
    filter: str = ""

    def wants(self, *said: str) -> bool:
        """Whether a row that says this is to be shown."""
        return any(self.filter.casefold() in text.casefold() for text in said)


_ORDER: tuple[Direction | None, ...] = (None, *DIRECTIONS)


def next_order(order: Order) -> Order:
    """Busiest first, along the path, by name, and busiest first again."""
    orders = list(Order)
    return orders[(orders.index(order) + 1) % len(orders)]


def next_direction(direction: Direction | None) -> Direction | None:
    """All, read, write, and all again."""
    return _ORDER[(_ORDER.index(direction) + 1) % len(_ORDER)]

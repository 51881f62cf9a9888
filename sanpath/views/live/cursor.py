"""The user's selection: the state of the live view apart from the last snapshot."""

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
    """How elements are sorted; the value is the text on the screen."""

    busy = "busiest first"
    path = "from load to array"
    name = "by name"


@dataclass(frozen=True, slots=True)
class Cursor:
    """The selected page, direction, step and rows.

    `direction` None: all directions. `step` None: the newest that can be judged. `offset`: number of rows scrolled;
    on the path the number of the chosen stop. `filter`: only rows that contain this text, "" for all.
    """

    tab: Tab = Tab.overview
    direction: Direction | None = None
    step: str | None = None
    offset: int = 0
    paused: bool = False
    order: Order = Order.busy
    filter: str = ""

    def matches(self, *texts: str) -> bool:
        """Whether a row with these texts passes the filter."""
        return any(self.filter.casefold() in text.casefold() for text in texts)


_ORDER: tuple[Direction | None, ...] = (None, *DIRECTIONS)


def next_order(order: Order) -> Order:
    """The next order: busiest first, along the path, by name."""
    orders = list(Order)
    return orders[(orders.index(order) + 1) % len(orders)]


def next_direction(direction: Direction | None) -> Direction | None:
    """The next direction in the order all, read, write."""
    return _ORDER[(_ORDER.index(direction) + 1) % len(_ORDER)]

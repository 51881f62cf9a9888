"""What goes wrong between devices and a recording: clocks that are off, lost polls, counters that start over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sanpath.plugin import Item


@dataclass
class Defects:
    """None by default. `missing`: names of sources that are not read at all."""

    missing: frozenset[str] = field(default=frozenset())

    def every(self, source: str, seconds: float) -> float:  # noqa: ARG002
        """How far apart the polls of a source are."""
        return seconds

    def skew(self, source: str) -> float:  # noqa: ARG002
        """By how much a source's clock is ahead, in seconds."""
        return 0.0

    def lose(self, source: str) -> bool:  # noqa: ARG002
        """Whether this poll gets no answer."""
        return False

    def bent(self, source: str, item: Item) -> Iterator[Item]:  # noqa: ARG002
        """What is recorded instead of an item."""
        yield item

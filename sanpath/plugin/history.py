"""A source that remembers: asked for the time of a test that is already over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sanpath.model import Table
from sanpath.plugin.collector import Item
from sanpath.plugin.connections import Context


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that a source remembers.

    `source`: what the device that told it is called, so that each has a name of its own in the recording; `tables`:
    all that this device may yield. Times of the item are microseconds since the epoch.
    """

    source: str
    tables: tuple[Table, ...]
    item: Item


@runtime_checkable
class KeepsHistory(Protocol):
    """A Collector that can be asked for the past, after `open`."""

    def history(self, ctx: Context, began_us: int, ended_us: int) -> AsyncIterator[Kept]:
        """What it remembers of a time, in microseconds since the epoch. Raises CollectorError."""
        ...

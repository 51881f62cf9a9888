"""Sources that store past values, and so can be asked for the time of a test that is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sanpath.model import Table
from sanpath.plugin.collector import Item
from sanpath.plugin.connections import Context


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A past item with the device that it is from.

    `source`: the name of that device, under which the item is recorded. `tables`: all tables that this device may
    yield. Times of the item are microseconds since the epoch.
    """

    source: str
    tables: tuple[Table, ...]
    item: Item


@runtime_checkable
class KeepsHistory(Protocol):
    """A Collector that can be asked for the past, after `open`."""

    def history(self, ctx: Context, began_us: int, ended_us: int) -> AsyncIterator[HistoryItem]:
        """Yield what the source stored between two times, in microseconds since the epoch. Raises CollectorError."""
        ...

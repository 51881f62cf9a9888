"""One source of a recording that fails in one way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from sanpath.model import Event, Rows, Table
from sanpath.plugin import Item
from sanpath_lab.scenario import Scenario
from sanpath_testbed.defects import Defects

Kind = Literal["stops", "is late", "freezes", "caches", "has another clock"]
LATE_SECONDS, FROZEN_SECONDS, AHEAD_SECONDS = 3.0, 8.0, 37.0
CACHE_SECONDS, POLL_SECONDS = 2.0, 5.0


class Fault(Defects):
    """`source` fails from `at_seconds` after its first answer on: for good, or while it is frozen."""

    def __init__(self, scenario: Scenario, kind: Kind, source: str, at_seconds: float = 0.0) -> None:
        super().__init__(scenario)
        self._kind, self._source, self._after_us = kind, source, round(at_seconds * 1e6)
        self._first_us: int | None = None
        self._kept: dict[Table, Rows] = {}
        self._kept_us: dict[Table, int] = {}
        self._told_us: dict[Table, int] = {}

    def loses(self, source: str, at_us: int) -> bool:
        """It has stopped."""
        return source == self._source and self._kind == "stops" and self._since(at_us) >= 0

    def skew_seconds(self, source: str) -> float:
        """Its clock."""
        return AHEAD_SECONDS if source == self._source and self._kind == "has another clock" else 0.0

    def distorted(self, source: str, item: Item) -> Iterator[Item]:
        """What it says, late, from a cache or from before it was frozen."""
        if source != self._source or not isinstance(item, Rows | Event):
            yield from super().distorted(source, item)
        elif self._kind == "is late":
            by = round(LATE_SECONDS * 1e6)
            later = item.seen + by if isinstance(item, Event) else [moment + by for moment in item.seen]
            yield replace(item, seen=later)
        elif isinstance(item, Rows) and self._kind == "freezes":
            frozen = 0 <= self._since(item.seen[0]) < FROZEN_SECONDS * 1e6
            yield self._as_before(item) if frozen else self._keep(item)
        elif isinstance(item, Rows) and self._kind == "caches":
            yield from self._from_cache(item)
        else:
            yield from super().distorted(source, item)

    def _since(self, at_us: int) -> int:
        if self._first_us is None:
            self._first_us = at_us
        return at_us - self._first_us - self._after_us

    def _keep(self, rows: Rows) -> Rows:
        self._kept[rows.table], self._kept_us[rows.table] = rows, rows.seen[0]
        return rows

    def _as_before(self, rows: Rows) -> Rows:
        kept = self._kept.get(rows.table, rows)
        return replace(kept, seen=rows.seen) if len(kept.entity) == len(rows.entity) else kept

    def _from_cache(self, rows: Rows) -> Iterator[Rows]:
        """The agent reads its counters every 2 s, and is polled every 5 s; its clock is not cached."""
        table, now = rows.table, rows.seen[0]
        if table not in self._kept or now - self._kept_us[table] >= CACHE_SECONDS * 1e6 - 5e5:
            self._keep(rows)
        if table not in self._told_us or now - self._told_us[table] >= POLL_SECONDS * 1e6 - 5e5:
            self._told_us[table] = now
            yield replace(rows, values=self._kept[table].values)

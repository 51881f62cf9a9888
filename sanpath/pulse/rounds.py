"""The newest poll rounds of one source and entity kind, and the newest window of each of its entities.

The rules of counters are those of facts/rates.py, for a few samples in memory: a difference that is none is left out,
and a round in which no counter has moved is an agent's cache and no news.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sanpath.facts.deltas import StepSamples
from sanpath.facts.rates import CACHE_US
from sanpath.model import Column, Rows
from sanpath.recording.flushed import ROUND_US

NOW = "now"
"""The step of what is no step, but the newest window."""
_KEPT = 4
"""Rounds with news: two make a window, others make it longer where a cache has made it too short."""


@dataclass(slots=True)
class _Round:
    """What was seen together. `places`: of each of the rows, entity → its row."""

    first: int
    last: int
    rows: list[Rows] = field(default_factory=list)
    places: list[dict[str, int]] = field(default_factory=list)
    moved: bool = False


class Rounds:
    """`cached`: the source may answer from a cache, as agents of switches do."""

    def __init__(self, cached: bool) -> None:
        self._cached = cached
        self._told: deque[_Round] = deque(maxlen=_KEPT + 1)
        self._newest = 0

    def take(self, rows: Rows) -> None:
        """The samples of one poll, or of a part of it; what was taken before, and what is older, is passed over."""
        if not rows.entity or max(rows.seen) < self._newest or self._is_known(rows):
            return
        self._newest = max(rows.seen)
        if not self._told or min(rows.seen) - self._told[-1].last > ROUND_US:
            self._close()
            self._told.append(_Round(min(rows.seen), self._newest))
        here = self._told[-1]
        before = next((part for part in self._parts() if rows.entity[0] in part[1]), None)
        before = before if before is not None and before[0].entity == rows.entity else None
        places = before[1] if before is not None else {entity: at for at, entity in enumerate(rows.entity)}
        here.moved |= self._has_moved(rows, before[0] if before is not None else None)
        here.last = max(here.last, self._newest)
        here.rows.append(rows)
        here.places.append(places)

    def kept(self) -> Iterator[Rows]:
        """All samples that are kept, the oldest first."""
        for told in self._told:
            yield from told.rows

    def entities(self) -> list[str]:
        """Entities that were sampled, in the order of their names."""
        return sorted({entity for told in self._told for places in told.places for entity in places})

    def newest(self, entity: str, since_us: int = 0, back: int = 1) -> StepSamples | None:
        """The newest window of an entity, over the `back` newest differences, or as many as there are; and the newest
        values of its gauges. None: fewer than two samples were seen since then."""
        told = list(islice(self._samples(entity, since_us), back + 1))
        if len(told) < 2:
            return None
        (rows, at), (earlier, then) = told[0], told[-1]
        moment, began = _moment(rows, at), _moment(earlier, then)
        found = StepSamples("", entity, NOW, [(moment - began) / 1e6], [rows.seen[at]], samples=1)
        for column in rows.table.columns:
            value = _value(rows, at, column)
            if column.bits:
                grown = _grown(column, _value(earlier, then, column), value)
                rate = None if grown is None else grown * column.scale / found.seconds[0]
                found.rates[column.metric] = [rate]
            else:
                scaled = None if value is None else value * column.scale
                found.means[column.metric] = found.lasts[column.metric] = scaled
        found.resolutions = {c.metric: c.resolution for c in rows.table.columns if c.resolution}
        return found

    def rate(self, entity: str, counter: str, back: int = 1) -> tuple[float, int, int] | None:
        """One counter of the newest window: units a second, and where it begins and ends on the recorder's clock.
        None: not known."""
        told = list(islice(self._samples(entity, 0), back + 1))
        if len(told) < 2:
            return None
        (rows, at), (earlier, then) = told[0], told[-1]
        column = next((c for c in rows.table.columns if c.metric == counter), None)
        if column is None:
            return None
        grown = _grown(column, _value(earlier, then, column), _value(rows, at, column))
        seconds = (_moment(rows, at) - _moment(earlier, then)) / 1e6
        return None if grown is None else (grown * column.scale / seconds, earlier.seen[then], rows.seen[at])

    def last(self, entity: str, gauge: str) -> float | None:
        """The newest value of a gauge in its base unit. None: not told."""
        for rows, at in self._samples(entity, 0):
            column = next((c for c in rows.table.columns if c.metric == gauge), None)
            if column is not None and (value := _value(rows, at, column)) is not None:
                return value * column.scale
        return None

    def _has_moved(self, rows: Rows, before: Rows | None) -> bool:
        """Whether any counter is another than in the sample before. `before`: the same entities in the same order,
        None: there is no such poll."""
        counters = [column for column in rows.table.columns if column.bits]
        if before is not None:
            # Lists of numbers differ at the first number that does: it costs nothing where anything moves.
            return any(rows.values.get(c.metric) != before.values.get(c.metric) for c in counters)
        for at, entity in enumerate(rows.entity):
            last = next(((part, places[entity]) for part, places in self._parts() if entity in places), None)
            if last is None or any(_value(rows, at, c) != _value(*last, c) for c in counters):
                return True
        return False

    def _is_known(self, rows: Rows) -> bool:
        return any(rows.seen == known.seen and rows == known for known, _ in self._parts())

    def _parts(self) -> Iterator[tuple[Rows, dict[str, int]]]:
        """The newest first, those without news as well."""
        for told in reversed(self._told):
            yield from zip(reversed(told.rows), reversed(told.places), strict=True)

    def _samples(self, entity: str, since_us: int) -> Iterator[tuple[Rows, int]]:
        """Samples of an entity in rounds with news, the newest first, each earlier than the one before."""
        later: int | None = None
        for number, told in enumerate(reversed(self._told)):
            if number == 0 and not self._is_news(told):
                continue
            for rows, places in zip(reversed(told.rows), reversed(told.places), strict=True):
                at = places.get(entity)
                if at is None or rows.seen[at] < since_us:
                    continue
                moment = _moment(rows, at)
                if later is None or moment < later:
                    later = moment
                    yield rows, at

    def _close(self) -> None:
        """The newest round is over: without news it was none."""
        if self._told and not self._is_news(self._told[-1]):
            self._told.pop()

    def _is_news(self, told: _Round) -> bool:
        moved = [other.first for other in self._told if other.moved and other is not told]
        return not self._cached or told.moved or (bool(moved) and told.first - max(moved) >= CACHE_US)


def _moment(rows: Rows, at: int) -> int:
    """When a sample was true, by the clock that its source keeps: good for differences alone."""
    dated = rows.device_time[at] if rows.device_time else None
    return rows.seen[at] if dated is None else dated


def _value(rows: Rows, at: int, column: Column) -> float | None:
    told: Sequence[int | float | None] | None = rows.values.get(column.metric)
    value = told[at] if told is not None else None
    return value if value is not None and math.isfinite(value) else None


def _grown(column: Column, before: float | None, now: float | None) -> float | None:
    """By how much a counter has grown. None: it was reset, or was not told."""
    if before is None or now is None:
        return None
    if now >= before:
        return now - before
    fallen = before - now
    return 2**32 - fallen if column.bits == 32 and before < 2**32 and fallen > 2**31 else None

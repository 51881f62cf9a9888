"""The newest poll rounds of one source and entity kind, and the newest window of each of its entities.

The rules of counters are those of facts/samples/counters.py, for a few samples in memory: an invalid difference is
left out, and a round in which no counter has moved is an agent's cache and no news.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite

from sanpath.facts.samples.counters import CACHE_US
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Column, Rows
from sanpath.recording.reading.tail import ROUND_US

NOW = "now"
"""The step of what is no step, but the newest window."""
_KEPT = 4
"""Rounds with news: two make a window, others make it longer where a cache has made it too short."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Samples that came together. `places`: entity → its row; `columns`: metric → how it was declared."""

    rows: Rows
    places: Mapping[str, int]
    columns: Mapping[str, Column]

    def moment(self, at: int) -> int:
        """When a sample was true, by the clock that its source keeps: good for differences alone."""
        dated = self.rows.device_time[at] if self.rows.device_time else None
        return self.rows.seen[at] if dated is None else dated

    def value(self, metric: str, at: int) -> float | None:
        """As it was recorded. None: not told."""
        told = self.rows.values.get(metric)
        value = told[at] if told is not None else None
        return value if value is not None and isfinite(value) else None


@dataclass(slots=True)
class _Round:
    """What was seen together."""

    first: int
    last: int
    parts: list[_Part] = field(default_factory=list)
    moved: bool = False


@dataclass(slots=True)
class Window:
    """The newest window of an entity, between two of its samples. `seconds`: its length."""

    now: _Part
    at: int
    before: _Part
    then: int
    seconds: float

    @property
    def limits(self) -> tuple[int, int]:
        """Where it begins and ends on the recorder's clock."""
        return self.before.rows.seen[self.then], self.now.rows.seen[self.at]

    def rate(self, counter: str) -> float | None:
        """Units a second. None: it was reset, or was not told."""
        column = self.now.columns.get(counter)
        before, now = self.before.value(counter, self.then), self.now.value(counter, self.at)
        if column is None or before is None or now is None:
            return None
        grown = now - before
        if grown < 0:
            wrapped = column.bits == 32 and before < 2**32 and -grown > 2**31
            return (2**32 + grown) * column.scale / self.seconds if wrapped else None
        return grown * column.scale / self.seconds

    def gauge(self, metric: str) -> float | None:
        """The newest value in its base unit. None: not told."""
        column, value = self.now.columns.get(metric), self.now.value(metric, self.at)
        return None if column is None or value is None else value * column.scale


class Rounds:
    """`cached`: the source may answer from a cache, as agents of switches do."""

    def __init__(self, cached: bool) -> None:
        self._cached = cached
        self._told: deque[_Round] = deque(maxlen=_KEPT + 1)
        self._newest = 0
        # Of rounds with news, the newest first.
        self._news: list[_Part] = []

    def take(self, rows: Rows) -> None:
        """The samples of one poll, or of a part of it; what was taken before, and what is older, is passed over."""
        if not rows.entity or max(rows.seen) < self._newest or self._is_known(rows):
            return
        self._newest = max(rows.seen)
        if not self._told or min(rows.seen) - self._told[-1].last > ROUND_US:
            self._close()
            self._told.append(_Round(min(rows.seen), self._newest))
        before = next((part for part in self._parts() if rows.entity[0] in part.places), None)
        before = before if before is not None and before.rows.entity == rows.entity else None
        places = before.places if before is not None else {entity: at for at, entity in enumerate(rows.entity)}
        part = _Part(rows, places, {column.metric: column for column in rows.table.columns})
        here = self._told[-1]
        here.moved |= self._has_moved(part, before)
        here.last = max(here.last, self._newest)
        here.parts.append(part)
        news = self._told if self._is_news(here) else islice(self._told, len(self._told) - 1)
        self._news = [part for told in reversed(list(news)) for part in reversed(told.parts)]

    def kept(self) -> Iterator[Rows]:
        """All samples that are kept, the oldest first."""
        for told in self._told:
            for part in told.parts:
                yield part.rows

    def entities(self) -> list[str]:
        """Entities that were sampled, in the order of their names."""
        return sorted({entity for part in self._parts() for entity in part.places})

    def window(self, entity: str, since_us: int = 0, back: int = 1) -> Window | None:
        """The newest window of an entity, over the `back` newest differences, or as many as there are. None: fewer
        than two samples were seen since then."""
        newest: tuple[_Part, int, int] | None = None
        found: Window | None = None
        earliest = 0
        for part in self._news:
            at = part.places.get(entity)
            if at is None or part.rows.seen[at] < since_us:
                continue
            moment = part.moment(at)
            if newest is None:
                newest, earliest = (part, at, moment), moment
            elif moment < earliest:
                found, earliest = Window(newest[0], newest[1], part, at, (newest[2] - moment) / 1e6), moment
                back -= 1
                if not back:
                    break
        return found

    def samples(self, source: str, entity: str, since_us: int) -> StepSamples | None:
        """The newest window as facts have it. None: there is none."""
        window = self.window(entity, since_us)
        if window is None:
            return None
        found = StepSamples(source, entity, NOW, [window.seconds], [window.limits[1]], samples=1)
        for metric, column in window.now.columns.items():
            if column.bits:
                found.rates[metric] = [window.rate(metric)]
            else:
                found.means[metric] = found.last_values[metric] = window.gauge(metric)
        found.resolutions = {
            name: column.resolution for name, column in window.now.columns.items() if column.resolution
        }
        return found

    def _has_moved(self, part: _Part, before: _Part | None) -> bool:
        """Whether any counter is another than in the sample before. `before`: the same entities in the same order,
        None: there is no such poll."""
        counters = [metric for metric, column in part.columns.items() if column.bits]
        if before is not None:
            # Lists of numbers differ at the first number that does: it costs nothing where anything moves.
            return any(part.rows.values.get(metric) != before.rows.values.get(metric) for metric in counters)
        for entity, at in part.places.items():
            last = next((other for other in self._parts() if entity in other.places), None)
            if last is None or any(part.value(m, at) != last.value(m, last.places[entity]) for m in counters):
                return True
        return False

    def _is_known(self, rows: Rows) -> bool:
        return any(rows.seen == known.rows.seen and rows == known.rows for known in self._parts())

    def _parts(self) -> Iterator[_Part]:
        """The newest first, those without news as well."""
        for told in reversed(self._told):
            yield from reversed(told.parts)

    def _close(self) -> None:
        """The newest round is over: without news it was none."""
        if self._told and not self._is_news(self._told[-1]):
            self._told.pop()

    def _is_news(self, told: _Round) -> bool:
        moved = [other.first for other in self._told if other.moved and other is not told]
        return not self._cached or told.moved or (bool(moved) and told.first - max(moved) >= CACHE_US)

"""The newest poll rounds of one source and entity kind, and the newest window of each entity.

Counters follow the rules of facts/samples/counters.py, applied to a few samples in memory: an invalid difference is
left out, and a round in which no counter has moved comes from an agent's cache and is dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite

import numpy as np
import numpy.typing as npt

from sanpath.facts.samples.counters import idle_after
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import Column, Rows
from sanpath.recording.reading.tail import ROUND_US

NOW = "now"
"""Name of the pseudo-step for the newest window."""
_MAX_ROUNDS = 4
"""Retained rounds with moving counters: two make a window; earlier ones extend it if a cache made it too short."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples that arrived together.

    `row_by_entity`: entity → index of its row; `columns`: metric → its declaration.
    """

    rows: Rows
    row_by_entity: Mapping[str, int]
    columns: Mapping[str, Column]

    def time_us(self, row: int) -> int:
        """Return the time of a sample in microseconds of its source's clock; only differences are meaningful."""
        device_time = self.rows.device_time[row] if self.rows.device_time else None
        return self.rows.seen[row] if device_time is None else device_time

    def times_us(self) -> npt.NDArray[np.int64]:
        """Return the times of all samples, see `time_us`."""
        seen, own = self.rows.seen, self.rows.device_time
        times = [s if d is None else d for s, d in zip(seen, own, strict=True)] if own else seen
        return np.array(times, dtype=np.int64)

    def numbers(self, metric: str) -> npt.NDArray[np.float64]:
        """Return the recorded values of all samples. NaN: not reported."""
        values = self.rows.values.get(metric)
        return np.full(len(self.rows.entity), np.nan) if values is None else np.array(values, dtype=np.float64)

    def value(self, metric: str, row: int) -> float | None:
        """Return the recorded value. None: not reported."""
        values = self.rows.values.get(metric)
        value = values[row] if values is not None else None
        return value if value is not None and isfinite(value) else None


@dataclass(slots=True)
class _Round:
    """Batches of one poll round. `first` and `last` in microseconds of the recorder's clock."""

    first: int
    last: int
    batches: list[Batch] = field(default_factory=list)
    moved: bool = False


@dataclass(slots=True)
class Window:
    """The newest window of an entity: `row` of `now` and `row_before` of `before`, `seconds` apart."""

    now: Batch
    row: int
    before: Batch
    row_before: int
    seconds: float

    @property
    def limits(self) -> tuple[int, int]:
        """Start and end in microseconds of the recorder's clock."""
        return self.before.rows.seen[self.row_before], self.now.rows.seen[self.row]

    def rate(self, counter: str) -> float | None:
        """Return base units per second. None: the counter was reset, or is not reported."""
        column = self.now.columns.get(counter)
        before, now = self.before.value(counter, self.row_before), self.now.value(counter, self.row)
        if column is None or before is None or now is None:
            return None
        growth = now - before
        if growth < 0:
            wrapped = column.bits == 32 and before < 2**32 and -growth > 2**31
            return (2**32 + growth) * column.scale / self.seconds if wrapped else None
        return growth * column.scale / self.seconds

    def gauge(self, metric: str) -> float | None:
        """Return the newest value in its base unit. None: not reported."""
        column, value = self.now.columns.get(metric), self.now.value(metric, self.row)
        return None if column is None or value is None else value * column.scale


class Rounds:
    """The newest rounds. `cached`: the source may answer from a cache, as agents of switches do."""

    def __init__(self, cached: bool) -> None:
        self._cached = cached
        self._rounds: deque[_Round] = deque(maxlen=_MAX_ROUNDS + 1)
        self._newest = 0
        # Batches of the rounds with moved counters, newest first.
        self._news: list[Batch] = []

    def take(self, rows: Rows) -> None:
        """Take the samples of one poll or of a part of it; duplicate and older samples are ignored."""
        if not rows.entity or max(rows.seen) < self._newest or self._is_duplicate(rows):
            return
        self._newest = max(rows.seen)
        if not self._rounds or min(rows.seen) - self._rounds[-1].last > ROUND_US:
            self._close()
            self._rounds.append(_Round(min(rows.seen), self._newest))
        before = next((batch for batch in self._batches() if rows.entity[0] in batch.row_by_entity), None)
        before = before if before is not None and before.rows.entity == rows.entity else None
        row_by_entity = (
            before.row_by_entity if before is not None else {entity: row for row, entity in enumerate(rows.entity)}
        )
        batch = Batch(rows, row_by_entity, {column.metric: column for column in rows.table.columns})
        current = self._rounds[-1]
        current.moved |= self._has_moved(batch, before)
        current.last = max(current.last, self._newest)
        current.batches.append(batch)
        news = self._rounds if self._is_new(current) else islice(self._rounds, len(self._rounds) - 1)
        self._news = [batch for poll_round in reversed(list(news)) for batch in reversed(poll_round.batches)]

    def snapshot(self) -> Iterator[Rows]:
        """Yield all retained samples, oldest first."""
        for poll_round in self._rounds:
            for batch in poll_round.batches:
                yield batch.rows

    def entities(self) -> list[str]:
        """Return the sampled entities, sorted."""
        return sorted({entity for batch in self._batches() for entity in batch.row_by_entity})

    def newest(self) -> Iterator[tuple[Batch, Batch | None]]:
        """Yield the newest batch of entities that are polled together, and the one before it. None: there is none."""
        done: list[Mapping[str, int]] = []
        for index, batch in enumerate(self._news):
            rows = batch.row_by_entity
            if not any(rows is earlier for earlier in done):
                done.append(rows)
                yield batch, next((b for b in self._news[index + 1 :] if b.row_by_entity is rows), None)

    def window(self, entity: str, since_us: int = 0, differences: int = 1) -> Window | None:
        """Return the newest window of an entity, over the newest `differences` or as many as exist.

        None: fewer than two samples were seen since `since_us`.
        """
        newest: tuple[Batch, int, int] | None = None
        window: Window | None = None
        earliest = 0
        for batch in self._news:
            row = batch.row_by_entity.get(entity)
            if row is None or batch.rows.seen[row] < since_us:
                continue
            time_us = batch.time_us(row)
            if newest is None:
                newest, earliest = (batch, row, time_us), time_us
            elif time_us < earliest:
                window, earliest = Window(newest[0], newest[1], batch, row, (newest[2] - time_us) / 1e6), time_us
                differences -= 1
                if not differences:
                    break
        return window

    def samples(self, source: str, entity: str, since_us: int) -> StepSamples | None:
        """Return the newest window in the form that facts use. None: there is no window."""
        window = self.window(entity, since_us)
        if window is None:
            return None
        samples = StepSamples(source, entity, NOW, [window.seconds], [window.limits[1]], samples=1)
        for metric, column in window.now.columns.items():
            if column.bits:
                samples.rates[metric] = [window.rate(metric)]
            else:
                samples.means[metric] = samples.last_values[metric] = window.gauge(metric)
        samples.resolutions = {
            name: column.resolution for name, column in window.now.columns.items() if column.resolution
        }
        return samples

    def _has_moved(self, batch: Batch, before: Batch | None) -> bool:
        """Return whether any counter differs from its previous sample.

        `before`: the last batch with the same entities in the same order; None: there is none.
        """
        counters = [metric for metric, column in batch.columns.items() if column.bits]
        if before is not None:
            # Comparing lists stops at the first difference: it is cheap if any counter moves.
            return any(batch.rows.values.get(metric) != before.rows.values.get(metric) for metric in counters)
        for entity, row in batch.row_by_entity.items():
            last = next((earlier for earlier in self._batches() if entity in earlier.row_by_entity), None)
            if last is None or any(
                batch.value(metric, row) != last.value(metric, last.row_by_entity[entity]) for metric in counters
            ):
                return True
        return False

    def _is_duplicate(self, rows: Rows) -> bool:
        return any(rows.seen == batch.rows.seen and rows == batch.rows for batch in self._batches())

    def _batches(self) -> Iterator[Batch]:
        """Yield all batches, newest first, including rounds that did not move."""
        for poll_round in reversed(self._rounds):
            yield from reversed(poll_round.batches)

    def _close(self) -> None:
        """Complete the newest round, and drop it if no counter moved in it."""
        if self._rounds and not self._is_new(self._rounds[-1]):
            self._rounds.pop()

    def _is_new(self, poll_round: _Round) -> bool:
        moved = sorted(earlier.first for earlier in self._rounds if earlier.moved and earlier is not poll_round)
        is_idle = bool(moved) and poll_round.first - moved[-1] >= idle_after(np.array(moved))
        return not self._cached or poll_round.moved or is_idle

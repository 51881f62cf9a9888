"""What a source with very many entities did over whole steps: in parts, which any process that reads the recording
can compute. A part is the same whoever computes it, and so is what comes of it, to the last digit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from sanpath.facts.samples.counters import CounterRates, Rounds, Sums
from sanpath.facts.samples.gauges import Means, step_means
from sanpath.facts.samples.step_views import Shift, shift, step_table, timed_view
from sanpath.model import Column, Step
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location

_PART = 6_000_000
"""Samples (rows times counters) that are differenced at once: 0.4 GB of memory (measured with DuckDB 2.0)."""
_SIDE_BY_SIDE = 2
"""Parts that are computed at once on this machine: as many threads as a connection may have, see recording.duck."""
_LAST_NAME = "\U0010ffff"
"""Sorts after every name."""


@dataclass(frozen=True, slots=True)
class Part:
    """The entities of a source from `first` to `before`, by name, and all that is needed to compute their steps.

    `recorded`: what the source tells of the kind, counters and gauges; `rounds`: see CounterRates; `left_out`:
    segments that cannot be read; `since_us`: see Recording.
    """

    recording: Location
    left_out: frozenset[str]
    since_us: int | None
    kind: str
    source: str
    recorded: Mapping[str, Column]
    steps: Sequence[Step]
    shifts: Sequence[Shift]
    rounds: Rounds
    first: str
    before: str

    def compute(self) -> tuple[list[Sums], list[Means]]:
        """Whole steps of its counters and of its gauges."""
        recording = Recording(self.recording)
        recording.unreadable |= self.left_out
        recording.checked = True
        recording.since_us = self.since_us
        counters, gauges = apart(self.recorded)
        with closing(recording.connect(threads=1)) as connection:
            shift(connection, self.shifts)
            step_table(connection, self.steps)
            timed_view(recording, connection, self.kind)
            rates = CounterRates(connection, self.kind, self.source, counters)
            rates.use_rounds(self.rounds)
            between = self.first, self.before
            means = step_means(connection, self.kind, self.source, gauges, self.recorded, between) if gauges else []
            return rates.sums(*between), means


def apart(recorded: Mapping[str, Column]) -> tuple[dict[str, Column], dict[str, Column]]:
    """Counters and gauges."""
    counters = {name: column for name, column in recorded.items() if column.bits}
    return counters, {name: column for name, column in recorded.items() if not column.bits}


def divided(rows: Mapping[str, int], counters: int) -> Iterator[tuple[str, str]]:
    """The names at which parts begin and before which they end, so that a database can hold each; all names are in
    one. `rows`: entity → samples, in the order of names. The parts depend on nothing but the recording."""
    entities = list(rows)
    length = ceil(len(entities) / ceil(sum(rows.values()) * counters / _PART))
    limits = ["", *entities[length::length], _LAST_NAME]
    return pairwise(limits)


def whole_steps(parts: Sequence[Part], executor: Executor | None) -> Iterator[tuple[list[Sums], list[Means]]]:
    """What came of every part, in their order. `executor` None: threads of this process."""
    pool: AbstractContextManager[Executor] = nullcontext(executor) if executor is not None else _threads()
    with pool as at_work:
        yield from at_work.map(Part.compute, parts)


def _threads() -> Executor:
    return ThreadPoolExecutor(min(_SIDE_BY_SIDE, os.cpu_count() or 1), "analysis")

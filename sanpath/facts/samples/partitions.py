"""Splits a source with very many entities into partitions, to compute rates and means over entire steps.

Any process that can read the recording can compute a partition. The result is the same to the last digit, whichever
process computes it."""

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
from sanpath.facts.samples.step_views import Shift, create_shift_table, step_table, timed_view
from sanpath.model import Column, Step
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location

_MAX_VALUES = 6_000_000
"""Values (rows times counters) whose differences are computed at once: 0.4 GB of memory (measured, DuckDB 2.0)."""
_MAX_THREADS = 2
"""Partitions that this machine computes at once: as many threads as a connection may have, see recording.duck."""
_LAST_NAME = "\U0010ffff"
"""Sorts after every name."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The entities of a source whose names lie in [`first`, `before`), with all that is needed to compute their
    steps.

    `recorded`: the columns that the source reports of the kind, counters and gauges. `rounds`: see CounterRates.
    `unreadable`: segments that cannot be read. `since_us`: see Recording.
    """

    recording: Location
    unreadable: frozenset[str]
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
        """Compute the rates of its counters and the means of its gauges, over entire steps."""
        recording = Recording(self.recording)
        recording.unreadable |= self.unreadable
        recording.checked = True
        recording.since_us = self.since_us
        counters, gauges = split_by_type(self.recorded)
        with closing(recording.connect(threads=1)) as connection:
            create_shift_table(connection, self.shifts)
            step_table(connection, self.steps)
            timed_view(recording, connection, self.kind)
            rates = CounterRates(connection, self.kind, self.source, counters)
            rates.use_rounds(self.rounds)
            entity_range = self.first, self.before
            means = (
                step_means(connection, self.kind, self.source, gauges, self.recorded, entity_range) if gauges else []
            )
            return rates.sums(*entity_range), means


def split_by_type(recorded: Mapping[str, Column]) -> tuple[dict[str, Column], dict[str, Column]]:
    """Split columns into counters and gauges."""
    counters = {name: column for name, column in recorded.items() if column.bits}
    return counters, {name: column for name, column in recorded.items() if not column.bits}


def entity_ranges(rows: Mapping[str, int], counters: int) -> Iterator[tuple[str, str]]:
    """Yield ranges of entity names, small enough for a database: the first name, and the name before which it ends.

    Every name lies in one range. `rows`: entity → number of samples, in the order of names. The ranges depend on
    nothing but the recording."""
    entities = list(rows)
    length = ceil(len(entities) / ceil(sum(rows.values()) * counters / _MAX_VALUES))
    limits = ["", *entities[length::length], _LAST_NAME]
    return pairwise(limits)


def compute_partitions(
    partitions: Sequence[Partition], executor: Executor | None
) -> Iterator[tuple[list[Sums], list[Means]]]:
    """Compute every partition and yield the results in their order. `executor` None: threads of this process."""
    pool: AbstractContextManager[Executor] = nullcontext(executor) if executor is not None else _thread_pool()
    with pool as workers:
        yield from workers.map(Partition.compute, partitions)


def _thread_pool() -> Executor:
    return ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1), "analysis")

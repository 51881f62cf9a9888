"""Splits a source with very many entities into partitions, to compute rates and means over entire steps.

Any process that can read the recording can compute a partition. The result is the same to the last digit, whichever
process computes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass

from sanpath.facts.samples.counters import PORT_SPEED, CounterWindows, Rounds, Sums
from sanpath.facts.samples.gauges import Means, columns_of, step_means
from sanpath.facts.samples.sample_arrays import SampleReader, timed_samples
from sanpath.model import Column, Step
from sanpath.recording.reading.recording import Recording, Shift
from sanpath.recording.storage.store import Location

_MAX_THREADS = 2
"""Partitions that this machine computes at once: a machine under load test is spared."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The entities of a source whose names lie in [`first`, `before`), with all that is needed to compute their
    steps.

    `recorded`: the columns that the source reports of the kind, counters and gauges. `rounds`: see CounterWindows.
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
        recording.shifts = self.shifts
        counters, gauges = split_by_type(self.recorded)
        with closing(recording.connect()) as connection:
            timed, _ = timed_samples(recording, connection, self.kind)
            metrics = columns_of(self.kind, self.recorded, self.recorded)
            samples = SampleReader(connection, timed, self.source, metrics, self.first, self.before).read()
        sums = CounterWindows(samples, counters, self.steps, self.rounds, gauges.get(PORT_SPEED)).sums()
        return sums, step_means(samples, self.kind, gauges, self.recorded, self.steps) if gauges else []


def split_by_type(recorded: Mapping[str, Column]) -> tuple[dict[str, Column], dict[str, Column]]:
    """Split columns into counters and gauges."""
    counters = {name: column for name, column in recorded.items() if column.bits}
    return counters, {name: column for name, column in recorded.items() if not column.bits}


def compute_partitions(
    partitions: Sequence[Partition], executor: Executor | None
) -> Iterator[tuple[list[Sums], list[Means]]]:
    """Compute every partition and yield the results in their order. `executor` None: threads of this process."""
    pool: AbstractContextManager[Executor] = nullcontext(executor) if executor is not None else _thread_pool()
    with pool as workers:
        yield from workers.map(Partition.compute, partitions)


def _thread_pool() -> Executor:
    return ThreadPoolExecutor(min(_MAX_THREADS, os.cpu_count() or 1), "analysis")

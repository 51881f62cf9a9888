"""Turns samples into rates of counters and means of gauges, for each step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from sanpath.facts.samples.cached_arrays import cached_arrays
from sanpath.facts.samples.counters import CounterWindows, Rates, Rounds, Sums, Windows, find_rounds
from sanpath.facts.samples.gauges import Means, columns_of, gauges_by_quarter, step_means
from sanpath.facts.samples.partitions import Partition, compute_partitions, split_by_type
from sanpath.facts.samples.sample_arrays import SampleArrays, SampleReader, entity_ranges
from sanpath.facts.samples.timed_samples import timed_samples
from sanpath.model import Column, Step
from sanpath.recording.reading.recording import Recording

ENTIRE_RECORDING = Step("* the whole recording *", 0, 2**62, "whole run", (), None)
"""The entire recording as one step."""
_MAX_DETAILED_ENTITIES = 256
"""Up to this many entities of a source have each of their windows retained: those of the loaded path, then the
busiest."""
_MAX_DETAILED_DIFFERENCES = 2_000_000
"""Counter differences that are retained window by window beyond those of the loaded path: 0.1 GB of memory."""
_MAX_ROUND_ENTITIES = 64
"""In a source with very many entities, this many decide whether a poll round of the agent has news."""


_EMPTY: Mapping[str, Any] = {}
"""Shared by the samples of very many entities, most of which need none of their own."""


@dataclass(frozen=True, slots=True)
class Overall:
    """Counters of one entity over an entire step: number and total length of its windows, mean rate of each
    counter."""

    windows: int
    seconds: float
    rates: Mapping[str, float | None]


@dataclass(slots=True)
class StepSamples:
    """The samples of one entity from one source in one step.

    `rates`: counter → its rate in each window, in base units a second. `seconds`: length of each window. `ended_us`:
    end of each window on the recorder's clock, microseconds. Where a source has very many entities, only some have
    these window by window; the others have `overall` instead.

    `means`: gauge → its mean over the step. A state is averaged over time, an operation's time over operations: a
    second with ten operations must not outweigh one with ten thousand. `last_values`: gauge → last value. None and a
    missing key: not known. `resolutions`: gauge → by how much the true value may exceed the reported one, where the
    source truncates it. `quarter_means`: a device's time that is a mean over operations → its mean in the first and
    in the last quarter of the step, None where nothing was sampled. `by_hand`: a person read the value, no source
    did. `mean_rates`: results of `rate` that were computed together with `rates`.
    """

    source: str
    entity: str
    step: str
    seconds: list[float] = field(default_factory=list)
    ended_us: list[int] = field(default_factory=list)
    rates: Rates = field(default_factory=dict)
    means: dict[str, float | None] = field(default_factory=dict)
    last_values: dict[str, float | None] = field(default_factory=dict)
    resolutions: Mapping[str, float] = field(default_factory=lambda: _EMPTY)
    quarter_means: Mapping[str, tuple[float | None, float | None]] = field(default_factory=lambda: _EMPTY)
    overall: Overall | None = None
    samples: int = 0
    by_hand: bool = False
    mean_rates: Mapping[str, float | None] = field(default_factory=lambda: _EMPTY, repr=False, compare=False)

    @property
    def windows(self) -> int:
        """Number of entire counter windows inside the step; without counters, of gauge samples."""
        counted = self.overall.windows if self.overall is not None else len(self.seconds)
        return 1 if self.by_hand else counted or self.samples

    @property
    def length_seconds(self) -> float:
        """Total length of all windows."""
        return self.overall.seconds if self.overall is not None and not self.seconds else sum(self.seconds)

    def moved(self, counters: Iterable[str]) -> bool:
        """Return whether any of these counters has grown; an unknown one counts as unchanged."""
        if self.overall is not None and not self.rates:
            return any(map(self.overall.rates.get, counters))
        return any(map(self.rate, counters))

    def rate(self, counter: str) -> float | None:
        """Mean rate over the step: sum of differences over sum of times. None: no window has a rate."""
        if counter in self.mean_rates:
            return self.mean_rates[counter]
        if counter not in self.rates:
            return self.overall.rates.get(counter) if self.overall is not None else None
        rated = [(r, s) for r, s in zip(self.rates[counter], self.seconds, strict=False) if r is not None]
        total = sum(s for _, s in rated)
        return sum(r * s for r, s in rated) / total if total else None


def gauge_or_rates(sample: StepSamples, gauge: str, *counters: str) -> float | None:
    """The rate that a source reports as a gauge, else the sum of its counters' rates. None: it reports neither."""
    if (rate := sample.means.get(gauge)) is not None:
        return rate
    rates = [rate for counter in counters if (rate := sample.rate(counter)) is not None]
    return sum(rates) if rates else None


def step_samples(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    steps: Sequence[Step],
    detailed: Mapping[str, Collection[str]] | None = None,
    executor: Executor | None = None,
    include_others: bool = True,
    gauge_names: Collection[str] | None = None,
) -> list[StepSamples]:
    """Return rates and means of every entity of a kind in every step.

    A window that crosses a step's edge is left out.

    `detailed`: source → entities whose windows are needed one by one, even if the source has very many entities;
    None: those of all entities. `executor` computes sources with very many entities; None: threads of this process.
    `include_others`: whether entities that are not in `detailed` are needed at all. `gauge_names`: the gauges that
    are needed, None: all.
    """
    timed, recorded = timed_samples(recording, connection, kind)
    if not recorded or not steps:
        return []
    collected = _Collected()
    for source, columns in recording.columns(kind).items():
        reported = {name: column for name, column in columns.items() if name in recorded}
        counters, gauges = split_by_type(reported)
        gauges = {name: column for name, column in gauges.items() if gauge_names is None or name in gauge_names}
        metrics = columns_of(kind, {**counters, **gauges}, reported)
        if not metrics:
            continue
        table = _SourceTable(kind, source, reported, counters, gauges, gauges_by_quarter(kind, gauges, reported))
        reader = SampleReader(
            connection, timed, source, metrics, cached=cached_arrays(recording, kind, source, metrics)
        )
        rows = reader.rows
        if not counters:
            for samples in reader.read_in_ranges():
                collected.add(table, samples, steps)
            continue
        few = len(rows) <= _MAX_DETAILED_ENTITIES and sum(rows.values()) * len(counters) <= _MAX_DETAILED_DIFFERENCES
        if detailed is None or few:
            samples = reader.read()
            collected.add(table, samples, steps, find_rounds(samples, counters))
            continue
        detailed_entities = [entity for entity in detailed.get(source, ()) if entity in rows]
        rounds = find_rounds(reader.read(detailed_entities or list(rows)[:_MAX_ROUND_ENTITIES]), counters)
        if not include_others:
            collected.add(table, reader.read(detailed_entities), steps, rounds)
            continue
        # The entire recording is for charts, which show the loaded paths only.
        marked_steps = [step for step in steps if step != ENTIRE_RECORDING]
        busiest_rate: dict[str, float] = {}
        for sums, means in _over_steps(recording, table, reader, marked_steps, rounds, executor):
            collected.overall(table, sums, busiest_rate)
            collected.means(table, means)
        limit = min(_MAX_DETAILED_ENTITIES, _MAX_DETAILED_DIFFERENCES // (max(rows.values()) * len(counters)))
        busiest = sorted(busiest_rate, key=lambda entity: -busiest_rate[entity])[:limit]
        samples = reader.read({*detailed_entities, *busiest})
        collected.windows(table, CounterWindows(samples, counters, marked_steps, rounds).windows())
        if len(marked_steps) < len(steps):
            collected.add(table, samples.of(detailed_entities), [ENTIRE_RECORDING], rounds)
    return list(collected.samples.values())


@dataclass(frozen=True, slots=True)
class _SourceTable:
    """The columns that a source reports of an entity kind, and those that are needed of them: counters and gauges.

    `quartered`: see gauges_by_quarter."""

    kind: str
    source: str
    reported: Mapping[str, Column]
    counters: Mapping[str, Column]
    gauges: Mapping[str, Column]
    quartered: Sequence[str]


def _over_steps(
    recording: Recording,
    table: _SourceTable,
    reader: SampleReader,
    steps: Sequence[Step],
    rounds: Rounds,
    executor: Executor | None,
) -> Iterator[tuple[Sequence[Sums], Sequence[Means]]]:
    """Yield rates and means over entire steps, of all entities of a source with very many."""
    if reader.is_cached:
        samples = reader.read()
        means = step_means(samples, table.kind, table.gauges, table.reported, steps) if table.gauges else []
        yield CounterWindows(samples, table.counters, steps, rounds).sums(), means
        return
    partitions = [
        Partition(
            recording.folder.absolute() if isinstance(recording.folder, Path) else recording.folder,
            frozenset(recording.unreadable),
            recording.since_us,
            table.kind,
            table.source,
            table.reported,
            steps,
            tuple(shift for shift in recording.shifts or () if shift.source == table.source),
            rounds,
            *names,
        )
        for names in entity_ranges(reader.rows, len(table.counters))
    ]
    yield from compute_partitions(partitions, executor)


class _Collected:
    """Collects the results of queries; `samples`: (source, entity, step) → its samples."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, str, str], StepSamples] = {}

    def _get(self, source: str, entity: str, step: str) -> StepSamples:
        sample = self.samples.get((source, entity, step))
        if sample is None:
            sample = self.samples[source, entity, step] = StepSamples(source, entity, step)
        return sample

    def add(self, table: _SourceTable, samples: SampleArrays, steps: Sequence[Step], rounds: Rounds = ()) -> None:
        """Add the windows and means of samples. `rounds`: see CounterWindows."""
        if table.counters:
            self.windows(table, CounterWindows(samples, table.counters, steps, rounds).windows())
        if table.gauges:
            self.means(table, step_means(samples, table.kind, table.gauges, table.reported, steps))

    def windows(self, table: _SourceTable, rows: Iterable[Windows]) -> None:
        for step, entity, seconds, ended_us, rates, means in rows:
            samples, mean_rates = self._get(table.source, entity, step), dict(zip(table.counters, means, strict=True))
            if not samples.seconds:
                samples.seconds, samples.ended_us, samples.mean_rates = seconds, ended_us, mean_rates
                samples.rates = rates
                continue
            # Steps of one name at different times are one: each adds its windows.
            samples.mean_rates = _EMPTY
            samples.seconds += seconds
            samples.ended_us += ended_us
            for name in table.counters:
                samples.rates[name].extend(rates[name])

    def overall(self, table: _SourceTable, rows: Iterable[Sums], busiest: dict[str, float]) -> None:
        """Add overall rates. `busiest`: entity → the highest bytes a second of any step; it is updated."""
        names = list(table.counters)
        byte_counters = [index for index, name in enumerate(names) if name.startswith("bytes_")]
        for step, entity, windows, seconds, rates in rows:
            overall = Overall(windows, seconds, dict(zip(names, rates, strict=True)))
            self._get(table.source, entity, step).overall = overall
            busiest[entity] = max(sum([rates[index] or 0.0 for index in byte_counters]), busiest.get(entity, 0.0))

    def means(self, table: _SourceTable, rows: Iterable[Means]) -> None:
        names = list(table.gauges)
        resolutions = {name: column.resolution for name, column in table.gauges.items() if column.resolution}
        for step, entity, count, means, lasts, earliest, latest in rows:
            samples = self._get(table.source, entity, step)
            samples.samples = count
            samples.means = dict(zip(names, means, strict=True))
            samples.last_values = dict(zip(names, lasts, strict=True))
            samples.resolutions = resolutions
            if table.quartered:
                quarters = zip(earliest, latest, strict=True)
                samples.quarter_means = dict(zip(table.quartered, quarters, strict=True))


def tcp_retransmit_ratio(sample: StepSamples) -> float | None:
    """Retransmitted TCP segments over sent ones. None: not reported, or none was sent."""
    return counter_ratio(sample, "tcp_retransmits_total", "tcp_segments_tx_total")


def counter_ratio(sample: StepSamples, numerator: str, denominator: str) -> float | None:
    """The rate of one counter over that of another. None: one is not reported, or the denominator did not grow."""
    above, below = sample.rate(numerator), sample.rate(denominator)
    return above / below if above is not None and below else None

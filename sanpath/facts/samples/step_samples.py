"""Turns samples into rates of counters and means of gauges, for each step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sanpath.facts.samples.counters import (
    PORT_SPEED,
    CounterWindows,
    Overall,
    Rates,
    Rounds,
    Sums,
    Windows,
    find_rounds,
)
from sanpath.facts.samples.gauges import Means, columns_of, step_means
from sanpath.facts.samples.partitions import Partition, compute_partitions, split_by_type
from sanpath.facts.samples.sample_arrays import (
    SampleArrays,
    SampleReader,
    cached_arrays,
    entity_ranges,
    timed_samples,
)
from sanpath.model import DIRECTIONS, Column, Step
from sanpath.recording.reading.recording import Recording

ENTIRE_RECORDING = Step("* the whole recording *", 0, 2**62, "whole run", (), None)
"""The entire recording as one step."""
_MAX_DETAILED_ENTITIES = 256
"""Largest number of entities of a source whose every window is kept: first those of the loaded path, then the
busiest."""
_MAX_DETAILED_DIFFERENCES = 2_000_000
"""Counter differences that are retained window by window beyond those of the loaded path: 0.1 GB of memory."""
_MAX_ROUND_ENTITIES = 64
"""Number of entities of a very large source that decide whether a poll round of the agent has news."""
_MAX_EDGE_RATIO = 1 / 8
"""Largest share of a step that is left out at each edge because a clock is uncertain."""

MIN_WINDOWS = 4
"""Fewest whole windows of a step that show its course, and that a verdict needs for a grade above the lowest:
sanpath's own choice."""
MIN_OPERATIONS = 20
"""Fewest operations of a meaningful mean time: with fewer, rounding to whole milliseconds or one slow I/O changes
it."""

_EMPTY: Mapping[str, Any] = {}
"""Shared by the samples of very many entities, most of which need none of their own."""


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

    def add_means(
        self,
        samples: int,
        means: dict[str, float | None],
        last_values: dict[str, float | None],
        quarter_means: Mapping[str, tuple[float | None, float | None]],
        resolutions: Mapping[str, float],
    ) -> None:
        """Set what is known of gauges; see Means."""
        self.samples, self.means, self.last_values = samples, means, last_values
        self.quarter_means, self.resolutions = quarter_means, resolutions

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
            return not self.overall.grown.isdisjoint(counters)
        # No counter that the source reports is missing in mean rates, if there are any.
        return any(map(self.mean_rates.get if self.mean_rates and self.overall is None else self.rate, counters))

    def rate(self, counter: str) -> float | None:
        """Mean rate over the step: sum of differences over sum of times. None: no window has a rate."""
        if counter in self.mean_rates:
            return self.mean_rates[counter]
        if counter not in self.rates:
            return self.overall.rates.get(counter) if self.overall is not None else None
        rated = [(r, s) for r, s in zip(self.rates[counter], self.seconds, strict=False) if r is not None]
        total = sum(s for _, s in rated)
        return sum(r * s for r, s in rated) / total if total else None


def sum_of_known(values: Iterable[float | None]) -> float | None:
    """The sum of the values that are known. None: none of them is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def complete_sum(values: Iterable[float | None]) -> float | None:
    """The sum of values that are all known. None: one of them is not."""
    known = list(values)
    return None if None in known else sum(value or 0.0 for value in known)


def gauge_or_rates(sample: StepSamples, gauge: str, *counters: str) -> float | None:
    """The rate that a source reports as a gauge, else the sum of its counters' rates. None: it reports neither."""
    if (rate := sample.means.get(gauge)) is not None:
        return rate
    return sum_of_known(map(sample.rate, counters))


def step_samples(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    steps: Sequence[Step],
    detailed: Mapping[str, Collection[str]] | None = None,
    executor: Executor | None = None,
    include_others: bool = True,
    gauge_names: Collection[str] | None = None,
    sources: Collection[str] | None = None,
) -> list[StepSamples]:
    """Return rates and means of every entity of a kind in every step.

    A window that crosses a step's edge, or may cross it because clocks are uncertain, is left out.

    `detailed`: source → entities whose windows are needed one by one, even if the source has very many entities;
    None: those of all entities. `executor` computes sources with very many entities; None: threads of this process.
    `include_others`: whether entities that are not in `detailed` are needed at all. `gauge_names`: the gauges that
    are needed, `sources`: the sources, None: all.
    """
    timed, recorded = timed_samples(recording, connection, kind)
    if not recorded or not steps:
        return []
    result: list[StepSamples] = []
    all_steps, uncertainty_us = steps, {shift.source: shift.uncertainty_us for shift in recording.shifts or ()}
    for source, columns in recording.columns(kind).items():
        if sources is not None and source not in sources:
            continue
        steps = [_certain_part(step, source, uncertainty_us.get(source, 0)) for step in all_steps]
        reported = {name: column for name, column in columns.items() if name in recorded}
        counters, gauges = split_by_type(reported)
        gauges = {name: column for name, column in gauges.items() if gauge_names is None or name in gauge_names}
        metrics = columns_of(kind, {**counters, **gauges}, reported)
        if not metrics:
            continue
        table = _SourceTable(kind, source, reported, counters, gauges)
        reader = SampleReader(
            connection, timed, source, metrics, cached=cached_arrays(recording, kind, source, metrics)
        )
        rows = reader.rows
        collected = _Collected(table)
        few = len(rows) <= _MAX_DETAILED_ENTITIES and sum(rows.values()) * len(counters) <= _MAX_DETAILED_DIFFERENCES
        if not counters:
            for samples in reader.read_in_ranges():
                collected.add(samples, steps)
        elif detailed is None or few:
            samples = reader.read()
            collected.add(samples, steps, find_rounds(samples, counters))
        else:
            detailed_entities = [entity for entity in detailed.get(source, ()) if entity in rows]
            rounds = find_rounds(reader.read(detailed_entities or list(rows)[:_MAX_ROUND_ENTITIES]), counters)
            if include_others:
                result += _very_many(recording, collected, reader, steps, rounds, detailed_entities, executor)
                continue
            collected.add(reader.read(detailed_entities), steps, rounds)
        result += collected.samples.values()
    return result


def _certain_part(step: Step, source: str, uncertainty_us: int) -> Step:
    """The part of a step in which a source's windows certainly belong to the step, given its clock's uncertainty.
    Even a very uncertain clock leaves most of the step, because it is not known which windows are wrong. A source
    that dates the edges of its load itself is certain of all of it."""
    dates_it = any(load.source == source and load.own_clock for load in step.loads)
    if step == ENTIRE_RECORDING or not uncertainty_us or dates_it:
        return step
    margin = min(uncertainty_us, round(_MAX_EDGE_RATIO * (step.end - step.start)))
    return replace(step, start=step.start + margin, end=step.end - margin)


def _very_many(
    recording: Recording,
    collected: _Collected,
    reader: SampleReader,
    steps: Sequence[Step],
    rounds: Rounds,
    detailed: Sequence[str],
    executor: Executor | None,
) -> Iterator[StepSamples]:
    """Yield the samples of a source with very many entities.

    `detailed`: those whose windows are needed one by one, in addition to those of the busiest ones."""
    table, rows = collected.table, reader.rows
    # The entire recording is for charts, which show the loaded paths only.
    marked_steps = [step for step in steps if step != ENTIRE_RECORDING]
    parts = list(_over_steps(recording, table, reader, marked_steps, rounds, executor))
    entire = _entire_steps(recording, table, parts)
    busiest_rates = {entity: rate for sums, _ in parts for entity, rate in _busiest_rates(sums).items()}
    limit = min(_MAX_DETAILED_ENTITIES, _MAX_DETAILED_DIFFERENCES // (max(rows.values()) * len(table.counters)))
    busiest = sorted(busiest_rates, key=lambda entity: -busiest_rates[entity])[:limit]
    needed = {*detailed, *busiest}
    for sample in (sample for of_step in entire for sample in of_step if sample.entity in needed):
        collected.samples[sample.entity, sample.step] = replace(sample)
    samples = reader.read(needed)
    collected.windows(CounterWindows(samples, table.counters, marked_steps, rounds, table.speed).windows())
    for of_step in entire:
        for sample in of_step:
            yield collected.samples.pop((sample.entity, sample.step)) if sample.entity in needed else sample
    if len(marked_steps) < len(steps):
        collected.add(samples.of(detailed), [ENTIRE_RECORDING], rounds)
    yield from collected.samples.values()


@dataclass(frozen=True, slots=True)
class _SourceTable:
    """The columns that a source reports of an entity kind, and those that are needed of them: counters and gauges."""

    kind: str
    source: str
    reported: Mapping[str, Column]
    counters: Mapping[str, Column]
    gauges: Mapping[str, Column]

    @property
    def speed(self) -> Column | None:
        """The speed of a port. None: the source does not report it."""
        return self.reported.get(PORT_SPEED)


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
        yield CounterWindows(samples, table.counters, steps, rounds, table.speed).sums(), means
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


def _entire_steps(
    recording: Recording, table: _SourceTable, parts: Iterable[tuple[Sequence[Sums], Sequence[Means]]]
) -> list[Sequence[StepSamples]]:
    """Return the samples of each part and step, without windows. They must not be changed.

    Most steps of a growing recording have ended. The samples of such a step are built once and used again while its
    figures are the same.
    """
    cached: dict[tuple[int, str], tuple[object, Sequence[StepSamples]]] = {}
    before = recording.remembered(f"steps of {table.kind} of {table.source}", None, cached.copy)
    for part, (sums, means) in enumerate(parts):
        counted, averaged = {s.step: s for s in sums}, {m.step: m for m in means}
        for step in dict.fromkeys((*counted, *averaged)):
            figures = counted.get(step), averaged.get(step)
            key = table, *(step_figures and step_figures.key() for step_figures in figures)
            last = before.get((part, step))
            if last is None or last[0] != key:
                last = key, _entire_step(table.source, *figures)
            cached[part, step] = last
    before.clear()
    before.update(cached)
    return [samples for _, samples in cached.values()]


def _entire_step(source: str, sums: Sums | None, means: Means | None) -> Sequence[StepSamples]:
    samples: dict[str, StepSamples] = {}
    if sums is not None:
        for name, overall in sums.by_entity():
            samples[name] = StepSamples(source, name, sums.step, overall=overall)
    if means is not None:
        for name, count, average, last, quarters in means.by_entity():
            if name not in samples:
                samples[name] = StepSamples(source, name, means.step)
            samples[name].add_means(count, average, last, quarters, means.resolutions)
    return tuple(samples.values())


def _busiest_rates(sums: Sequence[Sums]) -> dict[str, float]:
    """Return entity → the highest bytes a second of any step."""
    if not sums:
        return {}
    rates = np.full(len(sums[0].names), -1.0)
    for one in sums:
        parts = [
            np.where(values.is_known(), values.numbers, 0.0)
            for name, values in one.rates.items()
            if name.startswith("bytes_")
        ]
        rates[one.entity] = np.maximum(rates[one.entity], sum(parts, np.zeros(len(one.entity))))
    return {sums[0].names[index]: float(rates[index]) for index in np.flatnonzero(rates >= 0).tolist()}


class _Collected:
    """Collects the results of queries of one table; `samples`: (entity, step) → its samples."""

    def __init__(self, table: _SourceTable) -> None:
        self.table = table
        self.samples: dict[tuple[str, str], StepSamples] = {}

    def _get(self, entity: str, step: str) -> StepSamples:
        sample = self.samples.get((entity, step))
        if sample is None:
            sample = self.samples[entity, step] = StepSamples(self.table.source, entity, step)
        return sample

    def add(self, samples: SampleArrays, steps: Sequence[Step], rounds: Rounds = ()) -> None:
        """Add the windows and means of samples. `rounds`: see CounterWindows."""
        table = self.table
        if table.counters:
            self.windows(CounterWindows(samples, table.counters, steps, rounds, table.speed).windows())
        if table.gauges:
            for means in step_means(samples, table.kind, table.gauges, table.reported, steps):
                for name, count, average, last, quarters in means.by_entity():
                    self._get(name, means.step).add_means(count, average, last, quarters, means.resolutions)

    def windows(self, rows: Iterable[Windows]) -> None:
        """Add windows, one by one."""
        counters = self.table.counters
        for step, entity, seconds, ended_us, rates, means in rows:
            samples, mean_rates = self._get(entity, step), dict(zip(counters, means, strict=True))
            if not samples.seconds:
                samples.seconds, samples.ended_us, samples.mean_rates = seconds, ended_us, mean_rates
                samples.rates = rates
                continue
            # Steps of one name at different times are one: each adds its windows.
            samples.mean_rates = _EMPTY
            samples.seconds += seconds
            samples.ended_us += ended_us
            for name in counters:
                samples.rates[name].extend(rates[name])


def tcp_retransmit_ratio(sample: StepSamples) -> float | None:
    """Retransmitted TCP segments over sent ones. None: not reported, or none was sent."""
    return counter_ratio(sample, "tcp_retransmits_total", "tcp_segments_tx_total")


def counter_ratio(sample: StepSamples, numerator: str, denominator: str) -> float | None:
    """The rate of one counter over that of another. None: one is not reported, or the denominator did not grow."""
    above, below = sample.rate(numerator), sample.rate(denominator)
    return above / below if above is not None and below else None


def running_clocks(samples: Iterable[StepSamples]) -> set[tuple[str, str]]:
    """Return (source, its own id) of each entity whose I/O time has grown in any step. A counter that never grows
    while I/Os complete does not exist: before Linux 5.9, md counts I/Os and no time. In a single step, a coarse clock
    may show no time for short I/Os."""
    times = tuple(f"latency_seconds_{direction}_total" for direction in DIRECTIONS)
    return {(sample.source, sample.entity) for sample in samples if sample.moved(times)}

"""Samples → rates of counters and means of gauges, a step each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from sanpath.facts.samples.counters import CounterRates, Sums, Windows
from sanpath.facts.samples.gauges import Means, followed_of, step_means
from sanpath.facts.samples.partitions import Part, apart, divided, whole_steps
from sanpath.facts.samples.step_views import shift_of, step_table, timed_view
from sanpath.model import Column, Step
from sanpath.recording.reading.recording import Recording

ALWAYS = Step("* the whole recording *", 0, 2**62, "whole run", (), None)
"""All of a recording as one step."""
_CLOSELY = 256
"""Entities of a source whose windows are kept one by one: the loaded path, and beyond it those that move most."""
_ONE_BY_ONE = 2_000_000
"""Differences of counters that are kept one by one beyond those of the loaded path: 0.1 GB of memory."""
_WITNESSES = 64
"""Entities that tell whether a poll round of an agent with very many has news."""


@dataclass(frozen=True, slots=True)
class Overall:
    """Counters of one entity over a whole step: number and length of its windows, and each counter's mean rate."""

    windows: int
    seconds: float
    rates: Mapping[str, float | None]


@dataclass(slots=True)
class StepSamples:
    """What one source said of one entity in one step.

    `rates`: counter → its rate in each window, base unit a second; `seconds`: length of each window; `ended`: its end
    on the recorder's clock. Where a source has very many entities, those that are not looked at closely have none of
    these, but `overall`. `means`: gauge → its mean: of a state over time; of times of operations over operations, so
    that a second with ten of them does not outweigh one with ten thousand. `lasts`: gauge → last value. None and a
    missing key: not known. `resolutions`: gauge → by how much its true value may lie above, where the source cuts it
    off. `edges`: time at a device that is a mean over operations → the same in the first and in the last quarter of
    the step, None where nothing was sampled. `by_hand`: a person read it, no source did.
    """

    source: str
    entity: str
    step: str
    seconds: list[float] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    rates: dict[str, list[float | None]] = field(default_factory=dict)
    means: dict[str, float | None] = field(default_factory=dict)
    lasts: dict[str, float | None] = field(default_factory=dict)
    resolutions: Mapping[str, float] = field(default_factory=dict)
    edges: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    overall: Overall | None = None
    samples: int = 0
    by_hand: bool = False

    @property
    def windows(self) -> int:
        """Whole windows of counters, else samples of gauges, inside the step."""
        counted = self.overall.windows if self.overall is not None else len(self.seconds)
        return 1 if self.by_hand else counted or self.samples

    @property
    def length_seconds(self) -> float:
        """All windows together."""
        return self.overall.seconds if self.overall is not None and not self.seconds else sum(self.seconds)

    def moved(self, counters: Iterable[str]) -> bool:
        """Whether any of these counters is known to have grown."""
        if self.overall is not None and not self.rates:
            return any(map(self.overall.rates.get, counters))
        return any(map(self.rate, counters))

    def rate(self, counter: str) -> float | None:
        """Mean rate over the step: sum of differences over sum of times. None: no window told."""
        if counter not in self.rates and self.overall is not None:
            return self.overall.rates.get(counter)
        told = [(r, s) for r, s in zip(self.rates.get(counter, ()), self.seconds, strict=False) if r is not None]
        total = sum(s for _, s in told)
        return sum(r * s for r, s in told) / total if total else None


def gauge_or_rates(sample: StepSamples, gauge: str, *counters: str) -> float | None:
    """A rate that a source tells by itself, or that its counters tell together. None: neither."""
    if (rate := sample.means.get(gauge)) is not None:
        return rate
    rates = [rate for counter in counters if (rate := sample.rate(counter)) is not None]
    return sum(rates) if rates else None


def step_samples(
    recording: Recording,
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    steps: Sequence[Step],
    closely: Mapping[str, Collection[str]] | None = None,
    executor: Executor | None = None,
    others: bool = True,
    wanted: Collection[str] | None = None,
) -> list[StepSamples]:
    """Rates and means of every entity of a kind in every step. Windows that reach over a step's edge are left out.

    `closely`: source → entities whose windows are wanted one by one, should the source have very many; None: all are.
    `executor`: computes what there are very many of; None: threads of this process. `others`: whether what is not
    looked at closely is wanted at all. `wanted`: the gauges that are, None: all.
    """
    recorded = timed_view(recording, connection, kind)
    if not recorded or not steps:
        return []
    step_table(connection, steps)
    found = _Found()
    for source, columns in recording.columns(kind).items():
        here = {name: column for name, column in columns.items() if name in recorded}
        counters, gauges = apart(here)
        gauges = {name: column for name, column in gauges.items() if wanted is None or name in wanted}
        followed = followed_of(kind, gauges, here)
        rates = CounterRates(connection, kind, source, counters)
        rows = rates.rows() if counters and closely is not None else {}
        if len(rows) <= _CLOSELY and sum(rows.values()) * len(counters) <= _ONE_BY_ONE:
            if counters:
                rates.find_rounds()
                found.windows(source, counters, rates.windows())
            if gauges:
                found.means(source, gauges, followed, step_means(connection, kind, source, gauges, here))
            continue
        near = [entity for entity in (closely or {}).get(source, ()) if entity in rows]
        rounds = rates.find_rounds(near or list(rows)[:_WITNESSES])
        if not others:
            found.windows(source, counters, rates.windows(near))
            if gauges and near:
                around = min(near), max(near) + "\0"  # What lies between them as well: a range is cheap to find.
                found.means(source, gauges, followed, step_means(connection, kind, source, gauges, here, around))
            continue
        shifts, left_out = shift_of(connection, source), frozenset(recording.unreadable)
        limited = [step for step in steps if step != ALWAYS]  # All of it is for charts, and of the loaded paths.
        folder = recording.folder.absolute() if isinstance(recording.folder, Path) else recording.folder
        parts = [
            Part(folder, left_out, recording.since_us, kind, source, here, limited, shifts, rounds, *between)
            for between in divided(rows, len(counters))
        ]
        busy: dict[str, float] = {}
        for sums, means in whole_steps(parts, executor):
            found.overall(source, counters, sums, busy)
            found.means(source, gauges, followed, means)
        most = min(_CLOSELY, _ONE_BY_ONE // (max(rows.values()) * len(counters)))
        busiest = sorted(busy, key=lambda entity: -busy[entity])[:most]
        found.windows(source, counters, rates.windows(sorted({*near, *busiest})))
    return list(found.samples.values())


class _Found:
    """Samples as they come together; `samples`: (source, entity, step) → what was sampled."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, str, str], StepSamples] = {}

    def _at(self, source: str, entity: str, step: str) -> StepSamples:
        known = self.samples.get((source, entity, step))
        if known is None:
            known = self.samples[source, entity, step] = StepSamples(source, entity, step)
        return known

    def windows(self, source: str, counters: Mapping[str, Column], told: Iterable[Windows]) -> None:
        for step, entity, seconds, ended, rates in told:
            samples = self._at(source, entity, step)
            # Steps of one name at different times are one: each adds its windows.
            samples.seconds += seconds
            samples.ended += ended
            for name, of_each in zip(counters, rates, strict=True):
                samples.rates.setdefault(name, []).extend(of_each)

    def overall(
        self, source: str, counters: Mapping[str, Column], told: Iterable[Sums], busy: dict[str, float]
    ) -> None:
        """`busy` learns entity → the most bytes a second that it moved in a step."""
        names = list(counters)
        moving = [at for at, name in enumerate(names) if name.startswith("bytes_")]
        for step, entity, windows, seconds, rates in told:
            self._at(source, entity, step).overall = Overall(windows, seconds, dict(zip(names, rates, strict=True)))
            busy[entity] = max(sum([rates[at] or 0.0 for at in moving]), busy.get(entity, 0.0))

    def means(
        self, source: str, gauges: Mapping[str, Column], followed: Sequence[str], told: Iterable[Means]
    ) -> None:
        names = list(gauges)
        resolutions = {name: column.resolution for name, column in gauges.items() if column.resolution}
        for step, entity, count, means, lasts, firsts, ends in told:
            samples = self._at(source, entity, step)
            samples.samples = count
            samples.means = dict(zip(names, means, strict=True))
            samples.lasts = dict(zip(names, lasts, strict=True))
            samples.resolutions = resolutions
            if followed:
                samples.edges = dict(zip(followed, zip(firsts, ends, strict=True), strict=True))


def tcp_retransmit_ratio(sample: StepSamples) -> float | None:
    """TCP segments that were sent again over those that were sent. None: not told, or none was sent."""
    return counter_ratio(sample, "tcp_retransmits_total", "tcp_segments_tx_total")


def counter_ratio(sample: StepSamples, part: str, whole: str) -> float | None:
    """The rate of one counter over that of another. None: one is not told, or the other stands still."""
    of, all_of = sample.rate(part), sample.rate(whole)
    return of / all_of if of is not None and all_of else None

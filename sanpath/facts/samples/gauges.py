"""Computes the means of gauges over entire steps.

States are averaged over time, and times of operations over the operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from sanpath.catalogue.catalogue import metrics
from sanpath.facts.samples.sample_arrays import Floats, Integers, SampleArrays
from sanpath.model import Column, Step
from sanpath.recording.reading.sample_cache import Values

_BY_QUARTER = ("service_seconds_", "queue_seconds_")
"""Device times that some fact needs as averages over the first and the last quarter of a step, too."""
_Means = dict[str, float | None]
_QuarterMeans = Mapping[str, tuple[float | None, float | None]]
_NO_QUARTERS: _QuarterMeans = {}
"""Shared by the samples of very many entities."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Gauges over an entire step, of the entities that have a sample in it.

    `names`: of all entities; `entity`: indices of those that have one, in their order. For each of them `samples`,
    their number, `means` and `lasts`: gauge → mean and last value in its base unit; `earliest` and `latest`: gauge →
    mean in the first and in the last quarter of the step, of a device's times that are means over operations.
    `resolutions`: gauge → by how much the true value may exceed the reported one, where the source truncates it.
    """

    step: str
    names: Sequence[str]
    entity: Integers
    samples: Integers
    means: Mapping[str, Values]
    lasts: Mapping[str, Values]
    earliest: Mapping[str, Values]
    latest: Mapping[str, Values]
    resolutions: Mapping[str, float]

    def by_entity(self) -> Iterator[tuple[str, int, _Means, _Means, _QuarterMeans]]:
        """Yield name, number of samples, means, last values, and means by quarter of each entity."""
        gauges, quartered = list(self.means), list(self.earliest)
        rows: Iterator[tuple[Sequence[float | None], ...]] = zip(
            *(
                zip(*(values.to_list() for values in figures.values()), strict=True)
                if figures
                else repeat((), len(self.entity))
                for figures in (self.means, self.lasts, self.earliest, self.latest)
            ),
            strict=True,
        )
        for index, count, (means, lasts, early, late) in zip(
            self.entity.tolist(), self.samples.tolist(), rows, strict=True
        ):
            quarters = dict(zip(quartered, zip(early, late, strict=True), strict=True)) if quartered else _NO_QUARTERS
            means_by_gauge, last_values = (dict(zip(gauges, each, strict=True)) for each in (means, lasts))
            yield self.names[index], count, means_by_gauge, last_values, quarters

    def key(self) -> object:
        """Return a key that is equal if all figures are equal."""
        figures = (self.means, self.lasts, self.earliest, self.latest)
        values = [[(name, values.key()) for name, values in columns.items()] for columns in figures]
        return self.names, self.entity.tobytes(), self.samples.tobytes(), values


def step_means(
    samples: SampleArrays,
    kind: str,
    gauges: Mapping[str, Column],
    recorded: Mapping[str, Column],
    steps: Sequence[Step],
) -> list[Means]:
    """Return means of the gauges of one source and entity kind.

    `samples`: with the columns of `columns_of`. `recorded`: all columns that the source reports of the kind."""
    samples = samples.reported(gauges)
    operations = _operations(kind, gauges, recorded)
    resolutions = {name: column.resolution for name, column in gauges.items() if column.resolution}
    weight = np.where(samples.covers_seconds.is_known(), samples.covers_seconds.numbers, 1.0)
    groups = _Groups(samples, steps)
    by_time = Values(weight, None)[groups.rows]
    counts = {
        column: _operation_count(samples, column, weight)[groups.rows]
        for column in dict.fromkeys(operations.values())
    }
    means, lasts, earliest, latest = (dict[str, Values]() for _ in range(4))
    for name, column in gauges.items():
        values = samples.columns[name][groups.rows]
        values = Values(values.numbers.astype(np.float64), values.known)
        lasts[name] = groups.last(values, column.scale)
        means[name] = groups.mean(values, by_time, column.scale)
        if name in operations:
            count = counts[operations[name]]
            over_operations, over_time = groups.mean(values, count, column.scale), means[name]
            known = over_operations.is_known()
            numbers = np.where(known, over_operations.numbers, over_time.numbers)
            means[name] = Values(numbers, known | over_time.is_known())
            if name.startswith(_BY_QUARTER):
                earliest[name] = groups.mean(values, count.where(groups.early), column.scale)
                latest[name] = groups.mean(values, count.where(groups.late), column.scale)
    return [
        Means(
            step,
            samples.entities,
            entity,
            count,
            _of(means, rows),
            _of(lasts, rows),
            _of(earliest, rows),
            _of(latest, rows),
            resolutions,
        )
        for step, entity, count, rows in groups.by_step()
    ]


def _of(figures: Mapping[str, Values], rows: Integers) -> dict[str, Values]:
    return {name: values[rows] for name, values in figures.items()}


class _Groups:
    """The samples of each step and entity. `rows`: numbers of the samples that lie in a step, once for each step.

    `early` and `late`: whether each of these lies in the first or the last quarter of the step."""

    def __init__(self, samples: SampleArrays, steps: Sequence[Step]) -> None:
        moment, covers_seconds = samples.moment, samples.covers_seconds
        # A value that covers the seconds before its time stamp counts only if all of them are in the step.
        began_us = moment - np.where(covers_seconds.is_known(), covers_seconds.numbers, 0.0) * 1e6
        ordered = sorted(steps, key=lambda step: step.start)
        rows = [np.flatnonzero((began_us >= step.start) & (moment <= step.end)) for step in ordered]
        # Steps of one name at different times are one.
        self._steps, self._samples = list(dict.fromkeys(step.name for step in ordered)), samples
        entities = len(samples.entities)
        self.rows = np.concatenate([np.empty(0, np.int64), *rows])
        self._group = np.concatenate(
            [
                np.empty(0, np.int64),
                *(
                    entities * self._steps.index(step.name) + samples.entity[inside]
                    for step, inside in zip(ordered, rows, strict=True)
                ),
            ]
        )
        self._number = len(self._steps) * entities
        self.early, self.late = (
            np.concatenate([np.empty(0, np.bool_), *quarter])
            for quarter in (
                [moment[i] < 0.75 * s.start + 0.25 * s.end for s, i in zip(ordered, rows, strict=True)],
                [moment[i] > 0.25 * s.start + 0.75 * s.end for s, i in zip(ordered, rows, strict=True)],
            )
        )

    def by_step(self) -> Iterator[tuple[str, Integers, Integers, Integers]]:
        """Yield steps in the order of time: name, entities with samples, number of these, and their groups."""
        counts = np.bincount(self._group, minlength=self._number)
        for number, step in enumerate(self._steps):
            first = number * len(self._samples.entities)
            of_step = counts[first : first + len(self._samples.entities)]
            entity = np.flatnonzero(of_step)
            yield step, entity, of_step[entity], first + entity

    def mean(self, values: Values, weights: Values, scale: float) -> Values:
        """Return the weighted mean of each group, in the base unit. Not known: no sample of the group has both a
        value and a weight."""
        known = values.known if weights.known is None else weights.known
        if values.known is not None and weights.known is not None:
            known = values.known & weights.known
        totals, divisors = values.numbers * weights.numbers, weights.numbers
        if known is not None:
            totals, divisors = np.where(known, totals, 0.0), np.where(known, divisors, 0.0)
        divisor = np.bincount(self._group, divisors, self._number)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.bincount(self._group, totals, self._number) / divisor * scale
        return Values(means, divisor != 0)

    def last(self, values: Values, scale: float) -> Values:
        """Return the last value of each group, in the base unit. Not known: it has none."""
        group, numbers = (
            (self._group, values.numbers)
            if values.known is None
            else (
                self._group[values.known],
                values.numbers[values.known],
            )
        )
        lasts, known = np.zeros(self._number), np.zeros(self._number, bool)
        lasts[group], known[group] = numbers, True
        return Values(lasts * scale, known)


def columns_of(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> list[str]:
    """The columns that the means of gauges are computed from."""
    return list(dict.fromkeys([*gauges, *_operations(kind, gauges, recorded).values()]))


def _operations(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> dict[str, str]:
    """Gauge → the column that counts the operations it is a mean of, where the source reports that column."""
    catalogue = metrics().get(kind, {})
    mean_over = {name: catalogue[name].mean_over for name in gauges if name in catalogue}
    return {name: column for name, column in mean_over.items() if column in recorded}


def _operation_count(samples: SampleArrays, column: str, weight: Floats) -> Values:
    """The operations that each sample is a mean of: the counter's growth, or the rate times its seconds. Not known if
    there were none, or the counter was reset."""
    values = samples.columns[column]
    numbers, known = values.numbers.astype(np.float64), values.is_known()
    if column.endswith("_total"):
        follows = np.append(False, np.diff(samples.entity) == 0)
        known = known & follows & np.append(False, known[:-1])
        grew = np.append(False, values.numbers[1:] > values.numbers[:-1])
        numbers = np.append(0.0, (values.numbers[1:] - values.numbers[:-1]).astype(np.float64))
        return Values(numbers, known & grew)
    numbers = numbers * weight
    return Values(numbers, known & (numbers > 0))

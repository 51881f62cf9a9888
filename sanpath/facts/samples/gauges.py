"""Computes the means of gauges over entire steps.

States are averaged over time, times of operations over operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sanpath.catalogue.load import metrics
from sanpath.facts.samples.sample_arrays import Floats, SampleArrays, Values
from sanpath.model import Column, Step

_Values = Sequence[float | None]
Means = tuple[str, str, int, _Values, _Values, _Values, _Values]
"""Step, entity, number of its samples; mean and last value of each gauge in its base unit; mean in the first and in
the last quarter of the step, of each gauge that `gauges_by_quarter` names."""
_BY_QUARTER = ("service_seconds_", "queue_seconds_")
"""Times at a device that are also averaged over the first and the last quarter of a step: those that some fact
needs."""


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
    quartered = set(gauges_by_quarter(kind, gauges, recorded))
    weight = np.where(samples.covers_seconds.is_known(), samples.covers_seconds.numbers, 1.0)
    groups = _Groups(samples, steps)
    by_time = Values(weight, None)[groups.rows]
    counts = {
        column: _operation_count(samples, column, weight)[groups.rows]
        for column in dict.fromkeys(operations.values())
    }
    means, lasts, quarters = list[_Values](), list[_Values](), list[tuple[_Values, _Values]]()
    for name, column in gauges.items():
        values = samples.columns[name][groups.rows]
        values = Values(values.numbers.astype(np.float64), values.known)
        lasts.append(groups.last(values, column.scale))
        mean = groups.mean(values, by_time, column.scale)
        if name in operations:
            count = counts[operations[name]]
            over_operations = groups.mean(values, count, column.scale)
            mean = [time if over is None else over for over, time in zip(over_operations, mean, strict=True)]
            if name in quartered:
                early, late = (
                    groups.mean(values, count.where(quarter), column.scale) for quarter in (groups.early, groups.late)
                )
                quarters.append((early, late))
        means.append(mean)
    return [
        (
            step,
            entity,
            count,
            [mean[group] for mean in means],
            [last[group] for last in lasts],
            [early[group] for early, _ in quarters],
            [late[group] for _, late in quarters],
        )
        for group, step, entity, count in groups.in_order()
    ]


class _Groups:
    """The samples of each step and entity. `rows`: numbers of the samples that lie in a step, once for each step.

    `early` and `late`: whether each of these lies in the first or the last quarter of the step."""

    def __init__(self, samples: SampleArrays, steps: Sequence[Step]) -> None:
        moment, covers_seconds = samples.moment, samples.covers_seconds
        # Where a value covers the seconds before its time stamp, all of these have to lie in the step.
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

    def in_order(self) -> Iterator[tuple[int, str, str, int]]:
        """Yield (group, step, entity, number of samples), entity by entity, each in the order of time."""
        counts = np.bincount(self._group, minlength=self._number)
        first = np.zeros(self._number, np.int64)
        first[self._group[::-1]] = self._samples.moment[self.rows[::-1]]
        groups = np.flatnonzero(counts)
        entities = len(self._samples.entities)
        for group in groups[np.lexsort((first[groups], groups % max(1, entities)))].tolist():
            step, entity = divmod(group, entities)
            yield group, self._steps[step], self._samples.entities[entity], int(counts[group])

    def mean(self, values: Values, weights: Values, scale: float) -> _Values:
        """Return the weighted mean of each group, in the base unit. None: nothing has a value and a weight."""
        known = values.known if weights.known is None else weights.known
        if values.known is not None and weights.known is not None:
            known = values.known & weights.known
        totals, divisors = values.numbers * weights.numbers, weights.numbers
        if known is not None:
            totals, divisors = np.where(known, totals, 0.0), np.where(known, divisors, 0.0)
        divisor = np.bincount(self._group, divisors, self._number)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = (np.bincount(self._group, totals, self._number) / divisor * scale).tolist()
        return [mean if is_known else None for mean, is_known in zip(means, (divisor != 0).tolist(), strict=True)]

    def last(self, values: Values, scale: float) -> _Values:
        """Return the last value of each group, in the base unit. None: it has none."""
        group, numbers = (
            (self._group, values.numbers)
            if values.known is None
            else (
                self._group[values.known],
                values.numbers[values.known],
            )
        )
        lasts, has = np.zeros(self._number), np.zeros(self._number, bool)
        lasts[group], has[group] = numbers, True
        return [
            last if is_known else None for last, is_known in zip((lasts * scale).tolist(), has.tolist(), strict=True)
        ]


def columns_of(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> list[str]:
    """The columns that the means of gauges are computed from."""
    return list(dict.fromkeys([*gauges, *_operations(kind, gauges, recorded).values()]))


def gauges_by_quarter(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> list[str]:
    """The gauges that are also averaged by quarter of a step: a device's times that are means over operations."""
    return [name for name in _operations(kind, gauges, recorded) if name.startswith(_BY_QUARTER)]


def _operations(kind: str, gauges: Mapping[str, Column], recorded: Mapping[str, Column]) -> dict[str, str]:
    """Gauge → the column that counts the operations it is a mean of, where the source reports that column."""
    catalogue = metrics().get(kind, {})
    mean_over = {name: catalogue[name].mean_over for name in gauges if name in catalogue}
    return {name: column for name, column in mean_over.items() if column in recorded}


def _operation_count(samples: SampleArrays, column: str, weight: Floats) -> Values:
    """The operations that each sample is a mean of: the counter's growth, or the rate times its seconds.

    Not known where there were none, or the counter was reset."""
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

"""Integrates the rates of intervals to counters, which are like those of a device."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from sanpath.plugin import Rows, Table

Values = Sequence[float | None]
Times = NDArray[np.int64]
"""Microseconds since the epoch."""
Matrix = NDArray[np.float64]
"""Values without gaps: a row for each time, a column for each position."""
Sums = list[list[float]]
"""The sums of each term, by entity."""

_MAX_TOTAL = 2.0**62
GAP_US = 86_400_000_000
"""Rows that are further apart do not belong to the same series."""


@dataclass(frozen=True, slots=True)
class Term:
    """The conversion of values to a metric, for all entities of a series.

    `first`: position of the value in a row, for each entity. `summed`: the value is a rate that is integrated to a
    counter. `second`: position of a second value, for each entity: for a rate, the mean by which it is multiplied;
    for a mean, the rate of its events; None: there is none. `factor`: converts the value's unit to the metric's.
    """

    metric: str
    first: tuple[int, ...]
    second: tuple[int, ...] | None = None
    factor: float = 1.0
    summed: bool = True


class Series:
    """Samples of entities with the same metrics.

    The counters of an entity begin with zero, one row before its first values. They begin again with zero after each
    row without a value of the entity, because the activity in that interval is unknown.
    """

    def __init__(self, table: Table, entities: Sequence[str], terms: Sequence[Term]) -> None:
        self.table, self.entities, self.terms = table, list(entities), terms
        self._term_values = [_value_reader(term) for term in terms]
        self._sums: Sums = [[0.0] * len(self.entities) for _ in terms]
        self._running = [False] * len(self.entities)

    def row(self, time_us: int, previous_us: int | None, values: Values) -> Iterator[Rows]:
        """Yield the samples of one row of the file.

        `time_us`: time of the row. `previous_us`: beginning of its interval; None: unknown. Both are microseconds.
        """
        values_by_term = [read(values) for read in self._term_values]
        seconds = 0.0
        if previous_us is not None and 0 < time_us - previous_us <= GAP_US:
            seconds = (time_us - previous_us) / 1e6
            yield from self._begin_counters(previous_us, values_by_term)
        else:
            self._running = [False] * len(self.entities)
        columns: dict[str, Sequence[int | float | None]] = {}
        for term, sums, term_values in zip(self.terms, self._sums, values_by_term, strict=True):
            if term.summed and seconds:
                columns[term.metric] = self._counter(sums, term_values, term.factor * seconds)
            elif not term.summed and (seconds or self.table.rollup == "instant"):
                columns[term.metric] = [None if value is None else value * term.factor for value in term_values]
            else:
                columns[term.metric] = [None] * len(term_values)
        yield from self._rows(time_us, self.entities, columns, seconds)

    @property
    def is_steady(self) -> bool:
        """Whether the counters of all entities are running, so that rows without gaps can be processed together."""
        return all(self._running) or not any(term.summed for term in self.terms)

    def block(self, times_us: Times, previous_us: int, matrix: Matrix) -> tuple[Rows, Sums] | None:
        """Return the samples of several rows without gaps, and the sums after them for `resume`.

        The result equals that of `row` for each of them. `times_us`: ascending times of the rows, at most a day
        apart. None: a sum would be too large.
        """
        seconds = np.diff(times_us, prepend=previous_us) / 1e6
        columns: dict[str, Sequence[int | float | None]] = {}
        sums_after: Sums = []
        for term, sums in zip(self.terms, self._sums, strict=True):
            values = matrix[:, term.first]
            second = None if term.second is None else matrix[:, term.second]
            if term.summed:
                rates = values if second is None else values * second
                added = rates * (term.factor * seconds)[:, np.newaxis]
                totals = np.cumsum(np.vstack((sums, added)), axis=0)[1:]
                if totals.max() > _MAX_TOTAL:
                    return None
                columns[term.metric] = array("Q", np.rint(totals).astype(np.uint64).tobytes())
                sums_after.append(totals[-1].tolist())
            else:
                gauges = array("d", (values * term.factor).tobytes())
                columns[term.metric] = gauges if second is None else _valid_means(second.ravel().tolist(), gauges)
                sums_after.append(sums)
        count = len(self.entities)
        covers = array("d", seconds.repeat(count).tobytes())
        entities, seen = self.entities * len(seconds), array("q", times_us.repeat(count).tobytes())
        if any(term.summed or term.second is None for term in self.terms):  # Every row has a value.
            covers_seconds = covers if self.table.rollup == "average" else None
            return Rows(self.table, entities, seen, columns, covers_seconds=covers_seconds), sums_after
        return self._rows_with_values(entities, seen, columns, covers), sums_after

    def resume(self, sums: Sums) -> None:
        """Continue after a block."""
        self._sums = sums

    def _begin_counters(self, previous_us: int, values_by_term: Sequence[Values]) -> Iterator[Rows]:
        """Yield zeros at the begin of the interval, for entities whose counters begin with it."""
        rates = [values for term, values in zip(self.terms, values_by_term, strict=True) if term.summed]
        if not rates or (all(self._running) and not any(None in values for values in rates)):
            return
        running = [any(rate is not None for rate in values) for values in zip(*rates, strict=True)]
        starting = [number for number, runs in enumerate(running) if runs and not self._running[number]]
        self._running = running
        if starting:
            for sums in self._sums:
                for number in starting:
                    sums[number] = 0.0
            zeros: dict[str, Sequence[int | float | None]] = {
                term.metric: [0 if term.summed else None] * len(starting) for term in self.terms
            }
            yield from self._rows(previous_us, [self.entities[number] for number in starting], zeros, 0.0)

    def _counter(self, sums: list[float], rates: Values, factor: float) -> list[int | None]:
        sums[:] = [total + (rate or 0.0) * factor for total, rate in zip(sums, rates, strict=True)]
        if max(sums) > _MAX_TOTAL:  # Only damaged values are this large.
            sums[:] = [total if total <= _MAX_TOTAL else 0.0 for total in sums]
        if None in rates:
            return [None if rate is None else round(total) for total, rate in zip(sums, rates, strict=True)]
        return list(map(round, sums))

    def _rows(
        self,
        time_us: int,
        entities: Sequence[str],
        columns: Mapping[str, Sequence[int | float | None]],
        seconds: float,
    ) -> Iterator[Rows]:
        """Yield the rows of the entities that have a value."""
        count = len(entities)
        rows = self._rows_with_values(entities, [time_us] * count, columns, [seconds] * count)
        if rows.entity:
            yield rows

    def _rows_with_values(
        self,
        entities: Sequence[str],
        times_us: Sequence[int],
        columns: Mapping[str, Sequence[int | float | None]],
        covers: Sequence[float],
    ) -> Rows:
        """Return the rows that have a value."""
        if any(None in values for values in columns.values()):
            has_value = [any(value is not None for value in row) for row in zip(*columns.values(), strict=True)]
            entities, times_us = list(compress(entities, has_value)), list(compress(times_us, has_value))
            covers = list(compress(covers, has_value))
            columns = {metric: list(compress(values, has_value)) for metric, values in columns.items()}
        covers_seconds = list(covers) if self.table.rollup == "average" else None
        return Rows(self.table, list(entities), times_us, dict(columns), covers_seconds=covers_seconds)


def _valid_means(rates: Values, means: Values) -> list[float | None]:
    """Return the means; None if the rate of the events is 0."""
    return [mean if rate else None for mean, rate in zip(means, rates, strict=True)]


def _value_reader(term: Term) -> Callable[[Values], Values]:
    """Return a function that reads the values of a term from a row, one for each entity."""
    first = _picker(term.first)
    if term.second is None:
        return first
    second = _picker(term.second)

    # If the rate is 0, the mean is invalid, even if it is not blank.
    def product(values: Values) -> Values:
        pairs = zip(first(values), second(values), strict=True)
        return [rate and (None if mean is None else rate * mean) for rate, mean in pairs]

    def valid_mean(values: Values) -> Values:
        return _valid_means(second(values), first(values))

    return product if term.summed else valid_mean


def _picker(positions: tuple[int, ...]) -> Callable[[Values], Values]:
    if len(positions) == 1:
        position = positions[0]
        return lambda values: (values[position],)
    pick: Callable[[Values], Values] = itemgetter(*positions)
    return pick

"""Rates of intervals, summed up: what a counter in the device itself would read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter

from sanpath.plugin import Rows, Table

Values = Sequence[float | None]

_MOST = 2.0**62
_GAP_US = 86_400_000_000
"""Rows that lie further apart do not belong to one series."""


@dataclass(frozen=True, slots=True)
class Term:
    """How a metric is told for each entity of a series.

    `first`: which value of a row it is, entity by entity. `summed`: it is a rate, of which the metric is the counter.
    `second`: of a rate, the mean that it is multiplied with; of a mean, the rate of what it is the mean of. None:
    nothing of the kind. `factor`: from the value's unit to the metric's.
    """

    metric: str
    first: tuple[int, ...]
    second: tuple[int, ...] | None = None
    factor: float = 1.0
    summed: bool = True


class Series:
    """Samples of entities of which the same is told.

    The counters of an entity begin at zero one row before the first that tells of it, and again after every row that
    tells nothing of it: what happened meanwhile is not known.
    """

    def __init__(self, table: Table, entities: Sequence[str], terms: Sequence[Term]) -> None:
        self.table, self.entities, self.terms = table, list(entities), terms
        self._told = [_of(term) for term in terms]
        self._sums = [[0.0] * len(self.entities) for _ in terms]
        self._running = [False] * len(self.entities)

    def row(self, seen: int, before: int | None, values: Values) -> Iterator[Rows]:
        """One row of the file. `before`: when its interval began, microseconds like `seen`; None: not known."""
        told = [of(values) for of in self._told]
        seconds = 0.0
        if before is not None and 0 < seen - before <= _GAP_US:
            seconds = (seen - before) / 1e6
            yield from self._begin(before, told)
        else:
            self._running = [False] * len(self.entities)
        columns: dict[str, Sequence[int | float | None]] = {}
        for term, sums, of in zip(self.terms, self._sums, told, strict=True):
            if term.summed and seconds:
                columns[term.metric] = self._counter(sums, of, term.factor * seconds)
            elif not term.summed and (seconds or self.table.rollup == "instant"):
                columns[term.metric] = [None if value is None else value * term.factor for value in of]
            else:
                columns[term.metric] = [None] * len(of)
        yield from self._rows(seen, self.entities, columns, seconds)

    def _begin(self, before: int, told: Sequence[Values]) -> Iterator[Rows]:
        rates = [of for term, of in zip(self.terms, told, strict=True) if term.summed]
        if not rates or (all(self._running) and not any(None in of for of in rates)):
            return
        running = [any(rate is not None for rate in of) for of in zip(*rates, strict=True)]
        fresh = [number for number, runs in enumerate(running) if runs and not self._running[number]]
        self._running = running
        if fresh:
            for sums in self._sums:
                for number in fresh:
                    sums[number] = 0.0
            zeros: dict[str, Sequence[int | float | None]] = {
                term.metric: [0 if term.summed else None] * len(fresh) for term in self.terms
            }
            yield from self._rows(before, [self.entities[number] for number in fresh], zeros, 0.0)

    def _counter(self, sums: list[float], rates: Values, factor: float) -> list[int | None]:
        sums[:] = [total + (rate or 0.0) * factor for total, rate in zip(sums, rates, strict=True)]
        if max(sums) > _MOST:  # only damage gets there
            sums[:] = [total if total <= _MOST else 0.0 for total in sums]
        if None in rates:
            return [None if rate is None else round(total) for total, rate in zip(sums, rates, strict=True)]
        return list(map(round, sums))

    def _rows(
        self, seen: int, entities: Sequence[str], columns: Mapping[str, Sequence[int | float | None]], seconds: float
    ) -> Iterator[Rows]:
        """Those of the entities that anything is told of."""
        if any(None in of for of in columns.values()):
            told = [any(value is not None for value in of) for of in zip(*columns.values(), strict=True)]
            entities = list(compress(entities, told))
            columns = {metric: list(compress(of, told)) for metric, of in columns.items()}
        if entities:
            covers = [seconds] * len(entities) if self.table.rollup == "average" else None
            yield Rows(self.table, list(entities), [seen] * len(entities), dict(columns), covers_seconds=covers)


def _of(term: Term) -> Callable[[Values], Values]:
    first = _picker(term.first)
    if term.second is None:
        return first
    second = _picker(term.second)

    # Where nothing was done (0), its mean says nothing, blank or not.
    def product(values: Values) -> Values:
        pairs = zip(first(values), second(values), strict=True)
        return [x and (None if y is None else x * y) for x, y in pairs]

    def mean(values: Values) -> Values:
        return [x if y else None for x, y in zip(first(values), second(values), strict=True)]

    return product if term.summed else mean


def _picker(numbers: tuple[int, ...]) -> Callable[[Values], Values]:
    if len(numbers) == 1:
        only = numbers[0]
        return lambda values: (values[only],)
    picked: Callable[[Values], Values] = itemgetter(*numbers)
    return picked

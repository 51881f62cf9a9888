"""The plan for a log: the conversion of its rows to samples, and its entities, derived from the names of columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from statistics import fmean

import numpy as np

from sanpath.plugin import CollectorError, Failure, Rows, SourceEntity, SourceLink, Table
from sanpath_collectors.perfmon.block import Block
from sanpath_collectors.perfmon.pdh import CounterPath, parse_counter_path, parse_numbers
from sanpath_collectors.perfmon.rates_to_counters import GAP_US, Matrix, Series, Term, Values

_MAX_MACHINES = 1000
"""Largest number of machines. Each takes a hundred times the memory of its name."""
Counters = dict[str, int]
"""Name of a counter → position of its value in a row."""

Instances = dict[str, Counters]
"""Instance of an object, "" if it has none → its counters."""

Machines = dict[str, dict[str, Instances]]
"""Machine → object → its instances."""


@dataclass(frozen=True, slots=True)
class MetricSource:
    """The counters from which a metric is computed: one counter, or a rate and a mean per event.

    `summed`: `counter` is a rate that is integrated to a counter metric, and `times` the mean by which it is
    multiplied. Not `summed`: the metric is a gauge. If it is a mean, `times` is the rate of its events, and the mean
    is invalid while that rate is 0. `factor`: converts the counter's unit to the metric's.
    """

    metric: str
    counter: str
    times: str | None = None
    factor: float = 1.0
    summed: bool = True

    @property
    def counters(self) -> tuple[str, ...]:
        """The required counters."""
        return (self.counter,) if self.times is None else (self.counter, self.times)


@dataclass(slots=True)
class Plan:
    """The conversion of rows to samples.

    `warnings`: (code, text), each reported once. `has_doubtful_commas`: a value was left out because its comma may be
    a decimal mark or separate thousands. `items`: groups of entities and links, each read once; they are generators,
    because a header with 100,000 instances would otherwise take several times the memory.
    """

    series: list[Series] = field(default_factory=list)
    items: list[Iterable[SourceEntity | SourceLink]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    has_doubtful_commas: bool = False
    _columns: list[int] = field(default_factory=list)
    _derived: list[Callable[[Sequence[float | None]], float | None]] = field(default_factory=list)
    _pick: Callable[[Sequence[bytes]], Sequence[bytes]] | None = None

    def find_columns(
        self,
        names: Iterable[str],
        host: str,
        host_name: str | None,
        used_counter: Callable[[CounterPath], tuple[str, str] | None],
    ) -> Machines:
        """Find the columns that are used. Raises CollectorError(UNREADABLE) if there are too many machines.

        `names`: names of all columns, beginning with the time. `host`: name of the machine if they contain none.
        `host_name`: overrides the machine's name in the log, if the log has only one machine. `used_counter`: returns
        object and counter by the plan's names; None: the column is not used.
        """
        machines: Machines = {}
        for column, name in islice(enumerate(names), 1, None):
            path = parse_counter_path(name)
            if path is None:
                continue
            machine = machines.setdefault((path.machine or host).lower(), defaultdict(dict))
            if len(machines) > _MAX_MACHINES:
                raise CollectorError(Failure.UNREADABLE, "too many machines for one log: this is not a counter log")
            if (values := used_counter(path)) is not None:
                counters = machine[values[0]].setdefault(path.instance or "", {})
                counters.setdefault(values[1], self.add_value(column))
        if host_name is not None and len(machines) == 1:
            return {host_name: machines.popitem()[1]}
        return machines

    def add_value(self, column: int) -> int:
        """Add a column; returns the position of its value. All columns are added before the first `add_derived`
        value."""
        self._columns.append(column)
        return len(self._columns) - 1

    def add_derived(self, combine: Callable[[Sequence[float]], float], values: Sequence[int]) -> int:
        """Add a value that is computed from other values. It is None if none of them is available."""

        def combine_available(row: Sequence[float | None]) -> float | None:
            available = [value for number in values if (value := row[number]) is not None]
            return combine(available) if available else None

        self._derived.append(combine_available)
        return len(self._columns) + len(self._derived) - 1

    def add_cores(self, core_loads: Sequence[int], total: int | None) -> Counters:
        """Add the utilisation of processors, from values in per cent. Returns its counters.

        `core_loads`: position of each core's utilisation. `total`: position of that of all cores; None: not in the
        log.
        """
        values = {} if total is None else {"busy": total}
        if core_loads:
            values |= {
                "busy": self.add_derived(fmean, core_loads) if total is None else total,
                "busiest core": self.add_derived(max, core_loads),
                "all cores": self.add_derived(sum, core_loads),
                "cores": self.add_derived(len, core_loads),
            }
        return values

    def add_series(self, table: Table, uses: Sequence[MetricSource], entities: Mapping[str, Counters]) -> set[str]:
        """Add a series for each group of entities with the same metrics. Returns the entities that have metrics."""
        entities_by_uses: dict[tuple[MetricSource, ...], list[str]] = defaultdict(list)
        for entity, counters in entities.items():
            use_by_metric: dict[str, MetricSource] = {}
            for use in uses:
                if all(counter in counters for counter in use.counters):
                    use_by_metric.setdefault(use.metric, use)
            entities_by_uses[tuple(use_by_metric.values())].append(entity)
        entities_by_uses.pop((), None)
        for group_uses, members in entities_by_uses.items():
            terms = [_create_term(use, [entities[entity] for entity in members]) for use in group_uses]
            self.series.append(Series(table, members, terms))
        return {entity for members in entities_by_uses.values() for entity in members}

    def rows(self, time_us: int, previous_us: int | None, cells: Sequence[bytes]) -> Iterator[Rows]:
        """Yield the samples of one row of the file. `previous_us`: begin of its interval; None: unknown."""
        values = self._values(cells)
        for series in self.series:
            yield from series.row(time_us, previous_us, values)

    @property
    def is_steady(self) -> bool:
        """Whether all counters are running, so that rows can be processed together."""
        return all(series.is_steady for series in self.series)

    def block(self, block: Block, previous_us: int) -> list[Rows] | None:
        """Return the samples of several rows at once, equal to those of `rows`.

        The plan has to be steady. `previous_us`: time of the row before. None: the rows must be processed one by one,
        because a value is blank or invalid, or there is a gap in time.
        """
        parts = np.diff(block.times_us, prepend=previous_us)
        if parts.min() <= 0 or parts.max() > GAP_US or (matrix := self._matrix(block)) is None:
            return None
        blocks = [series.block(block.times_us, previous_us, matrix) for series in self.series]
        complete = [block for block in blocks if block is not None]
        if len(complete) < len(blocks):
            return None
        for series, (_, sums) in zip(self.series, complete, strict=True):
            series.resume(sums)
        return [samples for samples, _ in complete if samples.entity]

    def _matrix(self, block: Block) -> Matrix | None:
        """Return the values of a block. None: a value is blank or invalid."""
        matrix = block.matrix(self._columns)
        if matrix is None or not self._derived:
            return matrix
        values = [[combine_available(row) for combine_available in self._derived] for row in matrix.tolist()]
        return np.hstack((matrix, np.array(values, dtype=np.float64)))

    def _values(self, cells: Sequence[bytes]) -> Values:
        picked = self._value_picker()(cells)
        values = parse_numbers(picked)
        if None in values and not self.has_doubtful_commas:
            self.has_doubtful_commas = any(v is None and b"," in c for v, c in zip(values, picked, strict=True))
        for combine_available in self._derived:
            values.append(combine_available(values))
        return values

    def _value_picker(self) -> Callable[[Sequence[bytes]], Sequence[bytes]]:
        if self._pick is None:
            columns = self._columns
            self._pick = itemgetter(*columns) if len(columns) > 1 else lambda row: [row[n] for n in columns]
        return self._pick


def _create_term(use: MetricSource, entities: Sequence[Counters]) -> Term:
    second = None if use.times is None else tuple(counters[use.times] for counters in entities)
    return Term(use.metric, tuple(counters[use.counter] for counters in entities), second, use.factor, use.summed)

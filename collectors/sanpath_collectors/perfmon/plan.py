"""From the names of a log's columns to what is made of each row: which columns, which series, which things."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from statistics import fmean

from sanpath.plugin import CollectorError, Failure, Rows, SourceEntity, SourceLink, Table
from sanpath_collectors.perfmon.pdh import CounterPath, counter_path, numbers
from sanpath_collectors.perfmon.sums import Series, Term, Values

_MOST_MACHINES = 1000
"""Each takes a hundred times the memory of its name."""
Counters = dict[str, int]
"""Name of a counter → which value of a row it is."""

Instances = dict[str, Counters]
"""Instance of an object, "" where it has none → its counters."""

Machines = dict[str, dict[str, Instances]]
"""Machine → object → what there is of it."""


@dataclass(frozen=True, slots=True)
class Use:
    """A way to tell a metric: a counter, or two: a rate and the mean of what happened at it.

    `summed`: the counter is a rate, the metric the counter of it, and `times` the mean that it is multiplied with.
    Else the metric is a gauge, and `times` the rate of what it is the mean of: where that is 0, it says nothing.
    `factor`: from the counter's unit to the metric's.
    """

    metric: str
    counter: str
    times: str | None = None
    factor: float = 1.0
    summed: bool = True

    @property
    def counters(self) -> tuple[str, ...]:
        """What it needs."""
        return (self.counter,) if self.times is None else (self.counter, self.times)


@dataclass(slots=True)
class Plan:
    """What is made of a row. `warnings`: code and text, to be told once."""

    series: list[Series] = field(default_factory=list)
    items: list[SourceEntity | SourceLink] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    _columns: dict[int, int] = field(default_factory=dict)
    _derived: list[Callable[[Sequence[float | None]], float | None]] = field(default_factory=list)
    _pick: Callable[[Sequence[bytes]], Sequence[bytes]] | None = None

    def find(
        self, names: Iterable[str], host: str, known: Callable[[CounterPath], tuple[str, str] | None]
    ) -> Machines:
        """The columns of use. Raises CollectorError(UNREADABLE): there are too many machines.

        `names`: of all columns, the first that of the time; `host`: what the machine is
        called where they do not say; `known`: object and counter in the words of the plan, None: of no use."""
        machines: Machines = {}
        for column, name in islice(enumerate(names), 1, None):
            path = counter_path(name)
            if path is None:
                continue
            machine = machines.setdefault((path.machine or host).lower(), defaultdict(dict))
            if len(machines) > _MOST_MACHINES:
                raise CollectorError(Failure.UNREADABLE, "more machines than write into one log: this is none")
            if (found := known(path)) is not None:
                counters = machine[found[0]].setdefault(path.instance or "", {})
                counters.setdefault(found[1], self.value(column))
        return machines

    def value(self, column: int) -> int:
        """The value that a column of the file becomes. All of them are asked for before the first `derived`."""
        return self._columns.setdefault(column, len(self._columns))

    def derived(self, combine: Callable[[Sequence[float]], float], values: Sequence[int]) -> int:
        """A value made of those of others that are there; none where none is."""

        def made(row: Sequence[float | None]) -> float | None:
            there = [value for number in values if (value := row[number]) is not None]
            return combine(there) if there else None

        self._derived.append(made)
        return len(self._columns) + len(self._derived) - 1

    def cores(self, each: Sequence[int], together: int | None) -> Counters:
        """What the load of processors in percent tells: of each core, of all of them together (None: not told)."""
        found = {} if together is None else {"busy": together}
        if each:
            found |= {
                "busy": self.derived(fmean, each) if together is None else together,
                "busiest core": self.derived(max, each),
                "all cores": self.derived(sum, each),
                "cores": self.derived(len, each),
            }
        return found

    def tell(self, table: Table, uses: Sequence[Use], entities: Mapping[str, Counters]) -> set[str]:
        """Make series of entities, together those of which the same is told. Returns those that have one."""
        alike: dict[tuple[Use, ...], list[str]] = defaultdict(list)
        for entity, counters in entities.items():
            told: dict[str, Use] = {}
            for use in uses:
                if all(counter in counters for counter in use.counters):
                    told.setdefault(use.metric, use)
            alike[tuple(told.values())].append(entity)
        alike.pop((), None)
        for shape, members in alike.items():
            terms = [_term(use, [entities[entity] for entity in members]) for use in shape]
            self.series.append(Series(table, members, terms))
        return {entity for members in alike.values() for entity in members}

    def rows(self, seen: int, before: int | None, cells: Sequence[bytes]) -> Iterator[Rows]:
        """Samples of one row of the file."""
        values = self._values(cells)
        for series in self.series:
            yield from series.row(seen, before, values)

    def _values(self, cells: Sequence[bytes]) -> Values:
        if self._pick is None:
            columns = list(self._columns)
            self._pick = itemgetter(*columns) if len(columns) > 1 else lambda row: [row[n] for n in columns]
        values = numbers(self._pick(cells))
        for made in self._derived:
            values.append(made(values))
        return values


def _term(use: Use, entities: Sequence[Counters]) -> Term:
    second = None if use.times is None else tuple(counters[use.times] for counters in entities)
    return Term(use.metric, tuple(counters[use.counter] for counters in entities), second, use.factor, use.summed)

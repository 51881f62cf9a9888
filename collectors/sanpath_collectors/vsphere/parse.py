"""Conversion of replies to QueryPerf, in CSV format, to samples. Pure: bytes in, `Rows` and `Event` out.

    <returnval><entity type="HostSystem">host-1</entity>
      <sampleInfoCSV>20,2026-11-20T08:00:20Z,20,2026-11-20T08:00:40Z</sampleInfoCSV>
      <value><id><counterId>455</counterId><instance>naa.624a93706c1b16ce1c034d1c000aab1a</instance></id>
        <value>4,5</value></value></returnval>

A value may be blank or -1: it is unknown for that interval. The order of the samples is not guaranteed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from xml.etree import ElementTree

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Event, Failure, Rows
from sanpath_collectors.vsphere.counters import Plan, Term
from sanpath_collectors.vsphere.tables import GROUPS, SAMPLE_SECONDS

_NS = "{urn:vim25}"
_SAMPLE_US = SAMPLE_SECONDS * 1_000_000
_SET_BACK_US = 10 * _SAMPLE_US
"""How much older than an earlier sample the newest one of a reply is if its clock was set back. A reply that the
server had kept is younger: it holds the last six samples (performance.py)."""
_TABLES = {group.table.kind: group.table for group in GROUPS.values()}

Value = int | float | None
CounterValues = Mapping[int, Sequence[Value]]
"""Counter id → values of one entity in the new samples."""
LocalId = Callable[[str, str], str | None]
"""(counter group, instance) → local id of the entity; None: it is not an entity that is read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The samples of one managed object. `series`: (counter id, instance, values in the order of `times`)."""

    moid: str
    times: str
    series: Sequence[tuple[int, str, str]]


def answers(body: bytes) -> list[Answer]:
    """Parse a reply to QueryPerf, in which the caller has excluded a document type.

    Raises ParseError when it is not XML, LookupError for an unknown encoding, and ValueError for a counter id that is
    not a number.
    """
    root = ElementTree.fromstring(body)  # noqa: S314 - a reply with a document type is refused before
    return [_answer(element) for element in root.iter(f"{_NS}returnval")]


def _answer(result: ElementTree.Element) -> Answer:
    series = []
    for value in result.iterfind(f"{_NS}value"):
        if (metric_id := value.find(f"{_NS}id")) is not None:
            counter, instance = metric_id.findtext(f"{_NS}counterId", ""), metric_id.findtext(f"{_NS}instance", "")
            series.append((int(counter), instance, value.findtext(f"{_NS}value", "")))
    return Answer(result.findtext(f"{_NS}entity", ""), result.findtext(f"{_NS}sampleInfoCSV", ""), series)


@dataclass(slots=True)
class Samples:
    """Yields each sample once, and integrates the values of the intervals to counters.

    A counter of an entity begins at zero with the first interval that has a value. It begins again at zero after an
    interval without a value, because the activity in that interval is unknown, and after the clock was set back.
    """

    plan: Plan
    _newest: dict[str, int] = field(default_factory=dict)
    _sums: dict[str, dict[tuple[str, str], dict[str, float]]] = field(default_factory=lambda: defaultdict(dict))
    _mismatched: set[str] = field(default_factory=set)

    @property
    def newest(self) -> int | None:
        """Time of the latest sample of all entities, on the server's clock; None: there was no sample."""
        return max(self._newest.values(), default=None)

    def rows(self, answer: Answer, object_name: str, local_id: LocalId, seen_us: int) -> Iterator[Rows | Event]:
        """Yield the new samples. `object_name`: display name of the managed object."""
        times = sample_times(answer.times)
        previous_us = self._newest.get(answer.moid)
        if previous_us is not None and times and max(times) < previous_us - _SET_BACK_US:
            previous_us = None
            self._sums.pop(answer.moid, None)
        new = sorted((time, index) for index, time in enumerate(times) if previous_us is None or time > previous_us)
        if not new:
            return
        if previous_us is None:
            new = new[-1:]  # earlier samples are from before the run
            previous_us = new[0][0]
        parts: list[list[tuple[int, int]]] = [[]]
        for before, sample in zip([previous_us, *(time for time, _ in new)], new, strict=False):
            if missing := max(0, round((sample[0] - before) / _SAMPLE_US) - 1):
                detail: dict[str, Scalar] = {
                    "entity": object_name,
                    "from_us": before,
                    "to_us": sample[0],
                    "samples": missing,
                }
                yield Event(seen_us, "samples-missing", detail)
                parts.append([])
            parts[-1].append(sample)
        self._newest[answer.moid] = new[-1][0]
        for number, part in enumerate(parts):
            if number:  # The sums begin again after a gap.
                self._sums.pop(answer.moid, None)
            yield from self._rows_without_gap(answer, part, len(times), object_name, local_id, seen_us)

    def _rows_without_gap(
        self,
        answer: Answer,
        new: Sequence[tuple[int, int]],
        samples: int,
        object_name: str,
        local_id: LocalId,
        seen_us: int,
    ) -> Iterator[Rows | Event]:
        """Yield rows of samples that follow each other, as (time, index). `samples`: number in the answer."""
        if not new:
            return
        kinds, mismatched = self._group_by_kind(answer.series, samples, [index for _, index in new], local_id)
        if mismatched and object_name not in self._mismatched:
            self._mismatched.add(object_name)
            yield Event(
                seen_us,
                "values-missing",
                {"entity": object_name, "series": mismatched, "why": "not one value a sample"},
            )
        for kind, entities in kinds.items():
            yield self._rows_of(answer.moid, kind, entities, [time for time, _ in new], seen_us)

    def _group_by_kind(
        self, series: Sequence[tuple[int, str, str]], samples: int, indexes: Sequence[int], local_id: LocalId
    ) -> tuple[Mapping[str, Mapping[str, CounterValues]], int]:
        """Return entity kind → entity → values, and the number of series that do not have one value a sample."""
        kinds: dict[str, dict[str, dict[int, list[Value]]]] = defaultdict(lambda: defaultdict(dict))
        groups, mismatched = self.plan.groups, 0
        for counter, instance, values in series:
            group = groups.get(counter)
            if group is None or (entity := local_id(group, instance)) is None:
                continue
            cells = values.split(",")
            if len(cells) == samples:
                values_by_counter = kinds[GROUPS[group].table.kind][entity]
                values_by_counter[counter] = [_number(cells[index]) for index in indexes]
            elif values:
                mismatched += 1
        return kinds, mismatched

    def _rows_of(
        self, moid: str, kind: str, entities: Mapping[str, CounterValues], times_us: Sequence[int], seen_us: int
    ) -> Rows:
        terms = self.plan.terms[kind]
        running = self._sums[moid]
        rows: list[tuple[str, int, float, list[Value]]] = []
        for entity, values in entities.items():
            sums = running.setdefault((kind, entity), {})
            for index, time_us in enumerate(times_us):
                starts, row = _row(terms, values, index, sums)
                if any(value is not None for value in starts):
                    rows.append((entity, time_us - _SAMPLE_US, 0.0, starts))
                rows.append((entity, time_us, float(SAMPLE_SECONDS), row))
        columns = zip(*(row for *_, row in rows), strict=True)
        return Rows(
            _TABLES[kind],
            [entity for entity, *_ in rows],
            [seen_us] * len(rows),
            {term.metric: column for term, column in zip(terms, columns, strict=True)},
            [time_us for _, time_us, *_ in rows],
            [seconds for _, _, seconds, _ in rows],
        )


def _row(
    terms: Sequence[Term], values: CounterValues, index: int, sums: dict[str, float]
) -> tuple[list[Value], list[Value]]:
    """Return the values at the beginning and at the end of an interval.

    At the beginning only counters that start there have a value, zero; all others have None. Updates `sums`.
    """
    starts: list[Value] = []
    row: list[Value] = []
    for term in terms:
        value = _value(term, values, index)
        start = None
        if term.summed:
            if value is None:
                sums.pop(term.metric, None)
            else:
                start = None if term.metric in sums else 0
                value += sums.get(term.metric, 0.0)
                sums[term.metric] = value
                value = round(value)
        starts.append(start)
        row.append(value)
    return starts, row


def _value(term: Term, values: CounterValues, index: int) -> Value:
    counter_values = values.get(term.counter)
    value = counter_values[index] if counter_values is not None else None
    if value is None:
        return None
    if term.times is not None:
        weights = values.get(term.times)
        weight = weights[index] if weights is not None else None
        if weight is None:
            return None
        value *= weight
    return value if term.factor == 1.0 else value * term.factor


def _number(cell: str) -> Value:
    """Convert a value; None: it is unknown.

    >>> _number("4"), _number(""), _number("-1"), _number("0.5")
    (4, None, None, 0.5)
    """
    try:
        value: Value = int(cell)
    except ValueError:
        try:
            value = float(cell)
        except ValueError:
            return None
    return value if value is not None and 0 <= value < 2**62 else None


@lru_cache(maxsize=256)
def sample_times(text: str) -> tuple[int, ...]:
    """Return the times of the samples in microseconds since the epoch. Raises CollectorError(UNREADABLE).

    >>> sample_times("20,1970-01-01T00:00:20Z,20,1970-01-01T00:00:40Z")
    (20000000, 40000000)
    """
    times = text.split(",")[1::2]
    try:
        return tuple(round(datetime.fromisoformat(time).timestamp() * 1e6) for time in times)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, "QueryPerf: the times of the samples are not valid", text) from error

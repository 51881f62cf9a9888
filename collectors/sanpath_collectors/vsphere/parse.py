"""Replies to QueryPerf in csv form → samples. Pure: bytes in, `Rows` and `Event` out.

    <returnval><entity type="HostSystem">host-1</entity>
      <sampleInfoCSV>20,2026-11-20T08:00:20Z,20,2026-11-20T08:00:40Z</sampleInfoCSV>
      <value><id><counterId>455</counterId><instance>naa.624a93706c1b16ce1c034d1c000aab1a</instance></id>
        <value>4,5</value></value></returnval>

A value may be blank or -1: nothing is known of that interval. The order of the samples is not promised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from xml.etree import ElementTree

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Event, Failure, Rows
from sanpath_collectors.vsphere.counters import Plan, Term
from sanpath_collectors.vsphere.tables import GROUPS, SAMPLE_SECONDS

_NS = "{urn:vim25}"
_SAMPLE_US = SAMPLE_SECONDS * 1_000_000
_TABLES = {group.table.kind: group.table for group in GROUPS.values()}

Value = int | float | None
Told = Mapping[int, Sequence[Value]]
"""Counter id → its values of the new samples, of one entity."""
Name = Callable[[str, str], str | None]
"""(counter group, instance) → local id of the thing that it is; None: of nothing that is read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What QueryPerf says of one managed object. `series`: (counter id, instance, values in the order of `times`)."""

    moid: str
    times: str
    series: Sequence[tuple[int, str, str]]


def answers(body: bytes) -> list[Answer]:
    """What a reply to QueryPerf holds. A document type is not looked for. Raises ParseError for what is no XML,
    LookupError for an encoding that nobody knows, ValueError for a counter whose id is no number."""
    root = ElementTree.fromstring(body)  # noqa: S314 - a reply with a document type is refused before
    return [_answer(one) for one in root.iter(f"{_NS}returnval")]


def _answer(said: ElementTree.Element) -> Answer:
    series = []
    for value in said.iterfind(f"{_NS}value"):
        if (called := value.find(f"{_NS}id")) is not None:
            counter, instance = called.findtext(f"{_NS}counterId", ""), called.findtext(f"{_NS}instance", "")
            series.append((int(counter), instance, value.findtext(f"{_NS}value", "")))
    return Answer(said.findtext(f"{_NS}entity", ""), said.findtext(f"{_NS}sampleInfoCSV", ""), series)


@dataclass(slots=True)
class Samples:
    """Every sample once; what happened in the intervals is added up to counters.

    A counter of an entity begins at zero with the first interval that tells it, and again after an interval of which
    nothing is known: what happened in that is not known either.
    """

    plan: Plan
    _newest: dict[str, int] = field(default_factory=dict)
    _sums: dict[str, dict[tuple[str, str], dict[str, float]]] = field(default_factory=lambda: defaultdict(dict))
    _odd: set[str] = field(default_factory=set)

    def under(self, plan: Plan) -> Samples:
        """The same with another plan: after a new login the ids of the counters may be others."""
        return replace(self, plan=plan)

    @property
    def newest(self) -> int | None:
        """Time of the last sample of all, on the server's clock; None: there was none."""
        return max(self._newest.values(), default=None)

    def rows(self, answer: Answer, called: str, name: Name, seen: int) -> Iterator[Rows | Event]:
        """What is new in an answer. `called`: what people call the managed object."""
        times = sample_times(answer.times)
        before = self._newest.get(answer.moid)
        fresh = sorted((time, place) for place, time in enumerate(times) if before is None or time > before)
        if not fresh:
            return
        if before is None:
            fresh = fresh[-1:]  # what was before the run is of no interest
        elif (lost := (fresh[0][0] - before - _SAMPLE_US) / _SAMPLE_US) > 0.5:
            self._sums.pop(answer.moid, None)
            detail: dict[str, Scalar] = {
                "entity": called,
                "from_us": before,
                "to_us": fresh[0][0],
                "samples": round(lost),
            }
            yield Event(seen, "samples-missing", detail)
        self._newest[answer.moid] = fresh[-1][0]
        kinds, odd = self._by_kind(answer.series, len(times), [place for _, place in fresh], name)
        if odd and called not in self._odd:
            self._odd.add(called)
            yield Event(seen, "values-missing", {"entity": called, "series": odd, "why": "not one value a sample"})
        for kind, entities in kinds.items():
            yield self._rows_of(answer.moid, kind, entities, [time for time, _ in fresh], seen)

    def _by_kind(
        self, series: Sequence[tuple[int, str, str]], samples: int, places: Sequence[int], name: Name
    ) -> tuple[Mapping[str, Mapping[str, Told]], int]:
        """Entity kind → entity → what is told of it; and how many series could not be read."""
        found: dict[str, dict[str, dict[int, list[Value]]]] = defaultdict(lambda: defaultdict(dict))
        groups, odd = self.plan.groups, 0
        for counter, instance, values in series:
            group = groups.get(counter)
            if group is None or (entity := name(group, instance)) is None:
                continue
            cells = values.split(",")
            if len(cells) == samples:
                found[GROUPS[group].table.kind][entity][counter] = [_number(cells[place]) for place in places]
            elif values:
                odd += 1
        return found, odd

    def _rows_of(self, moid: str, kind: str, entities: Mapping[str, Told], moments: Sequence[int], seen: int) -> Rows:
        terms = self.plan.terms[kind]
        running = self._sums[moid]
        rows: list[tuple[str, int, float, list[Value]]] = []
        for entity, told in entities.items():
            sums = running.setdefault((kind, entity), {})
            for number, moment in enumerate(moments):
                begun, row = _row(terms, told, number, sums)
                if any(value is not None for value in begun):
                    rows.append((entity, moment - _SAMPLE_US, 0.0, begun))
                rows.append((entity, moment, float(SAMPLE_SECONDS), row))
        columns = zip(*(row for *_, row in rows), strict=True)
        return Rows(
            _TABLES[kind],
            [entity for entity, *_ in rows],
            [seen] * len(rows),
            {term.metric: column for term, column in zip(terms, columns, strict=True)},
            [moment for _, moment, *_ in rows],
            [seconds for _, _, seconds, _ in rows],
        )


def _row(terms: Sequence[Term], told: Told, number: int, sums: dict[str, float]) -> tuple[list[Value], list[Value]]:
    """What counters began with at the begin of the interval, None: they had begun before; and what all are now."""
    begun: list[Value] = []
    row: list[Value] = []
    for term in terms:
        value = _value(term, told, number)
        start = None
        if term.summed:
            if value is None:
                sums.pop(term.metric, None)
            else:
                start = None if term.metric in sums else 0
                value += sums.get(term.metric, 0.0)
                sums[term.metric] = value
                value = round(value)
        begun.append(start)
        row.append(value)
    return begun, row


def _value(term: Term, told: Told, number: int) -> Value:
    values = told.get(term.counter)
    value = values[number] if values is not None else None
    if value is None:
        return None
    if term.times is not None:
        weights = told.get(term.times)
        weight = weights[number] if weights is not None else None
        if weight is None:
            return None
        value *= weight
    return value if term.factor == 1.0 else value * term.factor


def _number(cell: str) -> Value:
    """A value; None where nothing is known.

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
    """Times of the samples, microseconds since the epoch. Raises CollectorError for nonsense.

    >>> sample_times("20,1970-01-01T00:00:20Z,20,1970-01-01T00:00:40Z")
    (20000000, 40000000)
    """
    parts = text.split(",")[1::2]
    try:
        return tuple(round(datetime.fromisoformat(part).timestamp() * 1e6) for part in parts)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, "QueryPerf: the times of the samples make no sense", text) from error

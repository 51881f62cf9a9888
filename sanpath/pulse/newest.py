"""The newest of what a recorder says, and the pulse that follows from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter

from sanpath.catalogue.capacity import Capacity, link_capacity
from sanpath.facts.fabric.links import ABOVE_LINE_RATE
from sanpath.facts.load.loads import LoadFacts, load_facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.time.steps import StepMarks
from sanpath.model import DIRECTIONS, Direction, Event, Poll, Rows, Step, StepLoad
from sanpath.pulse.model import Freshness, LinkNow, Pulse
from sanpath.pulse.rounds import NOW, Rounds, Window
from sanpath.pulse.wiring import WiredLink
from sanpath.recording.format.documents import Declaration
from sanpath.recording.handover import Handed
from sanpath.topology.identity import Topology

SPEED = "link_speed_bits_per_second"
PORTS = "switch_port"
METRICS = {PORTS: frozenset((SPEED, "bytes_rx_total", "bytes_tx_total"))}
"""Kind → metrics that a pulse is made of; a kind that is not here but is "load": all of them."""
MOST_LINKS = 8
LATE_POLLS = 3.0
WRITTEN_SECONDS = 6.0
"""The recorder writes every five seconds: what was polled since then cannot be seen in its segments yet."""
SLACK_SECONDS = 1.0
"""A poll itself takes time."""
_LONGEST = 3
"""Differences that are taken together where the newest is above what the link can carry."""
_Used = tuple[float, WiredLink, Direction, float, Capacity, Window]
"""Utilisation of a link in a direction, bytes a second, what it can carry, and when that was."""
_capacity = lru_cache(link_capacity)
_MARKS = 1000
"""Marks of steps that are kept for who begins to watch later."""


def is_wanted(item: Handed) -> bool:
    """Whether a pulse is made of it."""
    match item:
        case Rows():
            return item.table.kind in ("load", PORTS)
        case Event():
            return item.name in StepMarks.NAMES
        case Poll():
            return True
    return False


def narrowed(rows: Rows) -> Rows:
    """The columns that a pulse is made of."""
    metrics = METRICS.get(rows.table.kind)
    if metrics is None:
        return rows
    columns = tuple(column for column in rows.table.columns if column.metric in metrics)
    values = {metric: told for metric, told in rows.values.items() if metric in metrics}
    return replace(rows, table=replace(rows.table, columns=columns), values=values)


class Newest:
    """What was said last. Holds a few poll rounds a source, however long the run is."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, str], Rounds] = {}
        self._marks = StepMarks()
        self._events: deque[tuple[str, Event]] = deque(maxlen=_MARKS)
        self._answers: dict[str, Poll] = {}
        self._busiest: tuple[Sequence[WiredLink], list[LinkNow]] | None = None
        self._last: tuple[int, list[LoadFacts], int, int] = (0, [], 0, 0)

    def take(self, source: str, item: Handed) -> None:
        """One thing that was recorded; what a pulse does not need is passed over."""
        match item:
            case Rows() if is_wanted(item):
                kind = item.table.kind
                rounds = self._rounds.setdefault((source, kind), Rounds(cached=kind != "load"))
                rounds.take(narrowed(item))
                self._busiest = None if kind == PORTS else self._busiest
            case Event() if is_wanted(item) and (source, item) not in self._events:
                self._events.append((source, item))
                self._marks.take(source, item)
            case Poll():
                before = self._answers.get(item.source)
                if item.outcome in ("ok", "partial") and (before is None or item.ended > before.ended):
                    self._answers[item.source] = item

    def kept(self) -> Iterator[tuple[str, Handed]]:
        """All that somebody needs to be told who begins to watch now."""
        yield from self._events
        for (source, _), rounds in self._rounds.items():
            for rows in rounds.kept():
                yield source, rows
        for poll in self._answers.values():
            yield poll.source, poll

    def pulse(
        self,
        now_us: int,
        started_us: int,
        sources: Sequence[Declaration],
        wiring: Sequence[WiredLink] = (),
        at_once: bool = True,
    ) -> Pulse:
        """What happens now. `now_us` and `started_us` are on the recorder's clock; `at_once`: see Pulse."""
        under_way = self._marks.under_way(now_us)
        elapsed, ages = (now_us - started_us) / 1e6, self._ages(now_us, sources, at_once)
        made = Pulse(elapsed, links=self._links(wiring), ages=ages, at_once=at_once)
        if under_way is None:
            if (last := self._marks.last_ended()) is None:
                return made
            ended, name = last
            idle = max(0.0, (now_us - ended) / 1e6)
            return replace(made, last_step=name, last_step_ended_us=ended, idle_seconds=idle)
        began, step = under_way
        made = replace(
            made, step=step.name, step_seconds=(now_us - began) / 1e6, step_planned_seconds=step.planned_seconds
        )
        samples = list(self._of_loads(step, began))
        if facts := load_facts_of(step, samples):
            ended = max(sample.ended[0] for sample in samples)
            window = min(sample.ended[0] - round(1e6 * sample.seconds[0]) for sample in samples)
            self._last = began, facts, window, ended
        if self._last[0] != began:
            return made
        # Counters that begin anew at the end of a ramp tell nothing for a moment: what was before is not forgotten.
        _, facts, window, ended = self._last
        age = max(0.0, (now_us - ended) / 1e6)
        return replace(made, loads=facts, began_us=window, ended_us=ended, loads_age_seconds=age)

    def _of_loads(self, step: Step, since_us: int) -> Iterator[StepSamples]:
        for (source, kind), rounds in self._rounds.items():
            if kind != "load" or not _runs(source, step.loads):
                continue
            named = {entity for load in step.loads if load.source == source for entity in load.entities}
            for entity in rounds.entities():
                sample = rounds.samples(source, entity, since_us) if not named or entity in named else None
                if sample is not None:
                    yield sample

    def _links(self, wiring: Sequence[WiredLink]) -> list[LinkNow]:
        if self._busiest is None or self._busiest[0] is not wiring:  # Else nothing has been polled since then.
            self._busiest = wiring, self._found_links(wiring)
        return self._busiest[1]

    def _found_links(self, wiring: Sequence[WiredLink]) -> list[LinkNow]:
        found = [now for link in wiring for now in self._link(link)]
        busiest = sorted(found, key=itemgetter(0), reverse=True)[:MOST_LINKS]
        return [
            LinkNow(link.entity, direction, used, rate, capacity.name, *window.limits)
            for used, link, direction, rate, capacity, window in busiest
        ]

    def _link(self, link: WiredLink) -> Iterator[_Used]:
        for port in link.ports:
            rounds = self._rounds.get((port.source, PORTS))
            window = rounds.window(port.entity) if rounds is not None else None
            if rounds is None or window is None:
                continue
            capacity = _capacity(link.technology, window.gauge(SPEED) or 0.0)
            if capacity is None:
                continue
            most = ABOVE_LINE_RATE * capacity.data_bytes_per_second
            read, write = window.rate(port.read), window.rate(port.write)
            for back in range(2, _LONGEST + 1):
                # An agent's cache makes a window that no link can carry, and a longer one that it can.
                if max(read or 0.0, write or 0.0) <= most:
                    break
                window = rounds.window(port.entity, back=back) or window
                read, write = window.rate(port.read), window.rate(port.write)
            told = [(d, r) for d, r in zip(DIRECTIONS, (read, write), strict=True) if r is not None and r <= most]
            for direction, rate in told:
                yield rate / capacity.data_bytes_per_second, link, direction, rate, capacity, window
            if told:
                return

    def _ages(self, now_us: int, sources: Sequence[Declaration], at_once: bool) -> dict[str, Freshness]:
        found, behind = {}, 0.0 if at_once else WRITTEN_SECONDS
        for source in sources:
            answer = self._answers.get(source.name)
            age = max(0.0, (now_us - answer.ended) / 1e6) if answer is not None else None
            late = age is not None and age > LATE_POLLS * source.every_seconds + max(behind, SLACK_SECONDS)
            found[source.name] = Freshness(source.every_seconds, age, late)
        return found


def load_facts_of(step: Step, samples: Sequence[StepSamples]) -> list[LoadFacts]:
    """Facts of the load in the newest window, by the formulas of every step."""
    return load_facts(Topology(), [replace(step, name=NOW)], samples)


def _runs(source: str, loads: Sequence[StepLoad]) -> bool:
    return not loads or any(load.source == source for load in loads)

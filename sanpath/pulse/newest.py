"""Holds the newest items of the recorders and computes the pulse from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.time.steps import StepMarks
from sanpath.model import Event, Poll, Rows, Step
from sanpath.pulse.busiest import SPEED, busiest_links
from sanpath.pulse.link_counters import WiredLink
from sanpath.pulse.model import Freshness, LinkNow, Pulse
from sanpath.pulse.poll_rounds import NOW, Rounds
from sanpath.recording.format.documents import Declaration
from sanpath.recording.handover import LiveItem
from sanpath.topology.topology import Topology

PORTS = "switch_port"
METRICS = {PORTS: frozenset((SPEED, "bytes_rx_total", "bytes_tx_total"))}
"""Kind → metrics that a pulse needs; of the kind "load" it needs all metrics."""
LATE_POLLS = 3.0
"""Intervals without a sample after which a source is late: sanpath's own choice, one poll may be lost and one
late."""
FLUSH_DELAY_SECONDS = 6.0
"""The recorder flushes every five seconds: newer samples are not in its segments yet."""
SLACK_SECONDS = 1.0
"""A poll itself takes time."""
_MARKS = 1000
"""Marks of steps that are retained for viewers that connect later."""


def is_wanted(item: LiveItem) -> bool:
    """Return whether a pulse needs an item."""
    match item:
        case Rows():
            return item.table.kind in ("load", PORTS)
        case Event():
            return item.name in StepMarks.NAMES
        case Poll():
            return True
    return False


def narrowed(rows: Rows) -> Rows:
    """Return rows with only the columns that a pulse needs."""
    metrics = METRICS.get(rows.table.kind)
    if metrics is None:
        return rows
    columns = tuple(column for column in rows.table.columns if column.metric in metrics)
    values = {metric: column for metric, column in rows.values.items() if metric in metrics}
    return replace(rows, table=replace(rows.table, columns=columns), values=values)


class Newest:
    """The newest items. Holds a few poll rounds per source, however long the run is."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, str], Rounds] = {}
        self._marks = StepMarks()
        self._events: deque[tuple[str, Event]] = deque(maxlen=_MARKS)
        self._answers: dict[str, Poll] = {}
        self._busiest: tuple[Sequence[WiredLink], list[LinkNow]] | None = None
        self._last: tuple[int, list[LoadFacts], int, int] = (0, [], 0, 0)

    def take(self, source: str, item: LiveItem) -> None:
        """Take a recorded item; items that a pulse does not need are ignored."""
        match item:
            case Rows() if is_wanted(item):
                kind = item.table.kind
                rounds = self._rounds.setdefault((source, kind), Rounds(cached=kind != "load"))
                rounds.take(narrowed(item))
                self._busiest = None if kind == PORTS else self._busiest
            case Event() if is_wanted(item) and (source, item) not in self._events:
                self._events.append((source, item))
                self._marks.add(source, item)
            case Poll():
                before = self._answers.get(item.source)
                if item.outcome in ("ok", "partial") and (before is None or item.ended > before.ended):
                    self._answers[item.source] = item

    def snapshot(self) -> Iterator[tuple[str, LiveItem]]:
        """Yield (source, item) for everything that a new viewer needs."""
        yield from self._events
        for (source, _), rounds in self._rounds.items():
            for rows in rounds.snapshot():
                yield source, rows
        for poll in self._answers.values():
            yield poll.source, poll

    def pulse(
        self,
        now_us: int,
        started_us: int,
        sources: Sequence[Declaration],
        wiring: Sequence[WiredLink] = (),
        live: bool = True,
    ) -> Pulse:
        """Return the current pulse. `now_us` and `started_us` are on the recorder's clock; `live`: see Pulse."""
        running_step = self._marks.unfinished(now_us)
        elapsed, ages = (now_us - started_us) / 1e6, self._ages(now_us, sources, live)
        current = Pulse(elapsed, links=self._links(wiring), ages=ages, live=live)
        if running_step is None:
            if (last := self._marks.last_ended()) is None:
                return current
            ended, name = last
            idle_seconds = max(0.0, (now_us - ended) / 1e6)
            return replace(current, last_step=name, last_step_ended_us=ended, idle_seconds=idle_seconds)
        began, step = running_step
        current = replace(
            current,
            step=step.name,
            step_seconds=(now_us - began) / 1e6,
            step_planned_seconds=step.planned_seconds,
            step_why=step.why,
        )
        samples = list(self._load_samples(step, began))
        if facts := load_facts(Topology(), [replace(step, name=NOW)], samples):  # By the formulas of a step.
            ended = max(sample.ended_us[0] for sample in samples)
            window = min(sample.ended_us[0] - round(1e6 * sample.seconds[0]) for sample in samples)
            self._last = began, facts, window, ended
        if self._last[0] != began:
            return current
        # Counters that restart at the end of a ramp give no window for a moment: the last facts stay valid.
        _, facts, window, ended = self._last
        age = max(0.0, (now_us - ended) / 1e6)
        return replace(current, loads=facts, began_us=window, ended_us=ended, loads_age_seconds=age)

    def _load_samples(self, step: Step, since_us: int) -> Iterator[StepSamples]:
        for (source, kind), rounds in self._rounds.items():
            loads = [load for load in step.loads if load.source == source]
            if kind != "load" or (step.loads and not loads):
                continue
            entities = {entity for load in loads for entity in load.entities}
            for entity in rounds.entities():
                sample = rounds.samples(source, entity, since_us) if not entities or entity in entities else None
                if sample is not None:
                    yield sample

    def _links(self, wiring: Sequence[WiredLink]) -> list[LinkNow]:
        if self._busiest is None or self._busiest[0] is not wiring:  # Otherwise nothing has been polled since.
            ports = {source: rounds for (source, kind), rounds in self._rounds.items() if kind == PORTS}
            self._busiest = wiring, busiest_links(wiring, ports)
        return self._busiest[1]

    def _ages(self, now_us: int, sources: Sequence[Declaration], live: bool) -> dict[str, Freshness]:
        freshness, delay_seconds = {}, 0.0 if live else FLUSH_DELAY_SECONDS
        for source in sources:
            answer = self._answers.get(source.name)
            age = max(0.0, (now_us - answer.ended) / 1e6) if answer is not None else None
            late = age is not None and age > LATE_POLLS * source.every_seconds + max(delay_seconds, SLACK_SECONDS)
            freshness[source.name] = Freshness(source.every_seconds, age, late)
        return freshness

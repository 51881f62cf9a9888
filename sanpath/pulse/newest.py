"""Holds the newest items of the recorders: the input of a pulse, and the first items for a new viewer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sanpath.facts.samples.counters import PORT_SPEED
from sanpath.facts.time.steps import StepMarks
from sanpath.model import Event, Poll, Rows
from sanpath.pulse.poll_rounds import Rounds
from sanpath.recording.viewer_protocol import LiveItem

PORTS = "switch_port"
METRICS = {PORTS: frozenset((PORT_SPEED, "bytes_rx_total", "bytes_tx_total"))}
"""Kind → metrics that a pulse needs; of the kind "load" it needs all metrics."""
_MAX_MARKS = 1000
"""Maximum marks of steps that are retained for new viewers."""


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


def select_needed_columns(rows: Rows) -> Rows:
    """Return rows with only the columns that a pulse needs."""
    metrics = METRICS.get(rows.table.kind)
    if metrics is None:
        return rows
    columns = tuple(column for column in rows.table.columns if column.metric in metrics)
    values = {metric: column for metric, column in rows.values.items() if metric in metrics}
    return replace(rows, table=replace(rows.table, columns=columns), values=values)


class Newest:
    """The newest items. Holds a few poll rounds per source, however long the run is.

    `marks`: the steps of loads; `answers`: source → its newest answered poll; `ports_taken`: number of items of
    switch ports so far.
    """

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, str], Rounds] = {}
        self._events: deque[tuple[str, Event]] = deque(maxlen=_MAX_MARKS)
        self.marks = StepMarks()
        self.answers: dict[str, Poll] = {}
        self.ports_taken = 0

    def rounds(self, kind: str) -> Mapping[str, Rounds]:
        """Return the newest poll rounds of a kind of entity by source."""
        return {source: rounds for (source, other_kind), rounds in self._rounds.items() if other_kind == kind}

    def take(self, source: str, item: LiveItem) -> None:
        """Take a recorded item; items that a pulse does not need are ignored."""
        match item:
            case Rows() if is_wanted(item):
                kind = item.table.kind
                rounds = self._rounds.setdefault((source, kind), Rounds(cached=kind != "load"))
                rounds.take(select_needed_columns(item))
                self.ports_taken += kind == PORTS
            case Event() if is_wanted(item) and (source, item) not in self._events:
                self._events.append((source, item))
                self.marks.add(source, item)
            case Poll():
                before = self.answers.get(item.source)
                if item.outcome in ("ok", "partial") and (before is None or item.ended > before.ended):
                    self.answers[item.source] = item

    def snapshot(self) -> Iterator[tuple[str, LiveItem]]:
        """Yield (source, item) for everything that a new viewer needs."""
        yield from self._events
        for (source, _), rounds in self._rounds.items():
            for rows in rounds.snapshot():
                yield source, rows
        for poll in self.answers.values():
            yield poll.source, poll

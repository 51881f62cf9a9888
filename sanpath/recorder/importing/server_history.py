"""Imports the history of a finished test from a server into a recording, as an additional writer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from sanpath import registry
from sanpath.errors import CollectorError, SanpathError, UsageError
from sanpath.model import Event, Poll, Rows, Scalar, SourceEntity, SourceLink, Table
from sanpath.plugin import Cost, HistoryItem, KeepsHistory, SourceConfig
from sanpath.recorder.importing.placement.placement import step_limits
from sanpath.recorder.importing.target_recording import free_name, open_recording, source_names, writer_name
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Ending
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer
from sanpath.transport.live_context import LiveContext

_FLUSH_ROWS = 20_000
"""Rows in memory before a segment is written, as of a recorder (sink.py)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time span in microseconds since the epoch. `shortest_step_seconds`: length of the shortest load step; None:
    unknown."""

    began_us: int
    ended_us: int
    shortest_step_seconds: float | None = None


@dataclass(slots=True)
class ImportedSource:
    """The import of one source. `first`, `last`: times of its samples in microseconds; None: it has no samples.
    `remarks` are for people."""

    source: str
    tables: tuple[Table, ...]
    rows: int = 0
    first: int | None = None
    last: int | None = None
    remarks: list[str] = field(default_factory=list)


def recorded_span(recording: Recording) -> Span | None:
    """Return the span of a recording's steps, else of its polls; None: it has neither."""
    steps = [(began, ended) for began, ended in step_limits(recording.events()).values() if ended is not None]
    intervals = steps or [(poll.started, poll.ended) for poll in recording.polls()]
    if not intervals:
        return None
    shortest_step_seconds = min(((ended - began) / 1e6 for began, ended in steps), default=None)
    return Span(min(began for began, _ in intervals), max(ended for _, ended in intervals), shortest_step_seconds)


def import_history(config: SourceConfig, folder: Location, span: Span, origin: str) -> Sequence[ImportedSource]:
    """Import a source's history of a time span into a recording, which is created if needed.

    `origin`: where the history is from, for people.

    Raises UsageError for a source without history or a span that was imported before, and SanpathError when there is
    nothing to read. Then the recording is unchanged.
    """
    collector = registry.collector_class(registry.spec(config.collector))(config)
    if not isinstance(collector, KeepsHistory):
        raise UsageError(f"collector {config.collector} cannot read the past")
    recording = open_recording(folder)
    _refuse_duplicate(recording, origin, span)
    clock, cost = RecorderClock(), Cost()
    writer = Writer(folder, writer_name(clock))
    task = _HistoryImport(writer, source_names(recording), span)

    async def read() -> None:
        context = LiveContext(clock, cost)
        try:
            await collector.open(context)
            async for item in collector.history(context, span.began_us, span.ended_us):
                task.record_item(item)
        finally:
            await collector.close()

    failure = ""
    try:
        try:
            asyncio.run(read())
        except CollectorError as error:
            failure = str(error)
        if not task.rows:
            raise SanpathError(failure or f"{origin}: keeps no samples of that time")
        task.record_polls(failure, origin, clock.now_us() - clock.anchor_us, cost)
        task.end(folder, config.collector, recording)
    finally:
        writer.close()
    return list(task.sources.values())


def _refuse_duplicate(recording: Recording | None, origin: str, span: Span) -> None:
    """Raise UsageError for an overlapping import: the same counters twice would appear as two devices."""
    for _, event in recording.events() if recording is not None else ():
        began, ended = (event.detail.get(limit) for limit in ("began_us", "ended_us"))
        if event.detail.get("origin") != origin or not isinstance(began, int) or not isinstance(ended, int):
            continue
        if began < span.ended_us and span.began_us < ended:
            raise UsageError(f"{origin}: something of this time is in the recording already")


@dataclass
class _HistoryImport:
    """The import of a source's history. `taken_names`: source names that the recording already has."""

    writer: Writer
    taken_names: set[str]
    span: Span
    sources: dict[str, ImportedSource] = field(default_factory=dict)
    rows: int = 0

    def record_item(self, item: HistoryItem) -> None:
        """Write one item of the history."""
        if item.source not in self.sources:
            name = free_name(item.source, self.taken_names)
            self.taken_names.add(name)
            self.sources[item.source] = ImportedSource(name, item.tables)
        source = self.sources[item.source]
        match item.item:
            case Rows() as rows:
                self.writer.samples(source.source, rows)
                source.rows += len(rows.entity)
                self.rows += len(rows.entity)
                source.first = min(rows.seen if source.first is None else [*rows.seen, source.first])
                source.last = max(rows.seen if source.last is None else [*rows.seen, source.last])
            case SourceEntity() | SourceLink() as entry:
                self.writer.inventory(source.source, self.span.began_us, entry)
            case Event() as event:
                self.writer.event(source.source, event)
                if event.name == "data-warning":
                    source.remarks.append(str(event.detail.get("text", "")))
        if self.writer.rows_waiting > _FLUSH_ROWS:
            self.writer.flush()

    def record_polls(self, failure: str, origin: str, elapsed_us: int, cost: Cost) -> None:
        """Record the import as one poll per source; the first one carries the whole cost."""
        for source in self.sources.values():
            if failure:
                source.remarks.append(f"what follows could not be read: {failure}")
            limits = {"began_us": self.span.began_us, "ended_us": self.span.ended_us}
            detail: dict[str, Scalar] = {"origin": origin, "rows": source.rows, **limits}
            self.writer.event(source.source, Event(self.span.ended_us, "imported", detail))
            first = self.span.began_us if source.first is None else source.first
            times_us = first, first, first + elapsed_us
            poll = Poll(source.source, *times_us, "ok", "", "", source.rows, cost.requests, cost.bytes_in)
            if failure:
                poll = Poll(source.source, *times_us, "partial", "unreadable", failure, source.rows)
            self.writer.poll(poll)
            cost.requests = cost.bytes_in = 0

    def end(self, folder: Location, collector: str, recording: Recording | None) -> None:
        """Declare the sources: samples of undeclared sources are ignored."""
        declarations = [
            Declaration(name=source.source, collector=collector, every_seconds=1.0, tables=source.tables)
            for source in self.sources.values()
        ]
        began_us = self.span.began_us if recording is None else recording.started_us
        self.writer.begin(layout.join(folder).run_id, began_us, declarations)
        self.writer.end(Ending(ended_us=self.span.ended_us, load_exit_code=None, recorder_cpu_seconds=0.0))

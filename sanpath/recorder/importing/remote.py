"""Puts what a server remembers of a test that is over into a recording, as one more writer of it."""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sanpath import __version__, registry
from sanpath.errors import CollectorError, SanpathError, UsageError
from sanpath.model import Event, Poll, Rows, Scalar, SourceEntity, SourceLink, Table
from sanpath.plugin import Cost, HistoryItem, KeepsHistory, SourceConfig
from sanpath.recorder.importing.place import steps_of
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer
from sanpath.transport.context import LiveContext

_FLUSH_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Span:
    """A time, in microseconds since the epoch. `shortest_step_seconds`: of the load in it, None: not known."""

    began_us: int
    ended_us: int
    shortest_step_seconds: float | None = None


@dataclass(slots=True)
class Remembered:
    """What came of one source. Times in microseconds, None: it has no samples. `remarks`: what to know of it."""

    source: str
    tables: tuple[Table, ...]
    rows: int = 0
    first: int | None = None
    last: int | None = None
    remarks: list[str] = field(default_factory=list)


def recording_at(folder: Location) -> Recording | None:
    """The recording there; None: there is none yet."""
    return Recording(folder) if store_at(folder).exists() and store_at(folder).list("") else None


def span_of(recording: Recording) -> Span | None:
    """The time of the steps of a recording, else of all that was polled; None: nothing tells."""
    steps = [(began, ended) for began, ended in steps_of(recording.events()).values() if ended is not None]
    known = steps or [(poll.started, poll.ended) for poll in recording.polls()]
    if not known:
        return None
    shortest = min(((ended - began) / 1e6 for began, ended in steps), default=None)
    return Span(min(began for began, _ in known), max(ended for _, ended in known), shortest)


def import_history(
    config: SourceConfig,
    folder: Location,
    span: Span,
    origin: str,
    progress: Callable[[float], None] = lambda _: None,
) -> Sequence[Remembered]:
    """Ask a source for a time, into a recording that is made when it is not there. `origin`: where it is from, for
    people. `progress`: told which share was read.

    Raises UsageError: the source remembers nothing, or something of this was imported before; SanpathError: there is
    nothing to be read, and the recording is then as it was.
    """
    collector = registry.collector_class(registry.spec(config.collector))(config)
    if not isinstance(collector, KeepsHistory):
        raise UsageError(f"{config.collector} remembers nothing of the past")
    known = recording_at(folder)
    _refuse_twice(known, origin, span)
    clock, cost = RecorderClock(), Cost()
    host = re.sub(r"[^A-Za-z0-9_.]", "_", platform.node()) or "host"
    writer = Writer(folder, f"{host}.{clock.anchor_us:x}")
    taken = {declaration.name for declaration in known.declarations} if known is not None else set()
    task = _Import(writer, taken, span)

    async def read() -> None:
        context = LiveContext(clock, cost)
        try:
            await collector.open(context)
            async for kept in collector.history(context, span.began_us, span.ended_us):
                task.take(kept)
                progress(task.share)
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
        task.account(failure, origin, clock.now_us() - clock.anchor_us, cost)
        task.end(folder, config.collector, known)
    finally:
        writer.close()
    return list(task.sources.values())


def _refuse_twice(known: Recording | None, origin: str, span: Span) -> None:
    """The same counters twice would be two devices."""
    for _, event in known.events() if known is not None else ():
        began, ended = (event.detail.get(limit) for limit in ("began_us", "ended_us"))
        if event.detail.get("origin") != origin or not isinstance(began, int) or not isinstance(ended, int):
            continue
        if began < span.ended_us and span.began_us < ended:
            raise UsageError(f"{origin}: something of this time is in the recording already")


@dataclass
class _Import:
    """What a source remembers on its way into a recording. `taken`: names of sources that are not free."""

    writer: Writer
    taken: set[str]
    span: Span
    sources: dict[str, Remembered] = field(default_factory=dict)
    rows: int = 0
    newest: int = 0

    @property
    def share(self) -> float:
        """How much of the time was read."""
        return max(0.0, (self.newest - self.span.began_us) / max(1, self.span.ended_us - self.span.began_us))

    def take(self, kept: HistoryItem) -> None:
        """Write one thing of a source."""
        if kept.source not in self.sources:
            self.sources[kept.source] = Remembered(_free(kept.source, self.taken), kept.tables)
        source = self.sources[kept.source]
        match kept.item:
            case Rows() as rows:
                self.writer.samples(source.source, rows)
                source.rows += len(rows.entity)
                self.rows += len(rows.entity)
                source.first = min(rows.seen if source.first is None else [*rows.seen, source.first])
                source.last = max(rows.seen if source.last is None else [*rows.seen, source.last])
                self.newest = max(self.newest, source.last)
            case SourceEntity() | SourceLink() as item:
                self.writer.inventory(source.source, self.span.began_us, item)
            case Event() as event:
                self.writer.event(source.source, event)
                if event.name == "data-warning":
                    source.remarks.append(str(event.detail.get("text", "")))
        if self.writer.rows_waiting > _FLUSH_ROWS:
            self.writer.flush()

    def account(self, failure: str, origin: str, spent_us: int, cost: Cost) -> None:
        """Tell of the import as of one poll a source; what it cost is booked to the first."""
        for done in self.sources.values():
            if failure:
                done.remarks.append(f"what follows could not be read: {failure}")
            limits = {"began_us": self.span.began_us, "ended_us": self.span.ended_us}
            detail: dict[str, Scalar] = {"origin": origin, "rows": done.rows, **limits}
            self.writer.event(done.source, Event(self.span.ended_us, "imported", detail))
            first = self.span.began_us if done.first is None else done.first
            poll = Poll(
                done.source, first, first, first + spent_us, "ok", "", "", done.rows, cost.requests, cost.bytes_in
            )
            if failure:
                poll = Poll(done.source, first, first, first + spent_us, "partial", "unreadable", failure, done.rows)
            self.writer.poll(poll)
            cost.requests = cost.bytes_in = 0

    def end(self, folder: Location, collector: str, known: Recording | None) -> None:
        """Declare the sources: without it nobody looks at their samples."""
        manifest = layout.join(folder)
        header = Header(
            writer=self.writer.name,
            run_id=manifest.run_id,
            tool_version=__version__,
            host=platform.node(),
            started_us=self.span.began_us if known is None else known.started_us,
            sources=tuple(
                Declaration(name=s.source, collector=collector, every_seconds=1.0, tables=s.tables)
                for s in self.sources.values()
            ),
        )
        self.writer.header(header)
        self.writer.end(Ending(ended_us=self.span.ended_us, load_exit_code=None, recorder_cpu_seconds=0.0))


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number when the recording already has a source of that name."""
    numbers = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    free = name if name not in taken else next(free for free in numbers if free not in taken)
    taken.add(free)
    return free

"""Puts a result file into a recording, finished or still running, as one more writer of it."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from sanpath import __version__, registry
from sanpath.errors import CollectorError, SanpathError, UsageError
from sanpath.model import Event, Poll, Rows, Scalar, SourceEntity, SourceLink
from sanpath.plugin import Item, ResultClock, ResultReader, Spec, warning
from sanpath.recorder.importing import doubts
from sanpath.recorder.importing.batch import Batch, single
from sanpath.recorder.importing.file import ImportedFile
from sanpath.recorder.importing.place import Placement, steps_of
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer

_FLUSH_ROWS = 100_000
_KEPT_BYTES = 64 << 20
"""A file up to this size is kept in the recording byte for byte."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What is asked for. `name`: what the load or source is called, None: as its collector. `host`: the machine the
    file is from, None: the only one that the recording knows. `marks`: names of the recording's steps that the file's
    steps are. `known`: what people know of the topology, as if a source had said it."""

    file: Path
    folder: Location
    reader: str | None = None
    name: str | None = None
    host: str | None = None
    marks: Sequence[str] = ()
    known: Sequence[SourceEntity | SourceLink] = ()
    placement: Placement = field(default_factory=Placement)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of it. Times in microseconds, None: the file holds no samples. `remarks`: what to know of it."""

    source: str
    title: str
    steps: Sequence[str]
    rows: int
    first: int | None
    last: int | None
    remarks: Sequence[str]


def import_file(request: ImportRequest, progress: Callable[[int], None] = lambda _: None) -> Imported:
    """Read a file into a recording, which is made when it is not there. `progress`: told how many bytes were read.

    Raises UsageError: nobody reads such a file, or a step is not known; SanpathError when nothing could be read, and
    the recording is then as it was.
    """
    file = ImportedFile(request.file)
    found = registry.result_reader(file.head(), file.name, request.reader)
    if found is None:
        readers = ", ".join(registry.result_readers())
        raise UsageError(f"{file.name}: is no result that sanpath knows; --reader names one of: {readers}")
    spec, reader = found
    known = Recording(request.folder) if _exists(request.folder) else None
    asked = replace(request.placement)
    placement, said = _placement(request, known, lambda: _length_us(file, reader))
    clock = RecorderClock()
    host = re.sub(r"[^A-Za-z0-9_.]", "_", platform.node()) or "host"
    taken = {declaration.name for declaration in known.declarations} if known is not None else set()
    source = _free(request.name or spec.name, taken)
    writer = Writer(request.folder, f"{host}.{clock.anchor_us:x}", compacts=False)
    _refuse_twice(file, known)
    from_host, odd = _host(request.host, known)
    task = Importing(writer, source, clock, placement, from_host, [*said, *odd])
    for item in request.known:
        writer.inventory("config", placement.begins or clock.anchor_us, item)
    result = reader(source)
    try:
        task.run(result, file, progress)
        if known is not None:
            task.remarks += doubts.outside(placement, known, doubts.decides(result.clock, asked))
            task.remarks += doubts.twins(placement, known, spec.name)
        task.warn()
        task.end(request, spec, file, known)
    finally:
        writer.close()
    task.remarks += doubts.idle_options(placement, result.clock, asked)
    return Imported(source, spec.title, task.steps, task.rows, placement.first, placement.last, tuple(task.remarks))


@dataclass
class Importing:
    """One file on its way into a recording. `remarks`: what a person should know; `told`: those that the file
    makes itself. `ends`: of its steps, microseconds."""

    writer: Writer
    source: str
    clock: RecorderClock
    placement: Placement
    host: str | None
    remarks: list[str]
    steps: list[str] = field(default_factory=list)
    told: set[str] = field(default_factory=set)
    ends: list[int] = field(default_factory=list)
    rows: int = 0
    batch: Batch = field(default_factory=Batch)

    def run(self, reader: ResultReader, file: ImportedFile, progress: Callable[[int], None]) -> None:
        """Read all of it."""
        began = self.clock.now_us()
        failure = ""
        try:
            for item in reader.read(file):
                self._take(item, reader.clock)
                progress(file.read_bytes)
        except CollectorError as error:
            if not self.rows and not self.steps:
                raise SanpathError(f"{file.name}: {str(error).removeprefix(f'{file.name}: ')}") from error
            failure = str(error)
            self.remarks.append(f"what follows could not be read: {error}")
        self.write(self.batch.rest())
        self._account(began, file.read_bytes, failure)

    def end(self, request: ImportRequest, spec: Spec, file: ImportedFile, known: Recording | None) -> None:
        """Keep the file with the recording and declare the source: without it nobody looks at its samples."""
        manifest = layout.join(request.folder)
        ended = self.placement.last or self.clock.now_us()
        began = self.placement.first or self.clock.anchor_us
        size = file.path.stat().st_size
        detail: dict[str, Scalar] = {"file": file.name, "collector": spec.name, "rows": self.rows, "bytes": size}
        if size <= _KEPT_BYTES:
            content = file.path.read_bytes()
            store_at(request.folder).put(f"imports/{self.writer.name}/{_plain(file.path.name)}", content)
            detail["sha256"] = hashlib.sha256(content).hexdigest()
        self.writer.event(self.source, Event(ended, "imported", detail))
        header = Header(
            writer=self.writer.name,
            run_id=manifest.run_id,
            tool_version=__version__,
            host=platform.node(),
            started_us=known.started_us if known is not None else began,
            sources=(Declaration(name=self.source, collector=spec.name, every_seconds=1.0, tables=spec.tables),),
        )
        self.writer.header(header)
        self.writer.end(Ending(ended_us=ended, load_exit_code=None, recorder_cpu_seconds=0.0))

    def warn(self) -> None:
        """Keep what is odd about the import with the recording, for each step: a report has to say it as well."""
        for seen in self.ends or [self.placement.first or self.clock.now_us()]:
            for text in dict.fromkeys(self.remarks):
                if text not in self.told:
                    self.writer.event(self.source, warning(seen, "import", text))

    def _take(self, item: Item, clock: ResultClock) -> None:
        placed = self.placement.item(item, clock)
        now = self.placement.first or self.clock.now_us()
        match placed:
            case Rows():
                self.rows += len(placed.entity)
                self.write(self.batch.add(placed))
            case SourceEntity() | SourceLink():
                self.writer.inventory(self.source, now, placed)
                for tie in self._on_host(placed):
                    self.writer.inventory(self.source, now, tie)
            case Event():
                self.writer.event(self.source, placed)
                if placed.name == "step-begin":
                    self.steps.append(str(placed.detail.get("step", "")))
                elif placed.name == "step-end":
                    self.ends.append(placed.seen)
                elif placed.name == "data-warning":
                    self.remarks.append(str(placed.detail.get("text", "")))
                    self.told.add(self.remarks[-1])

    def write(self, samples: Iterable[Rows]) -> None:
        """Take samples that have been placed."""
        for rows in samples:
            try:
                self.writer.samples(self.source, rows)
            except (ValueError, TypeError, OverflowError):
                self._write_singly(rows)
        if self.writer.rows_waiting > _FLUSH_ROWS:
            self.writer.flush()

    def _write_singly(self, samples: Rows) -> None:
        """Leave out those that no counter or clock can hold."""
        left_out = 0
        for rows in single(samples):
            try:
                self.writer.samples(self.source, rows)
            except (ValueError, TypeError, OverflowError):
                left_out += 1
        self.rows -= left_out
        self.remarks.append(f"{left_out} samples of {samples.table.kind} are left out: no such figure or time can be")

    def _on_host(self, item: SourceEntity | SourceLink) -> Iterator[SourceEntity | SourceLink]:
        """A load runs on its host, and a block device is attached to it."""
        if isinstance(item, SourceEntity) and item.kind == "host":
            self.host = None  # The file tells by itself what it is from.
        if self.host is None or not isinstance(item, SourceEntity) or item.kind not in ("load", "lun"):
            return
        if item.kind == "load" and item.local_id != self.source:
            return  # A job belongs to its load.
        relation = "runs_on" if item.kind == "load" else "attached_to"
        yield SourceEntity("host", self.host, self.host, {"name": (self.host,)})
        yield SourceLink(relation, (item.kind, item.local_id), ("host", self.host), "imported from this host")

    def _account(self, began: int, size: int, failure: str) -> None:
        moment = self.placement.first or began
        outcome: Literal["ok", "partial"] = "partial" if failure else "ok"
        why = "unreadable" if failure else ""
        ended = moment + self.clock.now_us() - began
        self.writer.poll(Poll(self.source, moment, moment, ended, outcome, why, failure, self.rows, 1, size))


def _exists(folder: Location) -> bool:
    return store_at(folder).exists() and bool(store_at(folder).list(""))


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number when the recording already has a source of that name."""
    numbers = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(free for free in numbers if free not in taken)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def _placement(
    request: ImportRequest, known: Recording | None, length_us: Callable[[], int | None]
) -> tuple[Placement, list[str]]:
    """Where the file goes, and how sure that is."""
    placement = request.placement
    if request.marks:
        if known is None:
            raise UsageError("--mark names a step of a recording; there is none yet: use --at")
        steps = steps_of(known.events())
        for name in request.marks:
            if name not in steps:
                there = ", ".join(steps) or "none"
                raise UsageError(f"the recording has no step {name!r}; there are: {there}")
        placement.marks = tuple(steps[name][0] for name in request.marks)
        return placement, []
    if placement.begins is not None:
        return placement, []
    if (length := length_us()) is None:
        placement.begins = known.started_us if known is not None else None
        return placement, []
    placement.begins = round(request.file.stat().st_mtime * 1e6) - length
    guess = "its last change is taken for the end of its last load; --mark or --at place it better"
    return placement, [f"the file holds no times: {guess}"]


def _length_us(file: ImportedFile, reader: type[ResultReader]) -> int | None:
    """How long the loads of a file without times took together; None for a file with times."""
    last = 0
    trial = reader("trial")
    try:
        for item in trial.read(file):
            if trial.clock != "elapsed":
                return None
            moments = item.seen if isinstance(item, Rows) else [item.seen] if isinstance(item, Event) else []
            last = max(last, *moments, 0)
    except CollectorError:
        pass  # It is said when the file is read in earnest.
    finally:
        file.read_bytes = 0
    return last if trial.clock == "elapsed" else None


def _host(asked: str | None, known: Recording | None) -> tuple[str | None, list[str]]:
    """The machine the file is from: the one named, or the only one that the recording knows; what is odd about it."""
    things = [item for _, _, item in known.inventory() if isinstance(item, SourceEntity)] if known is not None else []
    hosts = {item.local_id for item in things if item.kind in ("host", "vm")}
    if asked is None:
        only = {item.local_id for item in things if item.kind == "host"}
        return (only.pop() if len(only) == 1 else None), []
    if asked in hosts or not hosts:
        return asked, []
    alike = [host for host in hosts if host.lower() == asked.lower()]
    if len(alike) == 1:
        return alike[0], []
    return asked, [
        f"the recording knows no host {asked}, only {', '.join(sorted(hosts))}: it is joined to nothing else"
    ]


def _refuse_twice(file: ImportedFile, known: Recording | None) -> None:
    """One file in a recording twice would be one load counted twice."""
    digests = {e.detail.get("sha256") for _, e in known.events() if e.name == "imported"} if known is not None else ()
    if file.path.stat().st_size <= _KEPT_BYTES and hashlib.sha256(file.path.read_bytes()).hexdigest() in digests:
        raise UsageError(f"{file.name}: is in the recording already")

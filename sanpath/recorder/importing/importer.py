"""Imports a result file into a recording, finished or growing, as an additional writer."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from sanpath.errors import CollectorError, UsageError
from sanpath.masking import masked_bytes, masked_text
from sanpath.model import Event, Poll, Rows, Scalar, SourceEntity, SourceLink
from sanpath.plugin import Item, ResultClock, ResultReader, Spec, warning
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.files.read_ahead import FLUSH_ROWS, read_ahead, total_read_bytes
from sanpath.recorder.importing.files.recognition import find_reader
from sanpath.recorder.importing.placement import placement_remarks
from sanpath.recorder.importing.placement.day_or_month import DAY_FIRST_REMARK, has_day_first
from sanpath.recorder.importing.placement.placement import Placement
from sanpath.recorder.importing.placement.untimed import place_at_marks, place_untimed
from sanpath.recorder.importing.row_batch import Batch, single_rows
from sanpath.recorder.importing.settings_files import read_described_loads
from sanpath.recorder.importing.target_recording import (
    free_name,
    open_recording,
    source_names,
    sources_of_other_hosts,
    writer_name,
)
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Ending
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import Location, store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.writer import Writer
from sanpath.topology.machine_names import spellings
from sanpath.units import first_of, join_names

_MAX_STORED_BYTES = 64 << 20
"""A file up to this size is stored in the recording."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """A request to import a file.

    `name`: name of the load or source; None: the collector's name. `host`: the machine that the file is from; None:
    the machine that the file names, else the only one of the recording. `marks`: names of the recording's steps that
    correspond to the file's steps. `site_items`: entities and links from the configuration. `follows_file`: the same
    command imported another file before, with the same options. `remarks`: remarks that follow from the command's
    other files. `parts`: other files of the same run, which are read together with this one. `imported`: (folder,
    collector) → the source of the first such file that the same command imported. `settings`: files of the same
    command that only contain settings of this file's loads.
    """

    file: Path
    folder: Location
    reader: str | None = None
    name: str | None = None
    host: str | None = None
    marks: Sequence[str] = ()
    site_items: Sequence[SourceEntity | SourceLink] = ()
    placement: Placement = field(default_factory=Placement)
    follows_file: bool = False
    remarks: Sequence[str] = ()
    parts: Sequence[Path] = ()
    imported: Mapping[tuple[Path, str], str] = field(default_factory=dict)
    settings: Sequence[Path] = ()

    @property
    def files(self) -> Sequence[Path]:
        """All of its files."""
        return (self.file, *self.parts)


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Times are in microseconds; None: the file holds no samples. `remarks` are for people.
    """

    source: str
    collector: str
    title: str
    steps: Sequence[str]
    rows: int
    first: int | None
    last: int | None
    remarks: Sequence[str]


def import_file(request: ImportRequest, progress: Callable[[int], None] = lambda _: None) -> Imported:
    """Import a file into a recording, which is created if needed. `progress` receives the number of bytes read.

    Raises UsageError for a file that no collector reads, one without a result, or an unknown step. Then the recording
    is unchanged.
    """
    files = [ImportedFile(path) for path in request.files]
    spec, reader = find_reader(files[0], request.reader)
    recording = open_recording(request.folder)
    requested = replace(request.placement)
    placement, placing_remarks = request.placement, list[str]()
    if request.marks:
        placement = place_at_marks(placement, request.marks, recording)
    else:
        placement, placing_remarks = place_untimed(
            placement, files, reader, recording, spec.name, request.host, follows_file=request.follows_file
        )
    clock = RecorderClock()
    source = free_name(request.name or spec.name, source_names(recording))
    writer = Writer(request.folder, writer_name(clock), compacts=False)
    for file in files:
        _refuse_duplicate(file, recording, request.host)
    from_host, host_remarks = _resolve_host(request.host, recording)
    remarks = [*request.remarks, *placing_remarks]
    task = FileImport(writer, source, clock, placement, from_host, remarks)
    for item in request.site_items:
        writer.inventory(layout.CONFIG, placement.begins or clock.anchor_us, item)
    result = reader(source if recording is None else _load_name(request, source, spec, reader, recording, files[0]))
    result.versions = _recorded_versions(recording, spec.name)
    result.host = from_host
    result.set_back_us = placement.set_back_us
    result.day_first = has_day_first(placement, files, reader, recording, spec.name)
    remarks += [DAY_FIRST_REMARK] if result.day_first else []
    result.described = read_described_loads(request.settings, reader, result.load)
    try:
        task.run(result, files, progress)
        if recording is not None:
            if not (request.follows_file and {each.collector for each in recording.declarations} == {spec.name}):
                option = placement_remarks.placing_option(result.clock, requested)
                task.remarks += placement_remarks.outside_recording_remarks(placement, recording, spec.name, option)
            task.remarks += placement_remarks.overlap_remarks(
                placement, recording, spec.name, task.hosts, task.targets
            )
        task.remarks += placement_remarks.assumed_zone_remarks(placement, result.clock)
        task.remarks += placement_remarks.repeated_hour_remarks(placement, result.clock)
        task.record_remarks()
        task.end(request, spec, files, recording)
    finally:
        writer.close()
    # These remarks are not recorded: they depend on the recording so far, which another import may change.
    task.remarks += _unread_part_remarks(files, reader)
    task.remarks += [*placement_remarks.unused_option_remarks(placement, result.clock, requested), *host_remarks]
    return Imported(
        source, spec.name, spec.title, task.steps, task.rows, placement.first, placement.last, tuple(task.remarks)
    )


def _load_name(
    request: ImportRequest,
    source: str,
    spec: Spec,
    reader: type[ResultReader],
    recording: Recording,
    file: ImportedFile,
) -> str:
    """Return the name of the file's load: its source, or for a file of settings the source that has the figures."""
    if not reader.has_only_settings(file.head()):
        return source
    others = sources_of_other_hosts(recording, request.host)
    names = [each.name for each in recording.declarations if each.collector == spec.name and each.name not in others]
    return request.imported.get((request.file.parent, spec.name)) or (names[0] if len(names) == 1 else source)


def group_by_run(files: Sequence[Path], named: str | None, uncounted: Collection[Path] = ()) -> list[list[Path]]:
    """Return the files of one command, grouped by run, in the order in which they are read.

    Files that are read with the help of others come last. Files of one folder that are parts of one run form a group;
    so does the only file with the whole run. `named`: the collector that a person named; None: chosen by content.
    `uncounted`: files whose run is counted from another file.
    """
    if len(files) == 1:
        return [list(files)]
    first: list[list[Path]] = []
    last: list[list[Path]] = []
    runs: dict[_RunKey, list[Path]] = {}
    complete: dict[_RunKey, list[list[Path]]] = defaultdict(list)
    for path in dict.fromkeys(files):
        file = ImportedFile(path)
        try:
            spec, reader = find_reader(file, named)
        except UsageError:
            first.append([path])  # The import of the file reports it.
            continue
        part_of = reader.part_of(file.name)
        run = runs.setdefault((path.parent, spec.name, part_of), []) if part_of else []
        if not run:
            is_explained = reader.is_read_last(file.name) or reader.has_ambiguous_dates(file.head())
            (last if is_explained else first).append(run)
        run.append(path)
        if not part_of and path not in uncounted and (run_of_parts := reader.run_of_parts(file.head())):
            complete[path.parent, spec.name, run_of_parts].append(run)
    return _join_parts(first + last, runs, complete)


_RunKey = tuple[Path, str, str]
"""Folder, collector and name of a run."""


def _join_parts(
    groups: Sequence[list[Path]],
    runs: Mapping[_RunKey, list[Path]],
    complete: Mapping[_RunKey, Sequence[list[Path]]],
) -> list[list[Path]]:
    """Return the groups of files, each group of parts joined with the file that has the whole run: the nearest one in
    the folder of the parts or above it.

    If there are two such files, they are of two runs, and it is not known to which of them the parts belong. The same
    holds if several folders have such parts.
    """
    parts_of = defaultdict[_RunKey, list[list[Path]]](list)
    for (folder, collector, run), parts in runs.items():
        keys = [(above, collector, run) for above in (folder, *folder.parents)]
        parts_of[next((key for key in keys if key in complete), keys[0])].append(parts)
    joined = {
        id(parts_of[key][0]): each[0] for key, each in complete.items() if len(each) == 1 and len(parts_of[key]) == 1
    }
    for group in groups:
        if (whole_run := joined.get(id(group))) is not None:
            whole_run += group
    return [group for group in groups if id(group) not in joined]


def _unread_part_remarks(files: Sequence[ImportedFile], reader: type[ResultReader]) -> list[str]:
    """Return a remark if the file's folder contains parts of its run that the command did not name."""
    run = reader.run_of_parts(files[0].head())
    if len(files) > 1 or not run or reader.part_of(files[0].name):
        return []
    try:
        names = sorted(path.name for path in files[0].path.parent.iterdir())
    except OSError:  # The file may be readable although its folder is not.
        return []
    names = [name for name in names if reader.part_of(ImportedFile(Path(name)).name) == run]
    unread = f"{first_of(names, 1)} of this run in the same folder: not read"
    return [f"{unread}; name them in the same command, to have what they add"] if names else []


def _recorded_versions(recording: Recording | None, generator: str) -> frozenset[str]:
    """Return the versions of a generator in a recording."""
    loads = (
        [item.attributes for _, _, item in recording.inventory() if isinstance(item, SourceEntity)]
        if recording
        else []
    )
    found = [load.get("engine_version") for load in loads if load.get("engine") == generator]
    return frozenset(str(version) for version in found if version is not None)


@dataclass
class FileImport:
    """The import of one file.

    `host`: name that a person gave to the machine of the file; it replaces the name in the file. None: nobody did.
    `remarks` are for people; `recorded_remarks`: those that are in the recording already. `ends`: ends of its steps
    in microseconds. `own_host`: the machine that the file names. `hosts`: all machines of the file that are known.
    `targets`: the entities that its loads test.
    """

    writer: Writer
    source: str
    clock: RecorderClock
    placement: Placement
    host: str | None
    remarks: list[str]
    own_host: str | None = None
    steps: list[str] = field(default_factory=list)
    recorded_remarks: set[str] = field(default_factory=set)
    ends: list[int] = field(default_factory=list)
    rows: int = 0
    batch: Batch = field(default_factory=Batch)
    hosts: set[str] = field(default_factory=set)
    targets: set[tuple[str, str]] = field(default_factory=set)

    def run(self, reader: ResultReader, files: Sequence[ImportedFile], progress: Callable[[int], None]) -> None:
        """Read and record the whole file, or all parts of a run."""
        failure = ""
        self.hosts |= {self.host} if self.host is not None else set()
        try:
            for item, clock, count in read_ahead(reader, files):
                # The reader may be ahead of this item. That does no harm: earlier times are not affected.
                self.placement.continues_us = reader.continues_us
                self._record_item(item, clock)
                progress(count)
        except CollectorError as error:
            if not self.rows and not self.steps:
                name = files[0].path.name
                raise UsageError(f"{name}: {str(error).removeprefix(f'{name}: ')}") from error
            failure = str(error)
            self.remarks.append(f"what follows could not be read: {error}")
        if removed_prefix := next((file.removed_prefix for file in files if file.removed_prefix), ""):
            self.remarks.append(f"{removed_prefix!r} in front of its lines was removed")
        self.write(self.batch.remaining())
        self._record_poll(total_read_bytes(files), failure)

    def end(
        self, request: ImportRequest, spec: Spec, files: Sequence[ImportedFile], recording: Recording | None
    ) -> None:
        """Store the files in the recording and declare the source: samples of undeclared sources are ignored."""
        manifest = layout.join(request.folder)
        ended = self.placement.last or self.clock.now_us()
        began = self.placement.first or self.clock.anchor_us
        for file in files:
            size = file.path.stat().st_size
            rows = self.rows if file is files[0] else 0
            detail: dict[str, Scalar] = {"file": file.name, "collector": spec.name, "rows": rows, "bytes": size}
            if size <= _MAX_STORED_BYTES:
                stored = _mask_content(file.path.read_bytes())
                if stored is not None:
                    store_at(request.folder).put(
                        f"imports/{self.writer.name}/{_safe_file_name(file.path.name)}", stored
                    )
                    detail["sha256"] = _digest(file)
            self.writer.event(self.source, Event(ended, "imported", detail))
        declaration = Declaration(name=self.source, collector=spec.name, every_seconds=1.0, tables=spec.tables)
        self.writer.begin(manifest.run_id, began if recording is None else recording.started_us, [declaration])
        self.writer.end(Ending(ended_us=ended, load_exit_code=None, recorder_cpu_seconds=0.0))

    def record_remarks(self) -> None:
        """Record the remarks once for each step, so that reports show them."""
        for time_us in self.ends or [self.placement.first or self.clock.now_us()]:
            for text in dict.fromkeys(self.remarks):
                if text not in self.recorded_remarks:
                    self.writer.event(self.source, warning(time_us, "import", text))

    def _record_item(self, item: Item, clock: ResultClock) -> None:
        placed = self.placement.item(item, clock)
        now = self.placement.first or self.clock.now_us()
        match placed:
            case Rows() if placed.table.kind == "host" and placed.entity == [self.source] and self.own_host is None:
                # The file does not name its machine.
                self.rows += 1
                self.write(self.batch.add(placed if self.host is None else replace(placed, entity=[self.host])))
            case Rows():
                self.rows += len(placed.entity)
                self.write(self.batch.add(placed))
            case SourceEntity() | SourceLink():
                self.writer.inventory(self.source, now, self._rename_host(placed))
                for link in self._host_items(placed):
                    self.writer.inventory(self.source, now, link)
            case Event():
                self.writer.event(self.source, placed)
                if placed.name == "step-begin":
                    self.steps.append(str(placed.detail.get("step", "")))
                elif placed.name == "step-end":
                    self.ends.append(placed.seen)
                elif placed.name == "data-warning":
                    self.remarks.append(str(placed.detail.get("text", "")))
                    self.recorded_remarks.add(self.remarks[-1])

    def write(self, samples: Iterable[Rows]) -> None:
        """Write samples that have been placed."""
        for rows in samples:
            try:
                self.writer.samples(self.source, rows)
            except (ValueError, TypeError, OverflowError):
                self._write_singly(rows)
        if self.writer.rows_waiting > FLUSH_ROWS:
            self.writer.flush()

    def _write_singly(self, samples: Rows) -> None:
        """Write samples one by one and leave out those with values or times out of range."""
        left_out = 0
        for rows in single_rows(samples):
            try:
                self.writer.samples(self.source, rows)
            except (ValueError, TypeError, OverflowError):
                left_out += 1
        self.rows -= left_out
        self.remarks.append(f"{left_out} samples of {samples.table.kind} are left out: impossible figure or time")

    def _rename_host(self, item: SourceEntity | SourceLink) -> SourceEntity | SourceLink:
        """Return the item with the name that a person gave to the file's machine. Notes its hosts and targets."""
        if isinstance(item, SourceLink):
            self.targets |= {item.to_end} if item.relation == "targets" else set()
            return item
        label = item.label or item.local_id
        if item.kind == "host" and self.own_host is None:
            self.own_host = label
        if self.host is None:
            self.hosts |= {label} if item.kind == "host" else set()
            return item
        if item.kind == "host" and label == self.own_host:
            return replace(item, label=self.host, ids={**item.ids, "name": (self.host,)})
        if item.kind == "host":
            text = f"the file has several machines: only the first, {self.own_host}, is called {self.host}"
            self.remarks += [] if text in self.remarks else [text]
        # Some files name their machine only in front of its devices (iostat).
        if item.kind == "lun" and self.own_host is None and label.endswith(f"/{item.local_id}"):
            return replace(item, label=f"{self.host}/{item.local_id}")
        if label.startswith(f"{self.own_host}/"):
            return replace(item, label=f"{self.host}{label.removeprefix(str(self.own_host))}")
        return item

    def _host_items(self, item: SourceEntity | SourceLink) -> Iterator[SourceEntity | SourceLink]:
        """Yield the host and the link of a load or block device to it."""
        if (
            self.host is None
            or self.own_host is not None
            or not isinstance(item, SourceEntity)
            or item.kind not in ("load", "lun")
        ):
            return
        if item.kind == "load" and item.local_id != self.source:
            return  # A job belongs to its load.
        relation = "runs_on" if item.kind == "load" else "attached_to"
        yield SourceEntity("host", self.host, self.host, {"name": (self.host,)})
        yield SourceLink(relation, (item.kind, item.local_id), ("host", self.host), "imported from this host")

    def _record_poll(self, size: int, failure: str) -> None:
        """Record one poll, without duration: the time to read a file says nothing about the device that it comes
        from."""
        read_us = self.placement.first or self.clock.now_us()
        outcome: Literal["ok", "partial"] = "partial" if failure else "ok"
        failure_kind = "unreadable" if failure else ""
        self.writer.poll(
            Poll(self.source, read_us, read_us, read_us, outcome, failure_kind, failure, self.rows, 1, size)
        )


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _mask_content(content: bytes) -> bytes | None:
    """Return a file's content with secrets masked. None: it is compressed or binary, so secrets cannot be found."""
    if content.startswith(_UTF16):
        try:
            return masked_text(content.decode("utf-16")).encode("utf-16")
        except UnicodeDecodeError:
            return None
    return None if b"\0" in content else masked_bytes(content)


def _digest(file: ImportedFile) -> str:
    with file.path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _safe_file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def _resolve_host(requested: str | None, recording: Recording | None) -> tuple[str | None, list[str]]:
    """Return the name of the file's host, as the recording spells it, with remarks. None: nobody named it."""
    if requested is None:
        return None, []
    items = (item for _, _, item in recording.inventory()) if recording is not None else ()
    machines = (item for item in items if isinstance(item, SourceEntity) and item.kind in ("host", "vm"))
    names = sorted({machine.label or machine.local_id for machine in machines})
    name = spellings((*names, requested))[requested.casefold()]
    if name in names or not names:
        return name, []
    known = f"the recording has no host {requested} yet, only {join_names(names)}"
    return requested, [f"{known}: {requested} is another machine from now on"]


def _refuse_duplicate(file: ImportedFile, recording: Recording | None, host: str | None) -> None:
    """Raise UsageError if the recording already has the file: its load would be counted twice.

    `host`: the machine that a person named. Another machine may have an equal file, such as the same parameters.
    """
    imported = [sourced for sourced in recording.events() if sourced[1].name == "imported"] if recording else []
    others = sources_of_other_hosts(recording, host) if recording is not None else set()
    digests = {event.detail.get("sha256") for source, event in imported if source not in others}
    if digests and file.path.stat().st_size <= _MAX_STORED_BYTES and _digest(file) in digests:
        raise UsageError(f"{file.path.name}: is in the recording already")

"""Reads a recording, whether finished, killed or still growing; never writes to it."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import duckdb

from sanpath.catalogue.catalogue import metrics, planes
from sanpath.errors import RecordingError
from sanpath.model import Column, Event, Poll, SourceEntity, SourceLink, Table, plane_of
from sanpath.recording.format import layout, rows, tables
from sanpath.recording.format.compaction import LEFT_OUT
from sanpath.recording.format.documents import Ending
from sanpath.recording.format.integrity import altered, find_changed_segments, find_missing_flushes
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.format.recorder_starts import Start, ended, starts
from sanpath.recording.format.row_budget import oversized_segments, values_in
from sanpath.recording.reading.alignment import STORE_CLOCK, Bounds, ClockOffset, aligned
from sanpath.recording.reading.sample_cache import MAX_VALUES, NUMBERS, CachedSamples, SampleCache
from sanpath.recording.storage.duck import PARQUET, connect, connect_separately, literal, quoted
from sanpath.recording.storage.store import Location, store_at

ResultT = TypeVar("ResultT")

_BATCH_ROWS = 10_000
"""Rows that are Python objects in memory at the same time."""
_FIXED = ("source", "entity", "seen", "device_time", "covers_seconds")
_MAX_ATTEMPTS = 5
"""Maximum listings of the segments: compacted ones may vanish between listing and opening."""


class Shift(NamedTuple):
    """A source's clock minus the recorder's, give or take `uncertainty_us`, and the delay with which its samples were
    stamped, in microseconds. `late_us` None: unknown, the samples are left out."""

    source: str
    ahead_us: int
    late_us: int | None
    uncertainty_us: int = 0


class Recording:
    """One recording folder.

    `unreadable`: files that are left out because they are damaged or foreign. `altered`: documents that were changed
    after they were written; they are read as they are. `starts`: the starts of all writers. With several recorders,
    all times are on the clock of one of them (`alignment`).

    `newest_seconds`: only the newest samples and polls are read, back to `since_us` on the recorder's clock, and an
    event says so; None: all. `sample_cache` caches samples for a caller that reads the recording repeatedly; None:
    nothing is cached, unless the recording is in an object store. `shifts`: corrections to the times of samples,
    None: not determined yet.

    Each table is read once: reading a later state of a growing recording needs another object.
    """

    def __init__(
        self, folder: Location, newest_seconds: float | None = None, sample_cache: SampleCache | None = None
    ) -> None:
        self.folder = folder
        self._store = store_at(folder)
        if sample_cache is None and self._store.files is not None:
            sample_cache = SampleCache(self._store)  # Otherwise each query would request every segment again.
        self._sample_cache = sample_cache
        self._segments: dict[str, list[layout.Segment]] = {}
        self._objects: dict[str, list[Any]] = {}
        self._samples: dict[str, tuple[str, list[str]]] = {}
        self._cached_samples: dict[str, CachedSamples] = {}
        self._has_read_footers = False
        self._polled: dict[int | None, tuple[int, int] | None] = {}
        self.shifts: Sequence[Shift] | None = None
        self.manifest = layout.read_manifest(folder)
        self.unreadable: set[str] = set()
        self.checked = False  # True in a worker process, which is given the names of damaged segments.
        self.starts: Sequence[Start] = starts(self._store, self.unreadable)
        self.unreadable |= find_missing_flushes(self._store, self.starts)
        self.altered: set[str] = altered(self.manifest, self.starts)
        headers = [start.header for start in self.starts]
        self.load_command: list[str] = next((header.load_command for header in headers if header.load_command), [])
        self.writers: int = len(headers)
        self.ended: bool = ended(self.starts)
        # A resumed sweep declares the same sources again.
        self.declarations = list(dict.fromkeys(source for header in headers for source in header.sources))
        self.since_us: int | None = None
        if newest_seconds is not None and (polled := self.polled()) is not None:
            since = polled[1] - round(newest_seconds * 1e6)
            self.since_us = since if since > self.started_us else None

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that can read the segments. The caller closes it.

        Its queries run in the caller's thread: a second thread takes a tenth more processor time, and saved no time
        at 200 to 50,000 ports (measured on two busy cores). Large computations are partitioned.
        """
        if self._sample_cache is not None:
            return self._sample_cache.cursor()
        # Every query and every view reads the footers of all segments: once is enough if no segment is added.
        setup = "SET parquet_metadata_cache = true" if self.ended else ""
        roots, files = self._store.roots(), self._store.files
        return connect(1, roots, setup) if files is None else connect_separately(1, roots, files, setup)

    def cache_samples(self) -> None:
        """Cache the samples of small tables from now on, as long as this object exists: for many queries."""
        if self._sample_cache is None:
            self._sample_cache = SampleCache(self._store, self.connect())
            weakref.finalize(self, self._sample_cache.close)

    def endings(self) -> list[Ending]:
        """Return the ending of each writer that ended normally."""
        return [
            start.ending.model_copy(update={"ended_us": start.ending.ended_us + self.shift_us(start.writer)})
            for start in self.starts
            if start.ending is not None
        ]

    @cached_property
    def started_us(self) -> int:
        """When the first writer began, in microseconds since the epoch."""
        return min((s.header.started_us + self.shift_us(s.writer) for s in self.starts), default=0)

    @cached_property
    def alignment(self) -> Mapping[str, ClockOffset]:
        """Writer → offset of its clock from the recording's clock.

        Empty unless several recorders have written. Writers without a comparison of clocks are missing.
        """
        if sum(bool(start.header.recorder) for start in self.starts) < 2:
            return {}
        compared: dict[str, list[Bounds]] = defaultdict(list)
        query = (
            f"SELECT filename, detail FROM read_parquet($files, filename = true, {PARQUET}) "  # noqa: S608 - ours
            f"WHERE name = {literal(STORE_CLOCK)}"
        )
        for file, detail in self._query_segments("events", query):
            try:
                clock_event = rows.details(detail)
                middle, within = (float(clock_event[f"{name}_seconds"] or 0) for name in ("offset", "uncertainty"))
            except rows.MALFORMED:
                continue  # Reading the events will report it.
            compared[_writer(file)].append((middle - within, middle + within))
        return aligned(self.starts, compared)

    def shift_us(self, writer: str) -> int:
        """Return the microseconds to add to the times of a writer."""
        return self.alignment[writer].shift_us if writer in self.alignment else 0

    @cached_property
    def signs_of_life(self) -> Mapping[str, tuple[int, int]]:
        """Writer → times of its first and last sign of life in microseconds: an event, poll or sample of a load."""
        if len(self.starts) == 1:
            polled = self.polled()
            return {} if polled is None else {self.starts[0].writer: polled}
        signs: dict[str, tuple[int, int]] = {}
        for table in ("events", "polls", "samples/load"):
            for writer, began, until in self._query_time_limits(table):
                before = signs.get(writer, (began, until))
                signs[writer] = min(began, before[0]), max(until, before[1])
        return signs

    def _query_time_limits(self, table: str) -> list[tuple[str, int, int]]:
        """Return the writer of each segment of a table, and the limits of its times in microseconds."""
        first, last = ("started", "ended") if table == "polls" else ("seen", "seen")
        files = f"read_parquet($files, union_by_name = true, filename = true, {PARQUET})"
        possible = f"WHERE {first} >= {rows.EARLIEST_US} AND {last} BETWEEN {rows.EARLIEST_US} AND {rows.LATEST_US}"
        query = f"SELECT filename, min({first}), max({last}) FROM {files} {possible} GROUP BY filename"  # noqa: S608 - ours
        limits = [(_writer(file), *limits) for file, *limits in self._query_segments(table, query)]
        return [
            (writer, began + self.shift_us(writer), until + self.shift_us(writer)) for writer, began, until in limits
        ]

    def _query_segments(self, table: str, query: str) -> list[Any]:
        """Return the rows of a query over the `$files` of a table, with times as they were written.

        The first column is the `filename`. Segments do not change: those of the last reading are not read again."""

        def fetch(urls: list[str]) -> list[Any]:
            rows_by_segment = self.remembered(query, None, dict[str, list[Any]])  # The last table grows, too.
            new = [url for url in urls if _file_name(url) not in rows_by_segment]
            if new:
                with closing(self.connect()) as connection:
                    fetched = connection.execute(query, {"files": new}).fetchall()
                rows_by_segment |= {_file_name(url): [] for url in new}
                for row in fetched:
                    rows_by_segment[_file_name(row[0])].append(row)
            return [row for url in urls for row in rows_by_segment[_file_name(url)]]

        return self._read_segments(table, fetch, [])

    def sample_kinds(self) -> list[str]:
        """Return the entity kinds that have samples."""
        return layout.sample_kinds(self._store)

    def columns(self, kind: str) -> dict[str, dict[str, Column]]:
        """Return source → metric → column as the source declared it, for one entity kind."""
        columns: dict[str, dict[str, Column]] = {}
        for declaration in self.declarations:
            for table in declaration.tables:
                if table.kind == kind:
                    # Names go into SQL: only those of the catalogue are used, whatever a recording declares.
                    known_columns = {
                        column.metric: column for column in table.columns if column.metric in metrics().get(kind, {})
                    }
                    columns.setdefault(declaration.name, {}).update(known_columns)
        return columns

    def planes(self, kind: str) -> dict[str, str | None]:
        """Return source → plane of its latencies, for one entity kind. None: no plane, or an unknown one."""
        declared: dict[str, list[Table]] = {}
        for declaration in self.declarations:
            declared.setdefault(declaration.name, []).extend(t for t in declaration.tables if t.kind == kind)
        found = {source: plane_of(all_tables) for source, all_tables in declared.items() if all_tables}
        return {source: plane if plane in planes() else None for source, plane in found.items()}

    def view(self, connection: duckdb.DuckDBPyConnection, kind: str) -> list[str]:
        """Create the view `samples_<kind>` of `samples`. Returns its metrics, [] without samples."""
        samples, metric_names = self.samples(kind)
        if metric_names:
            view = quoted(f"samples_{kind}")
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {samples}")  # noqa: S608 - quoted
        return metric_names

    def samples(self, kind: str) -> tuple[str, list[str]]:
        """Return SQL of the samples of a kind, for a connection of `connect`, and their metrics. Both may be empty.

        It reads the current segments and is valid for at least a minute, as long as a writer retains compacted
        segments.
        """
        if kind not in self._samples:
            nothing: tuple[str, list[str]] = "", []
            self._samples[kind] = self._read_segments(f"samples/{kind}", partial(self._select, kind), nothing)
        return self._samples[kind]

    def cached(self, kind: str) -> CachedSamples | None:
        """Return the samples of a kind, also those before `since_us`. None: there are too many for memory."""
        self.samples(kind)
        return self._cached_samples.get(kind)

    def _select(self, kind: str, urls: list[str]) -> tuple[str, list[str]]:
        """Return SQL of the samples of some segments, and their metrics."""
        first = rows.EARLIEST_US if self.since_us is None else self.since_us
        cached = self._cached(kind, first)
        segments = self._sql_of(urls, ("seen",))
        if cached is not None:
            self._cached_samples[kind], described = cached, cached.types
        else:
            with closing(self.connect()) as connection:
                described_rows = connection.execute(f"DESCRIBE SELECT * FROM {segments}").fetchall()  # noqa: S608 - quoted
            described = {name: str(column_type) for name, column_type, *_ in described_rows}
        selected = [
            name
            for name, column_type in described.items()
            if name in _FIXED or (column_type in NUMBERS and name in metrics().get(kind, {}))
        ]
        since = f"WHERE seen BETWEEN {first} AND {rows.LATEST_US}"
        samples = f"(SELECT {', '.join(map(quoted, selected))} FROM {segments} {since})"  # noqa: S608 - quoted
        return samples, [name for name in selected if name not in _FIXED]

    def _cached(self, kind: str, since_us: int) -> CachedSamples | None:
        """Return the cached samples of the segments of a kind.

        None: the segments themselves have to be read, for example because the times of a recorder are shifted.
        """
        segments = self._segments_of(f"samples/{kind}")
        if self._sample_cache is None or any(self.shift_us(segment.writer) for segment in segments):
            return None
        if self.since_us is None:
            with closing(self.connect()) as connection:
                if values_in(connection, self._store, [segment.name for segment in segments]) > MAX_VALUES:
                    return None
        return self._sample_cache.fill(kind, segments, since_us, [*_FIXED, *metrics().get(kind, {})])

    def inventory(self) -> list[tuple[str, int, SourceEntity | SourceLink]]:
        """Return (source, seen, entity or link) in the order in which they were seen.

        Entries that a source repeated without a change are left out.
        """
        return self._rows("inventory", rows.parse_inventory_row)

    def events(self) -> list[tuple[str, Event]]:
        """Return (source, event) by time, without the comparisons of recorders' clocks (see `alignment`)."""

        def place_event(row: dict[str, Any]) -> tuple[str, Event]:
            event = rows.event(row)
            shift, offset = self.shift_us(_writer(row["filename"])), event.detail.get("offset_seconds")
            if event.name == "clock" and shift and isinstance(offset, int | float):
                # The offset was measured against the clock of the writer's own recorder.
                event = replace(event, detail={**event.detail, "offset_seconds": offset - shift / 1e6})
            return row["source"], event

        events = [(source, event) for source, event in self._rows("events", place_event) if event.name != STORE_CLOCK]
        if self.since_us is not None:
            events.append((RECORDER, Event(self.since_us, LEFT_OUT, {"before": self.since_us})))
            events.sort(key=lambda sourced: sourced[1].seen)
        return events

    def polls(self) -> list[Poll]:
        """Return the record of every poll, by time."""
        if "polls" not in self._objects:
            self._objects["polls"] = self._read_segments("polls", self._read_polls, [])
        return self._objects["polls"]

    def _read_polls(self, urls: list[str]) -> list[Poll]:
        """Return the polls of segments by time. Segments do not change: those of the last reading are not read again.

        An hour has ten thousand polls, and the last flush a dozen."""
        # Both grow from one reading to the next.
        polls_by_segment = self.remembered("polls of segments", self.alignment, dict[str, list[Poll]])
        unreadable = self.remembered("remarks on polls", self.alignment, set[str])
        for name in polls_by_segment.keys() - set(map(_file_name, urls)):
            del polls_by_segment[name]
        new = [url for url in urls if _file_name(url) not in polls_by_segment]
        if new:
            condition = "" if self.since_us is None else f"ended >= {self.since_us}"
            segments = self._sql_of(new, tables.TIMES["polls"], tables.IN_ORDER)
            query = tables.rows("polls", segments, condition, with_file=True)
            added, remarks = self._parse_rows("polls", query, lambda row: (row.pop("filename"), rows.poll(row)))
            unreadable |= remarks
            polls_by_segment |= {_file_name(url): [] for url in new}
            for url, poll in added:
                polls_by_segment[_file_name(url)].append(poll)
        self.unreadable |= unreadable
        polls = [poll for url in sorted(urls) for poll in polls_by_segment[_file_name(url)]]
        if self.since_us is not None:
            polls = [poll for poll in polls if poll.ended >= self.since_us]
        return sorted(polls, key=lambda poll: poll.started)

    def _sql_of(self, urls: Sequence[str], times: Sequence[str], options: str = "union_by_name = true") -> str:
        """Return SQL for the rows of segments, with the columns `times` on the recording's clock.

        Most recordings have a single clock. Then nothing is added, so that DuckDB can use the files' statistics.
        """
        by_shift: dict[int, list[str]] = defaultdict(list)
        for url in urls:
            by_shift[self.shift_us(_writer(url))].append(literal(url))
        selects = []
        for shift, files in by_shift.items():
            read = f"read_parquet([{', '.join(files)}], {options}, {PARQUET})"
            shifted = ", ".join(f"{name} + {shift} AS {name}" for name in times)
            selects.append(f"(SELECT * REPLACE ({shifted}) FROM {read})" if shift else read)  # noqa: S608 - ours
        if len(selects) == 1:
            return selects[0]
        return "(" + " UNION ALL BY NAME ".join(f"SELECT * FROM {select}" for select in selects) + ")"  # noqa: S608 - ours

    def _rows(self, table: str, parse: Callable[[dict[str, Any]], ResultT]) -> list[ResultT]:
        """Return the result of `parse` for each row of a table, in order. A table is read once."""

        def fetch(urls: list[str]) -> list[ResultT]:
            segments = self._sql_of(urls, tables.TIMES[table], tables.IN_ORDER)
            query = tables.rows(table, segments, with_file=table == "events")
            objects, unreadable = self.remembered(
                table, (query, self.alignment), lambda: self._parse_rows(table, query, parse)
            )
            self.unreadable |= unreadable
            return objects

        if table not in self._objects:
            self._objects[table] = self._read_segments(table, fetch, [])
        return self._objects[table]

    def _parse_rows(
        self, table: str, query: str, parse: Callable[[dict[str, Any]], ResultT]
    ) -> tuple[list[ResultT], set[str]]:
        """Return the result of `parse` for each row of a query, and remarks on rows that are left out."""
        results: list[ResultT] = []
        unreadable: set[str] = set()
        with closing(self.connect()) as connection:
            cursor = connection.execute(query)
            names = [column[0] for column in cursor.description or []]
            row_count = 0  # A day has a million polls, which must not be in memory as rows and as objects at once.
            while batch := cursor.fetchmany(_BATCH_ROWS):
                if (row_count := row_count + len(batch)) > rows.MAX_ROWS[table]:
                    unreadable.add(f"{table} (more rows than {rows.MAX_ROWS[table]:,})")
                    break
                for row in batch:
                    try:
                        results.append(parse(dict(zip(names, row, strict=True))))
                    except rows.PartlyMalformedError as error:
                        results.append(error.result)
                        unreadable.add(f"{table} ({error.part} of some rows)")
                    except rows.MALFORMED:
                        unreadable.add(f"{table} (some of its rows)")
        return results, unreadable

    def state(self) -> object:
        """Return a value that changes whenever the recording does: equal states give equal results."""
        segments = {table: tuple(self._segments_of(table)) for table in self._tables()}
        return self.manifest, tuple(self.starts), segments, frozenset(self.unreadable)

    def _tables(self) -> list[str]:
        """Return the names of all tables."""
        return [*tables.TIMES, *(f"samples/{kind}" for kind in self.sample_kinds())]

    def remembered(self, name: str, key: object, compute: Callable[[], ResultT]) -> ResultT:
        """Return the result of a computation, or the previous result from the sample cache if it has the same key.
        `key`: everything that the result depends on. The result must not be changed."""
        return compute() if self._sample_cache is None else self._sample_cache.remembered(name, key, compute)

    def polled(self) -> tuple[int, int] | None:
        """Return when the first poll began and the last one ended, in microseconds. None: there is no poll."""

        def fetch(urls: list[str]) -> tuple[int, int] | None:
            condition = f"WHERE started >= {rows.EARLIEST_US} AND ended BETWEEN {self.since_us} AND {rows.LATEST_US}"
            segments = self._sql_of(urls, tables.TIMES["polls"])
            query = f"SELECT min(started), max(ended) FROM {segments} {condition}"  # noqa: S608 - ours
            with closing(self.connect()) as connection:
                began, ended = connection.execute(query).fetchall()[0]
                return None if ended is None else (began, ended)

        if self.since_us not in self._polled:
            if self.since_us is None:
                limits = self._query_time_limits("polls")
                polled = limits and (min(began for _, began, _ in limits), max(until for *_, until in limits))
                self._polled[None] = polled or None
            else:
                self._polled[self.since_us] = self._read_segments("polls", fetch, None)
        return self._polled[self.since_us]

    def _read_segments(self, table: str, read: Callable[[list[str]], ResultT], empty: ResultT) -> ResultT:
        """Read the segments of a table together; list them again if some vanish, and leave out damaged ones.

        Raises RecordingError if the table cannot be read.
        """
        for _ in range(_MAX_ATTEMPTS):
            names = [segment.name for segment in self._segments_of(table)]
            if not names:
                return empty
            try:
                return read([self._store.url(name) for name in names])
            except duckdb.Error as error:
                failure = error
            del self._segments[table]
            existing = {f"{table}/{name}" for name in self._store.list(table)}
            if existing.issuperset(names) and not self._find_unreadable(names):
                break
        raise RecordingError(f"{self.folder}: {table} cannot be read: {str(failure).splitlines()[0]}") from failure

    def _segments_of(self, table: str) -> list[layout.Segment]:
        """Return the intact segments of a table, listed once per reading, so that all queries see the same state."""
        if table not in self._segments:
            # Events are written before samples: listing them later would miss the step marks of some I/O.
            for kind in self.sample_kinds() if table == "events" else ():
                self._segments_of(f"samples/{kind}")
            self._segments[table] = self._intact_segments(table)
        return self._segments[table]

    def _intact_segments(self, table: str) -> list[layout.Segment]:
        """Return the segments of a table, without those that are left out."""
        self.unreadable |= set(layout.foreign(self._store, table))
        listed = [segment for segment in layout.segments(self._store, table) if segment.name not in self.unreadable]
        if self.checked:
            return listed
        damaged = find_changed_segments(self._store, listed, self.starts)
        damaged |= self._oversized(table, [segment.name for segment in listed if segment.name not in damaged])
        self.unreadable |= damaged
        return [segment for segment in listed if segment.name not in damaged]

    def _oversized(self, table: str, names: list[str]) -> set[str]:
        """Return the segments with far more content than their file size suggests."""
        with closing(self.connect()) as connection:
            if not self._has_read_footers:
                self._has_read_footers = True
                # One query for all tables: a query costs more than the footers that it reads.
                listed = [segment for table in self._tables() for segment in layout.segments(self._store, table)]
                damaged = find_changed_segments(self._store, listed, self.starts)
                values_in(connection, self._store, sorted({segment.name for segment in listed} - damaged))
            return oversized_segments(connection, self._store, table, names)

    def _find_unreadable(self, names: list[str]) -> bool:
        """Add the damaged segments among these to `unreadable`. Returns whether any is damaged."""
        damaged = set()
        with closing(self.connect()) as connection:
            for name in names:
                try:
                    # Every column is read: a segment may be damaged although its footer is intact.
                    query = f"SELECT source, * FROM read_parquet($file, {PARQUET})"  # noqa: S608 - ours
                    cursor = connection.execute(query, {"file": self._store.url(name)})
                    while cursor.fetchmany(_BATCH_ROWS):
                        pass
                except duckdb.Error:
                    damaged.add(name)
        self.unreadable |= damaged
        return bool(damaged)


def _file_name(url: str) -> str:
    """Return the last part of the URL of a segment file."""
    return url.rpartition("/")[2]


def _writer(url: str) -> str:
    """Return the writer of a segment file."""
    return _file_name(url).partition("-")[0]

"""Reads a recording, finished, killed or still growing; never writes to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import duckdb

from sanpath.catalogue.load import metrics
from sanpath.errors import RecordingError
from sanpath.model import Column, Event, Poll, SourceEntity, SourceLink
from sanpath.recording.format import layout, rows, tables
from sanpath.recording.format.compaction import LEFT_OUT
from sanpath.recording.format.documents import Ending
from sanpath.recording.format.integrity import altered, gone, not_as_written
from sanpath.recording.format.layout import RECORDER
from sanpath.recording.format.row_budget import too_much
from sanpath.recording.format.writers import Start, ended, starts
from sanpath.recording.reading.alignment import STORE_CLOCK, Aligned, Bounds, aligned
from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.duck import PARQUET, connect, literal, quoted, separate
from sanpath.recording.storage.store import Location, store_at

T = TypeVar("T")

_ROWS = 10_000
_FIXED = ("source", "entity", "seen", "device_time", "covers_seconds")
NUMBERS = frozenset(f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "", "BIG", "HUGE")) | {
    "INTEGER",
    "UINTEGER",
    "FLOAT",
    "DOUBLE",
    "BOOLEAN",
}
"""Types of DuckDB that a metric may have. What else a column is called or holds is nobody's sample."""
_ATTEMPTS = 5
"""Segments may vanish between listing and opening when they have been compacted: list again."""


class Recording:
    """One recording folder. `unreadable` names files in it that were left out because they are damaged or foreign;
    `altered` documents that were changed after they were written, and are taken as they are. `starts` is who has
    written. Of several recorders, every time is by the clock of one of them (`alignment`).

    `newest_seconds`: of samples and polls only the newest are read, back to `since_us` on the recorder's clock, and
    an event says so. None: all. `held`: what is kept of it between two readings, by whoever reads it again and again;
    None: nothing is.
    """

    def __init__(
        self, folder: Location, newest_seconds: float | None = None, held: SampleCache | None = None
    ) -> None:
        self.folder = folder
        self._held = held
        self._columns_held: dict[str, dict[str, str] | None] = {}
        self.manifest = layout.read_manifest(folder)
        self.unreadable: set[str] = set()
        self.checked = False  # Whoever computes parts of it is told which segments are damaged.
        self._store = store_at(folder)
        self.starts: Sequence[Start] = starts(self._store, self.unreadable)
        self.unreadable |= gone(self._store, self.starts)
        self.altered: set[str] = altered(self.manifest, self.starts)
        headers = [start.header for start in self.starts]
        self.load_command: list[str] = next((h.load_command for h in headers if h.load_command), [])
        self.writers: int = len(headers)
        self.ended: bool = ended(self.starts)
        # A resumed sweep declares the same sources once more.
        self.declarations = list(dict.fromkeys(source for h in headers for source in h.sources))
        self.since_us: int | None = None
        if newest_seconds is not None and (polled := self.polled()) is not None:
            since = polled[1] - round(newest_seconds * 1e6)
            self.since_us = since if since > self.started_us else None

    def connect(self, threads: int = 2) -> duckdb.DuckDBPyConnection:
        """A connection that can read the segments. Close it."""
        if self._held is not None:
            return self._held.cursor()
        # Every query, and every view, reads the ends of all segments: once, where none is to come any more.
        setup = "SET parquet_metadata_cache = true" if self.ended else ""
        roots, files = self._store.roots(), self._store.files
        return connect(threads, roots, setup) if files is None else separate(threads, roots, files, setup)

    def endings(self) -> list[Ending]:
        """One for each writer that ended as it should."""
        return [
            start.ending.model_copy(update={"ended_us": start.ending.ended_us + self.shift_us(start.writer)})
            for start in self.starts
            if start.ending is not None
        ]

    @cached_property
    def started_us(self) -> int:
        """When the first writer began, microseconds since the epoch."""
        return min((s.header.started_us + self.shift_us(s.writer) for s in self.starts), default=0)

    @cached_property
    def alignment(self) -> Mapping[str, Aligned]:
        """Writer → by how much its clock differs from that by which the recording is read, where several recorders
        have written; those that cannot be told are missing."""
        if sum(bool(start.header.recorder) for start in self.starts) < 2:
            return {}
        compared: dict[str, list[Bounds]] = defaultdict(list)
        query = (
            f"SELECT filename, detail FROM read_parquet($files, filename = true, {PARQUET}) "  # noqa: S608 - ours
            f"WHERE name = {literal(STORE_CLOCK)}"
        )
        for file, detail in self._asked("events", query):
            try:
                told = rows.details(detail)
                middle, within = float(told["offset_seconds"] or 0), float(told["uncertainty_seconds"] or 0)
            except rows.MALFORMED:
                continue  # It is named when the events are read.
            compared[_writer(file)].append((middle - within, middle + within))
        return aligned(self.starts, compared)

    def shift_us(self, writer: str) -> int:
        """What is added to the times of a writer, microseconds."""
        return self.alignment[writer].shift_us if writer in self.alignment else 0

    @cached_property
    def signs(self) -> Mapping[str, tuple[int, int]]:
        """Writer → when it first and last gave a sign of life: an event, a poll, a sample of a load."""
        if len(self.starts) == 1:
            polled = self.polled()
            return {} if polled is None else {self.starts[0].writer: polled}
        found: dict[str, tuple[int, int]] = {}
        for table, first, last in (
            ("events", "seen", "seen"),
            ("polls", "started", "ended"),
            ("samples/load", "seen", "seen"),
        ):
            files = f"read_parquet($files, union_by_name = true, filename = true, {PARQUET})"
            possible = f"WHERE {first} >= {rows.EARLIEST_US} AND {last} <= {rows.LATEST_US}"
            query = f"SELECT filename, min({first}), max({last}) FROM {files} {possible} GROUP BY filename"  # noqa: S608 - ours
            for file, began, until in self._asked(table, query):
                writer = _writer(file)
                shift = self.shift_us(writer)
                before = found.get(writer, (began + shift, until + shift))
                found[writer] = min(began + shift, before[0]), max(until + shift, before[1])
        return found

    def _asked(self, table: str, query: str) -> list[Any]:
        """Rows of a query over the `$files` of a table, with times as they were written."""

        def fetch(urls: list[str]) -> list[Any]:
            connection = self.connect()
            try:
                return connection.execute(query, {"files": urls}).fetchall()
            finally:
                connection.close()

        return self._over_segments(table, fetch, [])

    def sample_kinds(self) -> list[str]:
        """Entity kinds that have samples."""
        return layout.sample_kinds(self._store)

    def columns(self, kind: str) -> dict[str, dict[str, Column]]:
        """Source → metric → how that source declared it, for one entity kind."""
        found: dict[str, dict[str, Column]] = {}
        for declaration in self.declarations:
            for table in declaration.tables:
                if table.kind == kind:
                    # A name goes into SQL: only those that the catalogue knows, whatever a recording says.
                    known = {c.metric: c for c in table.columns if c.metric in metrics().get(kind, {})}
                    found.setdefault(declaration.name, {}).update(known)
        return found

    def planes(self, kind: str) -> dict[str, str | None]:
        """Source → plane of its latencies for one entity kind."""
        return {d.name: t.plane for d in self.declarations for t in d.tables if t.kind == kind}

    def view(self, connection: duckdb.DuckDBPyConnection, kind: str) -> list[str]:
        """Make the view `samples_<kind>` over the samples of a kind, in a connection of `connect`. Returns its
        metrics, [] without samples.

        The view reads the segments that are there now, whenever it is asked: it is good for at least a minute, as
        long as a writer keeps what it has compacted. Make it anew to see what came since.
        """

        def make(urls: list[str]) -> list[str]:
            first = rows.EARLIEST_US if self.since_us is None else self.since_us
            since = f" WHERE seen BETWEEN {first} AND {rows.LATEST_US}"
            described = self._held_columns(kind, urls, first)
            segments = quoted(f"held_{kind}") if described is not None else self._segments(urls, ("seen",))
            if described is None:
                rows_of = connection.execute(f"DESCRIBE SELECT * FROM {segments}").fetchall()  # noqa: S608 - quoted
                described = {name: form for name, form, *_ in rows_of}
            told = {n for n, form in described.items() if form in NUMBERS and n in metrics().get(kind, {})}
            there = [name for name in described if name in told or name in _FIXED]
            connection.execute(
                f"CREATE OR REPLACE TEMP VIEW {quoted(f'samples_{kind}')} AS "  # noqa: S608 - quoted
                f"SELECT {', '.join(map(quoted, there))} FROM {segments}{since}"
            )
            return [name for name in there if name in told]

        return self._over_segments(f"samples/{kind}", make, [])

    def _held_columns(self, kind: str, urls: Sequence[str], since_us: int) -> dict[str, str] | None:
        """Columns of the table that holds these segments, with their types. None: it has to be read from them, as
        where the clocks of several recorders move against each other."""
        if self._held is None or any(map(self.shift_us, {_writer(url) for url in urls})):
            return None
        if kind not in self._columns_held:  # Once a reading: it is of one moment.
            names = {url.rpartition("/")[2] for url in urls}
            there = layout.segments(self._store, f"samples/{kind}")
            wanted = [segment for segment in there if segment.name.rpartition("/")[2] in names]
            self._columns_held[kind] = self._held.fill(kind, wanted, since_us)
        return self._columns_held[kind]

    def inventory(self) -> list[tuple[str, int, SourceEntity | SourceLink]]:
        """(source, seen, thing or link), in the order they were seen; what was told anew without a change is left
        out."""
        return self._rows("inventory", rows.entity_or_link)

    def events(self) -> list[tuple[str, Event]]:
        """(source, event), by time; without the comparisons of recorders' clocks that `alignment` is made of."""

        def told(row: dict[str, Any]) -> tuple[str, Event]:
            event = rows.event(row)
            shift, offset = self.shift_us(_writer(row["filename"])), event.detail.get("offset_seconds")
            if event.name == "clock" and shift and isinstance(offset, int | float):
                # It was told against the clock of its own recorder.
                event = replace(event, detail={**event.detail, "offset_seconds": offset - shift / 1e6})
            return row["source"], event

        found = [(source, event) for source, event in self._rows("events", told) if event.name != STORE_CLOCK]
        if self.since_us is not None:
            found.append((RECORDER, Event(self.since_us, LEFT_OUT, {"before": self.since_us})))
            found.sort(key=lambda told: told[1].seen)
        return found

    def polls(self) -> list[Poll]:
        """The account of every poll, by time."""
        return self._rows("polls", rows.poll, "ended")

    def _segments(self, urls: Sequence[str], times: Sequence[str], options: str = "union_by_name = true") -> str:
        """SQL of what segments hold, with these columns by the clock of the recording. Most recordings have one:
        then nothing is added, and statistics of the files tell what to read."""
        by_shift: dict[int, list[str]] = defaultdict(list)
        for url in urls:
            by_shift[self.shift_us(_writer(url))].append(literal(url))
        parts = []
        for shift, files in by_shift.items():
            read = f"read_parquet([{', '.join(files)}], {options}, {PARQUET})"
            moved = ", ".join(f"{name} + {shift} AS {name}" for name in times)
            parts.append(f"(SELECT * REPLACE ({moved}) FROM {read})" if shift else read)  # noqa: S608 - ours
        if len(parts) == 1:
            return parts[0]
        return "(" + " UNION ALL BY NAME ".join(f"SELECT * FROM {part}" for part in parts) + ")"  # noqa: S608 - ours

    def _rows(self, table: str, make: Callable[[dict[str, Any]], T], moment: str = "") -> list[T]:
        """What is made of each row of a table in order. `moment`: the column by which old ones are left out."""

        def fetch(urls: list[str]) -> list[T]:
            connection = self.connect()
            try:
                condition = f"{moment} >= {self.since_us}" if moment and self.since_us is not None else ""
                segments = self._segments(urls, tables.TIMES[table], tables.IN_ORDER)
                cursor = connection.execute(tables.rows(table, segments, condition, with_file=table == "events"))
                names = [column[0] for column in cursor.description or []]
                found: list[T] = []
                # A day has a million polls: they are never there as rows and as objects at once.
                taken = 0
                while some := cursor.fetchmany(_ROWS):
                    if (taken := taken + len(some)) > rows.MOST[table]:
                        self.unreadable.add(f"{table} (more rows than {rows.MOST[table]:,})")
                        break
                    for row in some:
                        try:
                            found.append(make(dict(zip(names, row, strict=True))))
                        except rows.MALFORMED:
                            self.unreadable.add(f"{table} (some of its rows)")
                return found
            finally:
                connection.close()

        return self._over_segments(table, fetch, [])

    def polled(self) -> tuple[int, int] | None:
        """When the first poll began and the last one ended, microseconds. None: there is none."""

        def fetch(urls: list[str]) -> tuple[int, int] | None:
            connection = self.connect()
            try:
                first = rows.EARLIEST_US if self.since_us is None else self.since_us
                condition = f"WHERE started >= {rows.EARLIEST_US} AND ended BETWEEN {first} AND {rows.LATEST_US}"
                segments = self._segments(urls, tables.TIMES["polls"])
                query = f"SELECT min(started), max(ended) FROM {segments} {condition}"  # noqa: S608 - ours
                first, last = connection.execute(query).fetchall()[0]
                return None if last is None else (first, last)
            finally:
                connection.close()

        return self._over_segments("polls", fetch, None)

    def _over_segments(self, table: str, read: Callable[[list[str]], T], empty: T) -> T:
        """Read the segments of a table together; list again when some vanish, leave out what is damaged.

        Raises RecordingError when that does not help.
        """
        for _ in range(_ATTEMPTS):
            self.unreadable |= set(layout.foreign(self._store, table))
            listed = [segment.name for segment in layout.segments(self._store, table)]
            names = [name for name in listed if name not in self.unreadable]
            if not self.checked:
                broken = not_as_written(self._store, names)
                broken |= self._too_much(table, [name for name in names if name not in broken])
                self.unreadable |= broken
                names = [name for name in names if name not in broken]
            if not names:
                return empty
            try:
                return read([self._store.url(name) for name in names])
            except duckdb.Error as error:
                failure = error
            there = {f"{table}/{name}" for name in self._store.list(table)}
            if there.issuperset(names) and not self._find_unreadable(names):
                break
        raise RecordingError(f"{self.folder}: {table} cannot be read: {str(failure).splitlines()[0]}") from failure

    def _too_much(self, table: str, names: list[str]) -> set[str]:
        """Which of these segments hold far more than their size lets expect."""
        with closing(self.connect()) as connection:
            return too_much(connection, self._store, table, names)

    def _find_unreadable(self, names: list[str]) -> bool:
        """Note which of these segments are damaged. Returns whether any is."""
        damaged = set()
        connection = self.connect()
        try:
            for name in names:
                try:
                    # Every column is read: a segment may be damaged inside with its end intact.
                    query = f"SELECT source, * FROM read_parquet($file, {PARQUET})"  # noqa: S608 - ours
                    cursor = connection.execute(query, {"file": self._store.url(name)})
                    while cursor.fetchmany(_ROWS):
                        pass
                except duckdb.Error:
                    damaged.add(name)
        finally:
            connection.close()
        self.unreadable |= damaged
        return bool(damaged)


def _writer(file: str) -> str:
    """Whose segment a file is."""
    return file.rpartition("/")[2].partition("-")[0]

"""Reads a recording, finished, killed or still growing; never writes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import duckdb

from sanpath.errors import RecordingError
from sanpath.model import Column, Event, Poll, Scalar, Thing, Tie
from sanpath.recording import layout, tables
from sanpath.recording.compact import LEFT_OUT
from sanpath.recording.documents import Document, Ending, Header
from sanpath.recording.duck import connect
from sanpath.recording.layout import RECORDER
from sanpath.recording.store import Location, store_at

T = TypeVar("T")
D = TypeVar("D", bound=Document)

_ROWS = 10_000
_ATTEMPTS = 5
"""Segments may vanish between listing and opening when they have been compacted: list again."""


@lru_cache
def _attributes(text: str) -> Mapping[str, Scalar]:
    """Of a thing; those of many ports are the same."""
    told: dict[str, Scalar] = json.loads(text)
    return told


class Recording:
    """One recording folder. `unreadable` names files in it that were left out because they are damaged or foreign.

    `newest_seconds`: of samples and polls only the newest are read, back to `since_us` on the recorder's clock, and
    an event says so. None: all.
    """

    def __init__(self, folder: Location, newest_seconds: float | None = None) -> None:
        self.folder = folder
        self.manifest = layout.read_manifest(folder)
        self.unreadable: set[str] = set()
        self._store = store_at(folder)
        said = [f"writers/{name}" for name in self._store.list("writers") if name.endswith(".json")]
        headers = self._said([name for name in said if not name.endswith(".end.json")], Header)
        self.load_command: list[str] = next((h.load_command for h in headers if h.load_command), [])
        self.started_us: int = min((h.started_us for h in headers), default=0)
        self.writers: int = len(headers)
        # A resumed sweep declares the same sources once more.
        self.declarations = list(dict.fromkeys(source for h in headers for source in h.sources))
        self.since_us: int | None = None
        if newest_seconds is not None and (polled := self.polled()) is not None:
            since = polled[1] - round(newest_seconds * 1e6)
            self.since_us = since if since > self.started_us else None

    def endings(self) -> list[Ending]:
        """One for each writer that ended as it should."""
        ended = [f"writers/{name}" for name in self._store.list("writers") if name.endswith(".end.json")]
        return self._said(ended, Ending)

    def sample_kinds(self) -> list[str]:
        """Entity kinds that have samples."""
        return layout.sample_kinds(self._store)

    def columns(self, kind: str) -> dict[str, dict[str, Column]]:
        """Source → metric → how that source declared it, for one entity kind."""
        found: dict[str, dict[str, Column]] = {}
        for declaration in self.declarations:
            for table in declaration.tables:
                if table.kind == kind:
                    found.setdefault(declaration.name, {}).update({c.metric: c for c in table.columns})
        return found

    def planes(self, kind: str) -> dict[str, str | None]:
        """Source → plane of its latencies for one entity kind."""
        return {d.name: t.plane for d in self.declarations for t in d.tables if t.kind == kind}

    def view(self, connection: duckdb.DuckDBPyConnection, kind: str) -> list[str]:
        """Make the view `samples_<kind>` over the samples of a kind. Returns its metrics, [] without samples.

        The view reads the segments that are there now, whenever it is asked: it is good for at least a minute, as
        long as a writer keeps what it has compacted. Make it anew to see what came since.
        """
        self._store.lend(connection)

        def make(urls: list[str]) -> list[str]:
            files = ", ".join("'" + url.replace("'", "''") + "'" for url in urls)
            since = f" WHERE seen >= {self.since_us}" if self.since_us is not None else ""
            connection.execute(
                f'CREATE OR REPLACE TEMP VIEW "samples_{kind}" AS '  # noqa: S608 - our own file names, quoted
                f"SELECT * FROM read_parquet([{files}], union_by_name = true){since}"
            )
            described = connection.execute(f'DESCRIBE "samples_{kind}"').fetchall()
            fixed = {"source", "entity", "seen", "device_time", "covers_seconds"}
            return [name for name, *_ in described if name not in fixed]

        return self._over_segments(f"samples/{kind}", make, [])

    def inventory(self) -> list[tuple[str, int, Thing | Tie]]:
        """(source, seen, thing or link), in the order they were seen; what was told anew without a change is left
        out."""

        def told(row: dict[str, Any]) -> tuple[str, int, Thing | Tie]:
            if row["kind"] is not None:
                ids = {key: tuple(values) for key, values in json.loads(row["ids"]).items()}
                thing = Thing(row["kind"], row["local_id"], row["label"], ids, _attributes(row["attributes"]))
                return row["source"], row["seen"], thing
            ends = (row["from_kind"], row["from_id"]), (row["to_kind"], row["to_id"])
            return row["source"], row["seen"], Tie(row["relation"], *ends, row["evidence"])

        return self._rows("inventory", told)

    def events(self) -> list[tuple[str, Event]]:
        """(source, event), by time."""
        found = self._rows("events", lambda r: (r["source"], Event(r["seen"], r["name"], json.loads(r["detail"]))))
        if self.since_us is not None:
            found.append((RECORDER, Event(self.since_us, LEFT_OUT, {"before": self.since_us})))
            found.sort(key=lambda told: told[1].seen)
        return found

    def polls(self) -> list[Poll]:
        """The account of every poll, by time."""
        return self._rows("polls", lambda row: Poll(**row), "ended")

    def _rows(self, table: str, make: Callable[[dict[str, Any]], T], moment: str = "") -> list[T]:
        """What is made of each row of a table in order. `moment`: the column by which old ones are left out."""

        def fetch(urls: list[str]) -> list[T]:
            connection = connect()
            try:
                self._store.lend(connection)
                condition = f"{moment} >= {self.since_us}" if moment and self.since_us is not None else ""
                cursor = connection.execute(tables.rows(table, "$files", condition), {"files": urls})
                names = [column[0] for column in cursor.description or []]
                found: list[T] = []
                # A day has a million polls: they are never there as rows and as objects at once.
                while some := cursor.fetchmany(_ROWS):
                    found += [make(dict(zip(names, row, strict=True))) for row in some]
                return found
            finally:
                connection.close()

        return self._over_segments(table, fetch, [])

    def polled(self) -> tuple[int, int] | None:
        """When the first poll began and the last one ended, microseconds. None: there is none."""

        def fetch(urls: list[str]) -> tuple[int, int] | None:
            connection = connect()
            try:
                self._store.lend(connection)
                condition = f"WHERE ended >= {self.since_us}" if self.since_us is not None else ""
                query = f"SELECT min(started), max(ended) FROM read_parquet($files) {condition}"  # noqa: S608 - a number
                first, last = connection.execute(query, {"files": urls}).fetchall()[0]
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

    def _find_unreadable(self, names: list[str]) -> bool:
        """Note which of these segments are damaged. Returns whether any is."""
        damaged = set()
        connection = connect()
        try:
            self._store.lend(connection)
            for name in names:
                try:
                    # Every column is read: a segment may be damaged inside with its end intact.
                    query = "SELECT source, * FROM read_parquet($file)"
                    connection.execute(query, {"file": self._store.url(name)}).fetchall()
                except duckdb.Error:
                    damaged.add(name)
        finally:
            connection.close()
        self.unreadable |= damaged
        return bool(damaged)

    def _said(self, names: Iterable[str], form: type[D]) -> list[D]:
        """What writers said, in the order of their names."""
        found = []
        for name in sorted(names):
            try:
                found.append(form.model_validate_json(self._store.read(name)))
            except (OSError, ValueError):
                self.unreadable.add(name)
        return found

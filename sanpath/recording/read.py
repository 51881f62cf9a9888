"""Reads a recording, finished, killed or still growing; never writes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from pydantic import TypeAdapter

from sanpath.model import Column, Event, Poll, Table, Thing, Tie
from sanpath.recording import layout
from sanpath.recording.duck import connect

T = TypeVar("T")

_ATTEMPTS = 5
"""Segments may vanish between listing and opening while they are compacted: list again."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a writer said about a source at its start."""

    name: str
    collector: str
    every_seconds: float
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a writer ended; a writer without one was killed or is still writing."""

    ended_us: int
    load_exit_code: int | None
    recorder_cpu_seconds: float


@dataclass(frozen=True, slots=True)
class _Header:
    """What a writer said at its start."""

    started_us: int
    load_command: list[str] = field(default_factory=list)
    sources: tuple[Declaration, ...] = ()


_HEADER, _ENDING = TypeAdapter(_Header), TypeAdapter(Ending)


class Recording:
    """One recording folder. `unreadable` names files in it that were left out because they are damaged or foreign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = layout.read_manifest(folder)
        self.unreadable: set[str] = set()
        started = [path for path in (folder / "writers").glob("*.json") if not path.name.endswith(".end.json")]
        headers = self._said(started, _HEADER)
        self.load_command: list[str] = next((h.load_command for h in headers if h.load_command), [])
        self.started_us: int = min((h.started_us for h in headers), default=0)
        self.writers: int = len(headers)
        self.declarations = [source for h in headers for source in h.sources]

    def endings(self) -> list[Ending]:
        """One for each writer that ended as it should."""
        return self._said((self.folder / "writers").glob("*.end.json"), _ENDING)

    def sample_kinds(self) -> list[str]:
        """Entity kinds that have samples."""
        return layout.sample_kinds(self.folder)

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
        """Make the view `samples_<kind>` over the samples of a kind. Returns its metrics, [] without samples."""

        def make(paths: list[str]) -> list[str]:
            files = ", ".join("'" + p.replace("'", "''") + "'" for p in paths)
            connection.execute(
                f'CREATE OR REPLACE TEMP VIEW "samples_{kind}" AS '  # noqa: S608 - our own file names, quoted
                f"SELECT * FROM read_parquet([{files}], union_by_name = true)"
            )
            described = connection.execute(f'DESCRIBE "samples_{kind}"').fetchall()
            fixed = {"source", "entity", "seen", "device_time", "covers_seconds"}
            return [name for name, *_ in described if name not in fixed]

        return self._over_segments(f"samples/{kind}", make, [])

    def inventory(self) -> list[tuple[str, int, Thing | Tie]]:
        """(source, seen, thing or link), in the order they were seen."""
        found: list[tuple[str, int, Thing | Tie]] = []
        for row in self._rows("inventory", "seen"):
            if row["kind"] is not None:
                ids = {key: tuple(values) for key, values in json.loads(row["ids"]).items()}
                thing = Thing(row["kind"], row["local_id"], row["label"], ids, json.loads(row["attributes"]))
                found.append((row["source"], row["seen"], thing))
            else:
                ends = (row["from_kind"], row["from_id"]), (row["to_kind"], row["to_id"])
                found.append((row["source"], row["seen"], Tie(row["relation"], *ends, row["evidence"])))
        return found

    def events(self) -> list[tuple[str, Event]]:
        """(source, event), by time."""
        rows = self._rows("events", "seen")
        return [(r["source"], Event(r["seen"], r["name"], json.loads(r["detail"]))) for r in rows]

    def polls(self) -> list[Poll]:
        """The account of every poll, by time."""
        return [Poll(**row) for row in self._rows("polls", "started")]

    def _rows(self, table: str, order: str) -> list[dict[str, Any]]:
        def fetch(paths: list[str]) -> list[dict[str, Any]]:
            connection = connect()
            try:
                cursor = connection.execute(
                    f"SELECT * FROM read_parquet($files, union_by_name = true) ORDER BY {order}",  # noqa: S608 - a constant
                    {"files": paths},
                )
                names = [column[0] for column in cursor.description or []]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            finally:
                connection.close()

        return self._over_segments(table, fetch, [])

    def _over_segments(self, table: str, read: Callable[[list[str]], T], empty: T) -> T:
        """Read the segments of a table together; list again when some vanish, leave out what is damaged."""
        for _ in range(_ATTEMPTS):
            self.unreadable |= {self._named(path) for path in layout.foreign(self.folder, table)}
            segments = layout.segments(self.folder, table)
            paths = [str(s.path) for s in segments if self._named(s.path) not in self.unreadable]
            if not paths:
                return empty
            try:
                return read(paths)
            except duckdb.Error:
                self._find_unreadable([path for path in paths if Path(path).exists()])
        return empty

    def _find_unreadable(self, paths: list[str]) -> None:
        connection = connect()
        try:
            for path in paths:
                try:
                    # Every column is read: a segment may be damaged inside with its end intact.
                    connection.execute("SELECT source, * FROM read_parquet($file)", {"file": path}).fetchall()
                except duckdb.Error:
                    self.unreadable.add(self._named(Path(path)))
        finally:
            connection.close()

    def _named(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _said(self, paths: Iterable[Path], form: TypeAdapter[T]) -> list[T]:
        """What writers said, in the order of their names."""
        found = []
        for path in sorted(paths):
            try:
                found.append(form.validate_json(path.read_bytes()))
            except (OSError, ValueError):
                self.unreadable.add(self._named(path))
        return found

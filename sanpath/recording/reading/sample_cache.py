"""The samples of a recording that grows, kept in memory between two looks: each segment is read once.

A query over some dozen segments opens every one of them each time, and that costs more than what it asks. Held
samples are the same rows under the same names; what asks for them does not know the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from sanpath.recording.format.layout import Segment
from sanpath.recording.storage.duck import PARQUET, literal, quoted, separate
from sanpath.recording.storage.store import Store

MOST_VALUES = 1_500_000
"""Rows times columns of a kind that are held. Of more, the statistics of compacted segments find what is asked for
faster than a search through all of it (5,000 ports, 30 polls, measured): they are read each time."""


@dataclass(slots=True)
class _Table:
    """`read`: the segments whose rows are in it; `columns`: name → type."""

    columns: dict[str, str]
    read: set[Segment] = field(default_factory=set)
    rows: int = 0


class SampleCache:
    """The samples of one recording, for one reader after the other."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = separate(2, store.roots(), store.files)
        self._tables: dict[str, _Table] = {}
        self._too_large: set[str] = set()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection that sees what is held, and can read the recording's files. Close it."""
        return self._database.cursor()

    def close(self) -> None:
        """Let go of everything."""
        self._database.close()

    def fill(self, kind: str, segments: Sequence[Segment], since_us: int) -> dict[str, str] | None:
        """Have all samples of these segments from a moment on, reading those that are new. Returns the columns of the
        table `held_<kind>` with their types, None: there is too much of it. Raises duckdb.Error for a damaged one."""
        if kind in self._too_large:
            return None
        table = self._tables.get(kind)
        new = [segment for segment in segments if table is None or not _is_held(segment, table.read)]
        if table is None or not self._goes_on(table, segments, new):
            table = self._anew(kind, segments)
        elif new:
            self._add(kind, table, new)
        table.read = set(segments)
        name = quoted(f"held_{kind}")
        if table.rows * len(table.columns) > MOST_VALUES:
            self._database.execute(f"DELETE FROM {name} WHERE seen < {since_us}")  # noqa: S608 - quoted, and a number
            ((table.rows,),) = self._database.execute(f"SELECT count(*) FROM {name}").fetchall()  # noqa: S608 - quoted
        if table.rows * len(table.columns) > MOST_VALUES:
            self._too_large.add(kind)
            self._drop(kind)
            return None
        return table.columns

    def _goes_on(self, table: _Table, segments: Sequence[Segment], new: Sequence[Segment]) -> bool:
        """Whether what is held and what is new are all there is, each row once."""
        still = all(any(_holds(there, known) for there in segments) for known in table.read)
        apart = not any(_holds(segment, known) for segment in new for known in table.read)
        return still and apart and all(self._columns([s]).items() <= table.columns.items() for s in new)

    def _columns(self, segments: Sequence[Segment]) -> dict[str, str]:
        described = self._database.execute(f"DESCRIBE SELECT * FROM {self._files(segments)}").fetchall()  # noqa: S608 - quoted
        return {name: form for name, form, *_ in described}

    def _anew(self, kind: str, segments: Sequence[Segment]) -> _Table:
        self._drop(kind)
        name, files = quoted(f"held_{kind}"), self._files(segments)
        ((rows,),) = self._database.execute(f"CREATE TABLE {name} AS SELECT * FROM {files}").fetchall()  # noqa: S608 - quoted
        table = self._tables[kind] = _Table(self._columns(segments), rows=rows)
        return table

    def _add(self, kind: str, table: _Table, new: Sequence[Segment]) -> None:
        name = quoted(f"held_{kind}")
        added = f"INSERT INTO {name} BY NAME SELECT * FROM {self._files(new)}"  # noqa: S608 - quoted
        ((rows,),) = self._database.execute(added).fetchall()
        table.rows += rows

    def _drop(self, kind: str) -> None:
        self._tables.pop(kind, None)
        self._database.execute(f"DROP TABLE IF EXISTS {quoted(f'held_{kind}')}")

    def _files(self, segments: Sequence[Segment]) -> str:
        urls = ", ".join(literal(self._store.url(segment.name)) for segment in segments)
        return f"read_parquet([{urls}], union_by_name = true, {PARQUET})"


def _holds(wide: Segment, narrow: Segment) -> bool:
    """Whether all flushes of one segment are in another."""
    return wide.writer == narrow.writer and wide.first <= narrow.first and narrow.last <= wide.last


def _is_held(segment: Segment, read: set[Segment]) -> bool:
    """Whether every flush of a segment was read in others: it is what has become of them, compacted."""
    if segment in read:
        return True
    inside = sorted(known.first for known in read if _holds(segment, known))
    lasts = sorted(known.last for known in read if _holds(segment, known))
    return bool(inside) and inside[0] == segment.first and lasts[-1] == segment.last

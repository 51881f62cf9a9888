"""How many rows and bytes the segments of a table may hold, by the size of their files.

A Parquet file of some kilobytes can hold millions of equal rows, of which a reader makes an object each, or a text of
gigabytes. Rows that a recorder writes differ, were it only by their times. Of segments that were compacted a poll
took 6.8 bytes (3.4 where every one takes equally long), an event 15 (4.1 where all say the same), an entry of the
inventory 8, a sample of counters that stand still 0.33; what they hold was 1.1 to 5.2 times as large as the files
(measured).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from sanpath.recording.storage.store import Store

FEW_ROWS, FEW_BYTES = 30_000, 32 << 20
"""Of a table: as many may be in files of any size. So many events take some 60 MB when they are read."""
_ROWS_PER_BYTE = 0.5
_SAMPLES_PER_BYTE = 10.0
_PLAIN_PER_BYTE = 50.0
_OBJECT_BYTES = 500
"""Of a row; it only says which of several files is the worst."""
_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class _Content:
    """Of some files: `plain_bytes` is what they hold when it is decompressed."""

    rows: int
    file_bytes: int
    plain_bytes: int

    def without(self, other: _Content) -> _Content:
        return _Content(
            self.rows - other.rows, self.file_bytes - other.file_bytes, self.plain_bytes - other.plain_bytes
        )

    def fits(self, rows_per_byte: float) -> bool:
        few = self.rows <= max(FEW_ROWS, rows_per_byte * self.file_bytes)
        return few and self.plain_bytes <= max(FEW_BYTES, _PLAIN_PER_BYTE * self.file_bytes)

    def memory_per_byte(self) -> float:
        return (self.rows * _OBJECT_BYTES + self.plain_bytes) / self.file_bytes


_known: dict[tuple[str, object], _Content] = {}
"""(file, its state) → what it holds. A live view asks every second, of a day's segments."""


def too_much(connection: duckdb.DuckDBPyConnection, store: Store, table: str, names: Sequence[str]) -> set[str]:
    """Segments without which the others of a table hold no more than their size lets expect; those that hold the
    most a byte. One whose footer cannot be read is none: whoever reads it finds out why."""
    contents = {name: one for name in names if (one := _content(connection, store, name)) is not None}
    kept = _Content(
        sum(one.rows for one in contents.values()),
        sum(one.file_bytes for one in contents.values()),
        sum(one.plain_bytes for one in contents.values()),
    )
    rows_per_byte = _SAMPLES_PER_BYTE if table.startswith("samples/") else _ROWS_PER_BYTE
    found: set[str] = set()
    for name in sorted(contents, key=lambda name: contents[name].memory_per_byte(), reverse=True):
        if kept.fits(rows_per_byte):
            break
        found.add(name)
        kept = kept.without(contents[name])
    return found


def _content(connection: duckdb.DuckDBPyConnection, store: Store, name: str) -> _Content | None:
    """As its footer says. None: it cannot be read."""
    key = (store.url(name), store.state(name))
    if key not in _known:
        try:
            # What is read of a file are its row groups: the number of rows of the whole file is only told.
            [(rows, plain)] = connection.execute(
                "SELECT sum(row_group_num_rows) FILTER (column_id = 0), sum(total_uncompressed_size) "
                "FROM parquet_metadata($file)",
                {"file": key[0]},
            ).fetchall()
            [(size,)] = connection.execute(
                "SELECT file_size_bytes FROM parquet_file_metadata($file)", {"file": key[0]}
            ).fetchall()
        except duckdb.Error:
            return None
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = _Content(int(rows or 0), int(size), int(plain or 0))
    return _known[key]

"""Limits the rows and bytes in the segments of a table by the size of their files.

A Parquet file of some kilobytes can hold millions of equal rows, each of which becomes an object in the reader, or a
text of gigabytes. Rows that a recorder writes differ at least in their times. Measured in compacted segments: a poll
takes 6.8 bytes (3.4 if all take equally long), an event 15 (4.1 if all have the same text), an inventory entry 8, a
sample of counters that do not move 0.33. Their uncompressed content was 1.1 to 5.2 times as large as the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import duckdb

from sanpath.recording.storage.store import Store

FEW_ROWS, FEW_BYTES = 30_000, 32 << 20
"""Rows and bytes that a table may always have, whatever its file size. This many events take some 60 MB in memory."""
_ROWS_PER_BYTE = 0.5
_SAMPLES_PER_BYTE = 10.0
_PLAIN_BYTES_PER_BYTE = 50.0
"""Limits for each byte of the files: a multiple of what was measured (see above)."""
_OBJECT_BYTES = 500
"""Memory of a row as an object; used only to rank files."""
_CACHE_ENTRIES = 100_000
"""Files whose content is kept in memory."""


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of files. `values`: rows times columns. `plain_bytes`: its size when uncompressed."""

    rows: int
    values: int
    file_bytes: int
    plain_bytes: int

    def without(self, removed: _Content) -> _Content:
        return _Content(
            self.rows - removed.rows,
            self.values - removed.values,
            self.file_bytes - removed.file_bytes,
            self.plain_bytes - removed.plain_bytes,
        )

    def fits(self, rows_per_byte: float) -> bool:
        few = self.rows <= max(FEW_ROWS, rows_per_byte * self.file_bytes)
        return few and self.plain_bytes <= max(FEW_BYTES, _PLAIN_BYTES_PER_BYTE * self.file_bytes)

    def memory_per_byte(self) -> float:
        return (self.rows * _OBJECT_BYTES + self.plain_bytes) / self.file_bytes


_contents: dict[tuple[str, object], _Content] = {}
"""(URL, file state) → content. A live view checks a day's segments every second."""


def oversized_segments(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, names: Sequence[str]
) -> set[str]:
    """Return the segments to leave out so that the remaining ones of a table fit the budget.

    Those with the most content per byte of file are left out first. A segment with an unreadable footer is not among
    them: reading it will report the reason.
    """
    contents = _contents_of(connection, store, names)
    total = _Content(
        sum(content.rows for content in contents.values()),
        sum(content.values for content in contents.values()),
        sum(content.file_bytes for content in contents.values()),
        sum(content.plain_bytes for content in contents.values()),
    )
    rows_per_byte = _SAMPLES_PER_BYTE if table.startswith("samples/") else _ROWS_PER_BYTE
    oversized: set[str] = set()
    for name in sorted(contents, key=lambda name: contents[name].memory_per_byte(), reverse=True):
        if total.fits(rows_per_byte):
            break
        oversized.add(name)
        total = total.without(contents[name])
    return oversized


def values_in(connection: duckdb.DuckDBPyConnection, store: Store, names: Sequence[str]) -> int:
    """Return the number of values (rows times columns) of segments, without those whose footer cannot be read."""
    return sum(content.values for content in _contents_of(connection, store, names).values())


def _contents_of(connection: duckdb.DuckDBPyConnection, store: Store, names: Sequence[str]) -> dict[str, _Content]:
    """Return name → content, without files whose footer cannot be read."""
    keys = {name: (store.url(name), store.state(name)) for name in names}
    if len(_contents) + len(keys) >= _CACHE_ENTRIES:
        _contents.clear()
    new = {url: (url, state) for url, state in keys.values() if (url, state) not in _contents}
    if new:
        try:
            read = _footers(connection, list(new))
        except duckdb.Error:
            read = {}
            for url in new:  # One of them is damaged.
                with suppress(duckdb.Error):
                    read |= _footers(connection, [url])
        _contents.update({new[url]: content for url, content in read.items()})
    return {name: _contents[key] for name, key in keys.items() if key in _contents}


def _footers(connection: duckdb.DuckDBPyConnection, urls: Sequence[str]) -> dict[str, _Content]:
    """Return URL → content according to the footers of files. Raises duckdb.Error if one cannot be read."""
    files = {"files": list(urls)}
    # Readers use row groups; the total number of rows in the footer may be false.
    # A row group has the same number of values in each column.
    metadata = connection.execute(
        "SELECT file_name, sum(row_group_num_rows) // (max(column_id) + 1), sum(row_group_num_rows), "
        "sum(total_uncompressed_size) "
        "FROM parquet_metadata($files) GROUP BY file_name",
        files,
    ).fetchall()
    sizes = connection.execute("SELECT file_name, file_size_bytes FROM parquet_file_metadata($files)", files)
    content = {url: (int(rows or 0), int(values or 0), int(plain or 0)) for url, rows, values, plain in metadata}
    return {
        url: _Content(rows, values, int(size), plain)
        for url, size in sizes.fetchall()
        for rows, values, plain in [content.get(url, (0, 0, 0))]
    }

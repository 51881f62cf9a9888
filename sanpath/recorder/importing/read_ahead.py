"""Reads a file in a thread of its own, while what was read before is being written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sanpath.errors import CollectorError
from sanpath.model import Rows
from sanpath.plugin import Item, ResultClock, ResultReader
from sanpath.recorder.importing.file import ImportedFile

FLUSH_ROWS = 120_000
"""Rows of a segment, and of what is read while a segment is being written."""
_ITEMS = 64
"""Items that are read meanwhile, if they are small."""

_KEPT_BYTES = 16 << 20

ReadItem = tuple[Item, ResultClock, int]
"""An item, with the clock of its times and the number of bytes that were read for it."""


def read_ahead(reader: ResultReader, files: Sequence[ImportedFile]) -> Iterator[ReadItem]:
    """Yield the items of the files that are parts of one run. Raises CollectorError like the reader, after all items
    that come before it."""
    _keep_freed_memory()
    items = ((item, reader.clock, read_bytes(files)) for item in reader.read_parts(files))
    with ThreadPoolExecutor(1, thread_name_prefix="reader") as thread:
        reading = thread.submit(_group, items)
        while True:
            group, error = reading.result()
            if group and error is None:
                reading = thread.submit(_group, items)
            yield from group
            if error is not None:
                raise error
            if not group:
                return


def read_bytes(files: Sequence[ImportedFile]) -> int:
    """Return how many bytes of the files were read."""
    return sum(file.read_bytes for file in files)


def _keep_freed_memory() -> None:
    """Have the C library keep the memory of arrays for the next ones.

    By default glibc returns that of large ones to the system, which clears it page by page for the next ones: a
    quarter of the time of an import. After glibc has freed a large array, it keeps the memory of arrays of up to that
    size.
    """
    np.empty(_KEPT_BYTES, np.uint8)


def _group(items: Iterator[ReadItem]) -> tuple[list[ReadItem], CollectorError | None]:
    """Return the next items, none at the end, and the error that came after them."""
    group: list[ReadItem] = []
    rows = 0
    try:
        for read in items:
            group.append(read)
            rows += len(read[0].entity) if isinstance(read[0], Rows) else 0
            if rows >= FLUSH_ROWS or len(group) == _ITEMS:
                break
    except CollectorError as error:
        return group, error
    return group, None

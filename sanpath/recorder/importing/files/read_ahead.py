"""Reads a file in a thread, while the items read before are being written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sanpath.errors import CollectorError
from sanpath.model import Rows
from sanpath.plugin import Item, ResultClock, ResultReader
from sanpath.recorder.importing.files.imported_file import ImportedFile

FLUSH_ROWS = 120_000
"""Rows of a segment, and of the group that is read while a segment is being written."""
_GROUP_ITEMS = 64
"""Largest number of items in a group."""

_KEPT_BYTES = 16 << 20

ReadItem = tuple[Item, ResultClock, int]
"""An item, the clock of its times, and the number of bytes read so far."""


def read_ahead(reader: ResultReader, files: Sequence[ImportedFile]) -> Iterator[ReadItem]:
    """Yield the items of files that are parts of one run. An error of the reader (CollectorError) is raised after all
    items before it were yielded."""
    _keep_freed_memory()
    items = ((item, reader.clock, total_read_bytes(files)) for item in reader.read_parts(files))
    with ThreadPoolExecutor(1, thread_name_prefix="reader") as thread:
        reading = thread.submit(_read_group, items)
        while True:
            group, error = reading.result()
            if group and error is None:
                reading = thread.submit(_read_group, items)
            yield from group
            if error is not None:
                raise error
            if not group:
                return


def total_read_bytes(files: Sequence[ImportedFile]) -> int:
    """Return how many bytes of all files were read."""
    return sum(file.read_bytes for file in files)


def _keep_freed_memory() -> None:
    """Make the C library keep freed memory, so that the next arrays can reuse it.

    By default glibc returns the memory of large arrays to the system, which clears every page again for the next
    array: that took a quarter of an import's time. Once a large array was freed, glibc keeps the memory of arrays up
    to its size (M_MMAP_THRESHOLD in mallopt(3) is dynamic).
    """
    np.empty(_KEPT_BYTES, np.uint8)


def _read_group(items: Iterator[ReadItem]) -> tuple[list[ReadItem], CollectorError | None]:
    """Return the next items, and the error after them, if any. No items and no error: the end."""
    group: list[ReadItem] = []
    rows = 0
    try:
        for read in items:
            group.append(read)
            rows += len(read[0].entity) if isinstance(read[0], Rows) else 0
            if rows >= FLUSH_ROWS or len(group) == _GROUP_ITEMS:
                break
    except CollectorError as error:
        return group, error
    return group, None

"""Finds the reader of a result file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sanpath import registry
from sanpath.errors import CollectorError, UsageError
from sanpath.plugin import ResultReader, Spec
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.files.unread_files import describe_unread_file


@dataclass(frozen=True, slots=True)
class _Version:
    """A file with its size and modification time: a cached result is valid as long as they are unchanged."""

    path: Path
    size: int
    changed_ns: int


def find_reader(file: ImportedFile, named: str | None) -> tuple[Spec, type[ResultReader]]:
    """Return the collector that reads a file, and its reader. Raises UsageError if there is none.

    `named`: the collector that a person named; None: chosen by the file's content.
    """
    try:
        status = file.path.stat()
    except OSError as error:
        raise UsageError(f"{file.path}: {error.strerror}") from error
    match, refusal = _find_reader(_Version(file.path, status.st_size, status.st_mtime_ns), named)
    if match is None:
        raise UsageError(refusal)
    return match


@lru_cache(maxsize=4096)
def _find_reader(version: _Version, named: str | None) -> tuple[tuple[Spec, type[ResultReader]] | None, str]:
    """Return the collector and its reader, or None and the reason. Cached, because it is called several times for
    each of the hundreds of files of an archive."""
    path, file = version.path, ImportedFile(version.path)
    try:
        head = file.head()
    except CollectorError as error:
        return None, str(error)
    if (match := registry.result_reader(head, file.name, named)) is not None:
        return match, ""
    if not head:
        return None, f"{path.name}: is empty"
    if (what := describe_unread_file(head, file.name)) is not None:
        return None, f"{path.name}: {what}"
    readers = ", ".join(registry.result_readers())
    return None, (
        f"{path.name}: is not a result that sanpath knows; name its --reader, one of: {readers}; or enter its "
        "figures by hand (sanpath collectors show figures)"
    )

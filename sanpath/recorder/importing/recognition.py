"""Finds the reader of a result file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sanpath import registry
from sanpath.errors import CollectorError, UsageError
from sanpath.plugin import ResultReader, Spec
from sanpath.recorder.importing.file import ImportedFile
from sanpath.recorder.importing.other_files import other_file


@dataclass(frozen=True, slots=True)
class _Version:
    """A file as it is now."""

    path: Path
    size: int
    changed_ns: int


def recognised(file: ImportedFile, named: str | None) -> tuple[Spec, type[ResultReader]]:
    """Return the collector that reads a file, and its reader: the named one, else by the file's content.

    Raises UsageError: none reads it.
    """
    try:
        status = file.path.stat()
    except OSError as error:
        raise UsageError(f"{file.path}: {error.strerror}") from error
    match, refusal = _recognised(_Version(file.path, status.st_size, status.st_mtime_ns), named)
    if match is None:
        raise UsageError(refusal)
    return match


@lru_cache(maxsize=4096)
def _recognised(version: _Version, named: str | None) -> tuple[tuple[Spec, type[ResultReader]] | None, str]:
    """Return the collector and its reader, or the reason of a refusal. Of an archive of hundreds of files, each is
    asked for several times."""
    path, file = version.path, ImportedFile(version.path)
    try:
        head = file.head()
    except CollectorError as error:
        return None, str(error)
    if (match := registry.result_reader(head, file.name, named)) is not None:
        return match, ""
    if not head:
        return None, f"{path.name}: is empty"
    if (what := other_file(head, file.name)) is not None:
        return None, f"{path.name}: {what}"
    readers = ", ".join(registry.result_readers())
    return None, (
        f"{path.name}: is not a result that sanpath knows; name its --reader, one of: {readers}; or enter its "
        "figures by hand (sanpath collectors show figures)"
    )

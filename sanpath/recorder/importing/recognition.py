"""Finds the reader of a result file."""

from __future__ import annotations

from sanpath import registry
from sanpath.errors import CollectorError, UsageError
from sanpath.plugin import ResultReader, Spec
from sanpath.recorder.importing.file import ImportedFile
from sanpath.recorder.importing.other_files import other_file


def recognised(file: ImportedFile, named: str | None) -> tuple[Spec, type[ResultReader]]:
    """Return the collector that reads a file, and its reader: the named one, else by the file's content.

    Raises UsageError: none reads it.
    """
    try:
        head = file.head()
    except CollectorError as error:
        raise UsageError(str(error)) from error
    if (match := registry.result_reader(head, file.name, named)) is not None:
        return match
    if not head:
        raise UsageError(f"{file.path.name}: is empty")
    if (what := other_file(head, file.name)) is not None:
        raise UsageError(f"{file.path.name}: {what}")
    readers = ", ".join(registry.result_readers())
    raise UsageError(
        f"{file.path.name}: is not a result that sanpath knows; name its --reader, one of: {readers}; or enter its "
        "figures by hand (sanpath collectors show figures)"
    )

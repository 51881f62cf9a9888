"""Files that contain only settings of loads. Other files of the same command contain the figures of these loads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from sanpath.errors import CollectorError, UsageError
from sanpath.model import Scalar, SourceEntity
from sanpath.plugin import ResultReader
from sanpath.recorder.importing.files.imported_file import ImportedFile
from sanpath.recorder.importing.files.recognition import find_reader


def find_settings_files(files: Sequence[Path], named: str | None) -> Mapping[Path, Sequence[Path]]:
    """Return file of figures → the files of settings of the same tool in its folder. `named`: the collector that a
    person named; None: chosen by content."""
    figures: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    settings: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in dict.fromkeys(files) if len(files) > 1 else ():
        file = ImportedFile(path)
        try:
            spec, reader = find_reader(file, named)
            of_kind = settings if reader.has_only_settings(file.head()) else figures
        except (CollectorError, UsageError):
            continue  # The import of the file reports it.
        of_kind[path.parent, spec.name].append(path)
    return {path: settings[key] for key, paths in figures.items() if key in settings for path in paths}


def read_described_loads(
    settings: Sequence[Path], reader: type[ResultReader], load: str
) -> Mapping[str, Mapping[str, Scalar]]:
    """Return local id → attributes of the loads that files of settings describe. `load`: the name of their load."""
    found: dict[str, Mapping[str, Scalar]] = {}
    for path in settings:
        try:
            for item in reader(load).read(ImportedFile(path)):
                if isinstance(item, SourceEntity) and item.kind == "load":
                    found.setdefault(item.local_id, item.attributes)
        except CollectorError:
            continue  # The import of the file reports it.
    return found

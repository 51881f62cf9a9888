"""Files that only say how loads are set: what they say of the loads whose figures other files of the command have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from sanpath.errors import CollectorError, UsageError
from sanpath.model import Scalar, SourceEntity
from sanpath.plugin import ResultReader
from sanpath.recorder.importing.file import ImportedFile
from sanpath.recorder.importing.recognition import recognised


def settings_files(files: Sequence[Path], named: str | None) -> Mapping[Path, Sequence[Path]]:
    """Return file of figures → the files of settings in its folder, of the same tool. `named`: the collector that
    reads them; None: each file shows it."""
    figures: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    settings: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in dict.fromkeys(files) if len(files) > 1 else ():
        file = ImportedFile(path)
        try:
            spec, reader = recognised(file, named)
            of_kind = settings if reader.has_only_settings(file.head()) else figures
        except (CollectorError, UsageError):
            continue  # The import of the file reports it.
        of_kind[path.parent, spec.name].append(path)
    return {path: settings[key] for key, paths in figures.items() if key in settings for path in paths}


def described_loads(
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

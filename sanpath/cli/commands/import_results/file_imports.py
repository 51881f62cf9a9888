"""Imports the files of one `sanpath import file` command. Each run is counted once, however many files report it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from sanpath.cli.sessions.import_progress import Progress
from sanpath.errors import UsageError, command
from sanpath.masking import printable_lines
from sanpath.model import SourceEntity, SourceLink
from sanpath.recorder.importing.files.archive import unpack_archives
from sanpath.recorder.importing.importer import ImportRequest, group_by_run, import_file
from sanpath.recorder.importing.placement.placement import Placement, parse_epoch_us, parse_zone
from sanpath.recorder.importing.placement.same_run import (
    DuplicateReport,
    KeptReport,
    find_recorded_report,
    find_same_run_reports,
)
from sanpath.recorder.importing.settings_files import find_settings_files
from sanpath.recording.storage.store import Location
from sanpath.units import first_of

_MAX_NAMES = 5
"""Largest number of named files that are refused for the same reason. A folder of vdbench has hundreds."""


class FileImports:
    """Imports files into the recording in `folder`.

    `site_items`: entities and links from the configuration. All other parameters are the options of the command, as
    the user wrote them. Raises UsageError for a malformed option.
    """

    def __init__(
        self,
        folder: Location,
        site_items: Sequence[SourceEntity | SourceLink],
        *,
        reader: str | None,
        name: str | None,
        host: str | None,
        marks: Sequence[str],
        at: str | None,
        utc_offset: str | None,
        behind_seconds: float,
    ) -> None:
        self._folder, self._site_items = folder, site_items
        self._reader, self._name, self._host, self._marks = reader, name, host, tuple(marks)
        self._at, self._utc_offset, self._behind_seconds = at, utc_offset, behind_seconds
        self._zone = parse_zone(utc_offset) if utc_offset is not None else None
        self._sources: dict[tuple[Path, str], str] = {}
        self._imported_archives: set[Path | None] = set()
        self._refused: list[tuple[UsageError, Path, Path | None]] = []

    def run(self, files: Sequence[Path]) -> None:
        """Import the files, and print what was imported. Raises UsageError if a file was refused."""
        with TemporaryDirectory(prefix="sanpath-import-") as scratch:
            files, archives = unpack_archives(files, Path(scratch))
            reports = find_same_run_reports(files, self._reader, has_zone=self._zone is not None)
            settings = find_settings_files(files, self._reader)
            uncounted = {file for file, report in reports.items() if isinstance(report, DuplicateReport)}
            for position, (file, *parts) in enumerate(group_by_run(files, self._reader, uncounted)):
                report = reports.get(file)
                if isinstance(report, DuplicateReport):
                    _print(f"{file.name}: of the same run as {report.kept.name}: not counted")
                elif (recorded := find_recorded_report(self._folder, file, self._reader, self._host)) is not None:
                    _print(f"{file.name}: {recorded.remark}")
                else:
                    request = self._request(file, parts, report, settings.get(file, ()), follows_file=position > 0)
                    self._import(request, archives.get(file))
        self._report_refusals()

    def _request(
        self,
        file: Path,
        parts: Sequence[Path],
        report: KeptReport | None,
        settings: Sequence[Path],
        *,
        follows_file: bool,
    ) -> ImportRequest:
        placement = Placement(
            zone=self._zone if self._zone is not None or report is None else report.zone,
            begins=parse_epoch_us("--at", self._at, self._utc_offset) if self._at is not None else None,
            behind_us=round(self._behind_seconds * 1e6),
        )
        return ImportRequest(
            file=file,
            folder=self._folder,
            reader=self._reader,
            name=self._name,
            host=self._host,
            marks=self._marks,
            site_items=self._site_items,
            placement=placement,
            follows_file=follows_file,
            remarks=tuple(report.remarks) if report is not None else (),
            parts=parts,
            imported=self._sources,
            settings=settings,
        )

    def _import(self, request: ImportRequest, archive: Path | None) -> None:
        """Import a file, or note why it was refused. `archive`: the archive that the file is from."""
        try:
            with Progress(*request.files) as progress:
                imported = import_file(request, progress.read)
        except UsageError as refusal:
            self._refused.append((refusal, request.file, archive))
            return
        self._imported_archives.add(archive)
        self._sources.setdefault((request.file.parent, imported.collector), imported.source)
        _print(progress.summary(imported))

    def _report_refusals(self) -> None:
        """Print which files were refused, and the next command. Raises the first refusal.

        Files that are refused for the same reason are one line. Those of an archive are no errors if another file of
        the archive was imported.
        """
        errors: list[UsageError] = []
        left_out: dict[tuple[Path | None, str], list[str]] = {}
        for error, file, archive in self._refused:
            of_file, reason = str(error).startswith(f"{file.name}: "), str(error).removeprefix(f"{file.name}: ")
            left_out.setdefault((archive, reason), []).extend([file.name] if of_file else [])
        for (archive, reason), names in left_out.items():
            each = "each " if len(names) > 1 else ""
            refusal = f"{first_of(names, _MAX_NAMES)}: {each}{reason}" if names else reason
            if archive is not None and archive in self._imported_archives:
                _print(f"{archive.name}: not imported: {refusal}")
            else:
                errors.append(UsageError(refusal))
        if self._sources or not errors:
            typer.echo(command("diagnose", self._folder), err=True)
        for error in errors[1:]:
            _print(f"not imported: {error}", err=True)
        if errors:
            raise errors[0]


def _print(text: str, err: bool = False) -> None:
    """Print lines with names of files, which others may have chosen."""
    typer.echo(printable_lines(text), err=err)

"""`sanpath import`: add the result of a load generator, or a host's counter log, to a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sanpath.cli.commands.import_results.import_prometheus import import_prometheus
from sanpath.recording.storage.store import location
from sanpath.units import first_of

_MAX_SECONDS = 100 * 366 * 86_400.0
"""A century: the largest accepted clock offset."""

_MOST_NAMES = 5
"""Files that are named of those that are refused for the same reason: a folder of vdbench has hundreds."""


class _FileFirst(TyperGroup):
    """Takes a first argument that is no command as a file: `sanpath import FILE` is `sanpath import file FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command before its arguments. `Any`: typer keeps its copy of click private."""
        if args and args[0] not in (*self.commands, "--help"):
            args = ["file", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileFirst,
    no_args_is_help=True,
    help="Add results of other tools to a recording. `sanpath import FILE` adds a result file (see `import file`), "
    "`sanpath import prometheus` a time range of a Prometheus server.",
)


@app.command("file", short_help="Add a result file of a load or a host.")
def import_file(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Result files, also packed, or archives of them: zip, tar."),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            parser=location,
            metavar="PATH",
            help="Recording, finished or still running; default: a new one, named after the first file.",
        ),
    ] = None,
    mark: Annotated[
        list[str] | None,
        typer.Option(
            "--mark", help="Step of the recording in which the file's load ran; one for each load in the file."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="When the first load in a file without times began: 2026-01-31T14:00:00+01:00."),
    ] = None,
    utc_offset: Annotated[
        str | None,
        typer.Option(
            "--utc-offset", metavar="ZONE", help="Time zone of a file that has none: +02:00 or Europe/Berlin."
        ),
    ] = None,
    behind: Annotated[
        float, typer.Option("--clock-behind", metavar="SECONDS", help="Seconds by which the file's clock was behind.")
    ] = 0.0,
    host: Annotated[
        str | None,
        typer.Option("--host", help="Machine that wrote the file; default: the only one of the recording."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the load; default: name of its reader.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A sanpath.yaml, for its topology section.")] = None,
    reader: Annotated[
        str | None, typer.Option("--reader", help="Collector that reads the file, if its content does not show it.")
    ] = None,
) -> None:
    """Add a result file of a load generator or a host to a recording, at the time when it was measured."""
    from tempfile import TemporaryDirectory

    from sanpath.cli.sessions.import_progress import Progress
    from sanpath.config import Config, load_config
    from sanpath.errors import UsageError, command
    from sanpath.model import SourceEntity, SourceLink
    from sanpath.recorder.importing.archive import unpack_archives
    from sanpath.recorder.importing.importer import ImportRequest, group_by_run, import_file
    from sanpath.recorder.importing.placement import Placement, parse_epoch_us, parse_zone
    from sanpath.recorder.importing.same_run import DuplicateReport, find_recorded_report, find_same_run_reports
    from sanpath.recorder.importing.settings import find_settings_files

    for file in files:
        if not file.is_file():
            raise UsageError(f"{file}: {'is not a file' if file.exists() else 'there is no such file'}")
    if not abs(behind) <= _MAX_SECONDS:
        raise UsageError(f"--clock-behind {behind:g}: write seconds, at most {_MAX_SECONDS:,.0f}")
    folder = into if into is not None else Path(f"{files[0].name.partition('.')[0]}.sanpath")
    if isinstance(folder, Path) and folder.is_file():
        raise UsageError(f"{folder}: is a file, not a recording")
    configuration = load_config(config) if config is not None else Config(None)
    declared: list[SourceEntity | SourceLink] = [*configuration.entities, *configuration.links]
    zone_of_files = parse_zone(utc_offset) if utc_offset is not None else None
    imported_from: dict[tuple[Path, str], str] = {}
    imported_of: set[Path | None] = set()
    refused: list[tuple[UsageError, Path | None]] = []
    with TemporaryDirectory(prefix="sanpath-import-") as scratch:
        files, archives = unpack_archives(files, Path(scratch))
        of_one_run = find_same_run_reports(files, reader, has_zone=zone_of_files is not None)
        settings = find_settings_files(files, reader)
        for position, (file, *parts) in enumerate(group_by_run(files, reader)):
            twins = of_one_run.get(file)
            if isinstance(twins, DuplicateReport):
                typer.echo(f"{file.name}: of the same run as {twins.kept.name}: not counted")
                continue
            if (recorded := find_recorded_report(folder, file, reader, host)) is not None:
                typer.echo(f"{file.name}: {recorded.remark}")
                continue
            placement = Placement(
                zone=zone_of_files if zone_of_files is not None or twins is None else twins.zone,
                begins=parse_epoch_us("--at", at, utc_offset) if at is not None else None,
                behind_us=round(behind * 1e6),
            )
            request = ImportRequest(
                file,
                folder,
                reader,
                name,
                host,
                tuple(mark or ()),
                declared,
                placement,
                position > 0,
                tuple(twins.remarks) if twins is not None else (),
                parts,
                imported_from,
                settings.get(file, ()),
            )
            try:
                with Progress(file, *parts) as progress:
                    imported = import_file(request, progress.read)
            except UsageError as refusal:
                refused.append((refusal, archives.get(file)))
                continue
            imported_of.add(archives.get(file))
            imported_from.setdefault((file.parent, imported.collector), imported.source)
            typer.echo(progress.summary(imported))
    # An archive also contains files that are no results.
    errors = [error for error, archive in refused if archive is None or archive not in imported_of]
    left_out: dict[tuple[str, str], list[str]] = {}
    for error, archive in refused:
        if archive is not None and archive in imported_of:
            name_of_file, _, reason = str(error).partition(": ")
            left_out.setdefault((archive.name, reason), []).append(name_of_file)
    for (name_of_archive, reason), names in left_out.items():
        typer.echo(f"{name_of_archive}: not imported: {first_of(names, _MOST_NAMES)}: {reason}")
    if imported_from or not errors:
        typer.echo(command("diagnose", folder), err=True)
    for error in errors[1:]:
        typer.echo(f"not imported: {error}", err=True)
    if errors:
        raise errors[0]


app.command("prometheus", short_help="Add what a Prometheus server collected.")(import_prometheus)
